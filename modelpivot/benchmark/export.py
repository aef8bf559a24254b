"""The history as one flat table, for other tools: CSV or Parquet by the file's name."""

import csv
import io
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from modelpivot.benchmark.tables import FIGURES
from modelpivot.errors import UsageError
from modelpivot.files import write_named
from modelpivot.models.benchmark import GpuLoad, ServerLoad, StoredResult

Cell = str | int | float | bool | None
RESULT = ("id", "run_id", "release", "recipe", "recipe_digest", "standing", "setup_digest")
SETUP = ("host", "driver", "cpus", "memory_bytes", "kernel", "repo", "commit", "engine", "engine_version", "freeze_digest")
WORKLOAD = ("prompts", "concurrency", "input_tokens", "output_tokens", "prefix_tokens", "ignore_eos", "warm_ups")
MEASURED = ("at", "start", "seed", "requests", "successes", "duration_s", *FIGURES)
SERVER = tuple(name for name in ServerLoad.model_fields if name != "requests")
GPUS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "gpu_power_w": ("mean_power_w", sum),
    "gpu_peak_power_w": ("peak_power_w", sum),
    "gpu_peak_memory_bytes": ("peak_memory_bytes", sum),
    "gpu_sm_clock_mhz": ("mean_sm_clock_mhz", fmean),
    "gpu_memory_clock_mhz": ("mean_memory_clock_mhz", fmean),
    "gpu_utilization": ("mean_utilization", fmean),
    "gpu_peak_temperature_c": ("peak_temperature_c", max),
    "gpu_samples": ("samples", min),
}
"""Column, what it is of each GPU, and how several GPUs become one figure."""
COLUMNS = (
    *(*RESULT, *SETUP, "gpus", "patches", "flags", "variables", "workload", "workload_digest", *WORKLOAD),
    *(*MEASURED, "answered_tokens", "is_valid", "invalid", "warnings", "load_s", "downtime_s", "server_requests", *SERVER, *GPUS),
)
SHARES = {"prefix_hit_rate", "peak_kv_use"}
REALS = {"at", "duration_s", *FIGURES, "load_s", "downtime_s", *SHARES, *GPUS} - {"gpu_peak_memory_bytes", "gpu_samples"}
TRUTHS = {"is_valid", "ignore_eos"}
COUNTS = {
    *("memory_bytes", *WORKLOAD, "seed", "requests", "successes", "answered_tokens"),
    *("server_requests", *SERVER, "gpu_peak_memory_bytes", "gpu_samples"),
} - (SHARES | TRUTHS)


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
    """One result on one line, lists and tables as text, its GPUs in one figure each (`gpu_cells`)."""
    setup, workload, measured = result.setup, result.workload, result.measurement
    return {
        **_cells(result, RESULT),
        **_cells(setup, SETUP),
        "gpus": "; ".join(setup.gpus),
        "patches": "; ".join(f"{patch.file}{patch.pointer}" for patch in setup.patches),
        "flags": shlex.join(setup.argv),
        "variables": shlex.join(f"{name}={value}" for name, value in setup.environment.items()),
        "workload": workload.name,
        "workload_digest": workload.digest,
        **_cells(workload, WORKLOAD),
        **_cells(measured, MEASURED),
        "answered_tokens": measured.output_tokens,
        "is_valid": not measured.invalid,
        "invalid": "; ".join(measured.invalid),
        "warnings": "; ".join(measured.warnings),
        "load_s": result.load_s,
        "downtime_s": result.downtime_s,
        "server_requests": measured.server.requests if measured.server else None,
        **_cells(measured.server, SERVER),
        **gpu_cells(measured.gpus),
    }


def gpu_cells(gpus: Sequence[GpuLoad]) -> dict[str, Cell]:
    """Powers and memory: the sum over the GPUs. Clocks and utilization (0..1): their mean. Temperature: the highest. Samples: the fewest.

    None where one of them does not say, or there is none.
    """
    return {name: _over(gpus, field, join) for name, (field, join) in GPUS.items()}


def _over(gpus: Sequence[GpuLoad], field: str, join: Callable[[list[float]], float]) -> float | None:
    known = [value for gpu in gpus if (value := getattr(gpu, field)) is not None]
    return join(known) if known and len(known) == len(gpus) else None


def _cells(of: object, names: Sequence[str]) -> dict[str, Cell]:
    return {name: getattr(of, name) if of is not None else None for name in names}


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
    """Kinds do not depend on what happens to be measured."""
    import pyarrow

    kinds = [(COUNTS, pyarrow.int64()), (REALS, pyarrow.float64()), (TRUTHS, pyarrow.bool_())]
    return pyarrow.schema([(name, next((kind for names, kind in kinds if name in names), pyarrow.string())) for name in COLUMNS])
