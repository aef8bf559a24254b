"""The history's tables. Figures have columns of their own, so that any tool can draw them; the documents hold everything.

A change here needs a step in `migrations/versions`; a test holds the two to each other.
"""

from typing import Any

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, Row, String, Table

from modelpivot.models.benchmark import Measurement, Setup, StoredResult
from modelpivot.models.workload import Workload

METADATA = MetaData()
FIGURES = ("output_tokens_per_s", "requests_per_s", "median_ttft_ms", "median_tpot_ms", "p99_ttft_ms", "p99_tpot_ms")

SETUPS = Table(
    "setups",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("host", String, nullable=False),
    Column("repo", String, nullable=False),
    Column("commit", String(40), nullable=False),
    Column("engine", String, nullable=False),
    Column("engine_version", String, nullable=False),
    Column("freeze_digest", String, nullable=False),
    Column("document", JSON, nullable=False),
    Index("setups_by_model", "host", "repo"),
)
RESULTS = Table(
    "results",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("at", Float, nullable=False),
    Column("run_id", String, nullable=False),
    Column("release", String, nullable=False),
    Column("recipe", String, nullable=False),
    Column("recipe_digest", String, nullable=False),
    Column("standing", String(16), nullable=False),
    Column("setup_digest", String(64), ForeignKey("setups.digest"), nullable=False),
    Column("workload", String, nullable=False),
    Column("workload_digest", String(64), nullable=False),
    Column("workload_document", JSON, nullable=False),
    Column("start", String, nullable=False),
    Column("is_valid", Boolean, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("successes", Integer, nullable=False),
    *(Column(name, Float) for name in FIGURES),
    Column("load_s", Float),
    Column("downtime_s", Float),
    Column("document", JSON, nullable=False),
    Index("results_by_run", "run_id"),
    Index("results_by_workload", "workload_digest", "at"),
)


def setup_row(result: StoredResult) -> dict[str, Any]:
    """The row of a result's set-up."""
    setup = result.setup
    names = ("host", "repo", "commit", "engine", "engine_version", "freeze_digest")
    return {"digest": result.setup_digest, "document": setup.model_dump(mode="json")} | {name: getattr(setup, name) for name in names}


def result_row(result: StoredResult) -> dict[str, Any]:
    """The row of a result."""
    measured = result.measurement
    own = ("id", "run_id", "release", "recipe", "recipe_digest", "standing", "setup_digest", "load_s", "downtime_s")
    return {
        **{name: getattr(result, name) for name in own},
        **{name: getattr(measured, name) for name in ("at", "start", "requests", "successes", *FIGURES)},
        "workload": result.workload.name,
        "workload_digest": result.workload.digest,
        "workload_document": result.workload.model_dump(mode="json"),
        "is_valid": not measured.invalid,
        "document": measured.model_dump(mode="json"),
    }


def result_of(row: Row[Any]) -> StoredResult:
    """A result from its row, joined with its set-up's document as `setup_document`."""
    return StoredResult(
        id=row.id,
        run_id=row.run_id,
        release=row.release,
        recipe=row.recipe,
        recipe_digest=row.recipe_digest,
        standing=row.standing,
        setup=Setup.model_validate(row.setup_document),
        setup_digest=row.setup_digest,
        workload=Workload.model_validate(row.workload_document),
        measurement=Measurement.model_validate(row.document),
        load_s=row.load_s,
        downtime_s=row.downtime_s,
    )
