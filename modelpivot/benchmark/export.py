"""The history as one flat table, for other tools: CSV or Parquet by the file's name."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from modelpivot.benchmark.tables import FIGURES
from modelpivot.errors import UsageError
from modelpivot.files import write_named
from modelpivot.models.benchmark import StoredResult

Cell = str | int | float | bool | None
SERVER = ("foreign_requests", "preemptions", "prefix_hit_rate", "peak_kv_use", "peak_waiting", "peak_running")
WORKLOAD = ("prompts", "concurrency", "input_tokens", "output_tokens", "prefix_tokens")


def export(results: Sequence[StoredResult], path: Path) -> None:
    """Write all results; what was not measured stays empty. UsageError for a name of another kind."""
    rows = [flat_row(result) for result in results]
    if path.suffix == ".csv":
        write_named(path, _csv(rows))
    elif path.suffix == ".parquet":
        write_named(path, _parquet(rows))
    else:
        raise UsageError(f"{path}: expected a name that ends in .csv or .parquet")


def flat_row(result: StoredResult) -> dict[str, Cell]:
    """One result on one line. Sums over the GPUs, highest temperatures among them."""
    setup, measured, load = result.setup, result.measurement, result.measurement.server
    powers = [gpu.mean_power_w for gpu in measured.gpus if gpu.mean_power_w is not None]
    return {
        **{name: getattr(result, name) for name in ("id", "run_id", "release", "recipe", "recipe_digest", "standing", "setup_digest")},
        **{
            name: getattr(setup, name) for name in ("host", "driver", "cpus", "repo", "commit", "engine", "engine_version", "freeze_digest")
        },
        "gpus": "; ".join(setup.gpus),
        "patches": "; ".join(f"{patch.file}{patch.pointer}" for patch in setup.patches),
        "workload": result.workload.name,
        "workload_digest": result.workload.digest,
        **{name: getattr(result.workload, name) for name in WORKLOAD},
        **{name: getattr(measured, name) for name in ("at", "start", "seed", "requests", "successes", "duration_s", *FIGURES)},
        "is_valid": not measured.invalid,
        "invalid": "; ".join(measured.invalid),
        "load_s": result.load_s,
        "downtime_s": result.downtime_s,
        **{name: getattr(load, name) if load else None for name in SERVER},
        "gpu_power_w": sum(powers) if powers else None,
    }


def _csv(rows: Sequence[dict[str, Cell]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _parquet(rows: Sequence[dict[str, Cell]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=_schema()), content)
    return content.getvalue()


def _schema() -> object:
    """Types do not depend on what happens to be measured."""
    import pyarrow

    numbers = {"prompts", "concurrency", "input_tokens", "output_tokens", "prefix_tokens", "seed", "requests", "successes"}
    numbers |= {"foreign_requests", "preemptions", "peak_waiting", "peak_running"}
    floats = {"at", "duration_s", *FIGURES, "load_s", "downtime_s", "prefix_hit_rate", "peak_kv_use", "gpu_power_w"}
    kinds = {name: pyarrow.int64() for name in numbers} | {name: pyarrow.float64() for name in floats} | {"is_valid": pyarrow.bool_()}
    return pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])


COLUMNS = (
    *("id", "run_id", "release", "recipe", "recipe_digest", "standing", "setup_digest"),
    *("host", "driver", "cpus", "repo", "commit", "engine", "engine_version", "freeze_digest", "gpus", "patches"),
    *("workload", "workload_digest", *WORKLOAD),
    *("at", "start", "seed", "requests", "successes", "duration_s", *FIGURES, "is_valid", "invalid", "load_s", "downtime_s"),
    *(*SERVER, "gpu_power_w"),
)
