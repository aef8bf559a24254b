"""How a run ended: exit codes, and the JSON that `modelpivot run` and `modelpivot demo` print."""

from typing import Literal

from pydantic import Field

from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.exit_code import ExitCode as ExitCode
from modelpivot.models.frozen import Frozen
from modelpivot.models.patched import PatchedFile
from modelpivot.models.upgrade import UpgradeResult

RunOutcome = Literal[
    "promoted",
    "rolled_back",
    "no_change",
    "planned",
    "checked",
    "staged",
    "measured",
    "passed",
    "regressed",
    "failed_to_start",
    "cannot_tell",
    "no_wheel",
    "reclaimed",
    "cleaned",
    "adopted",
    "recovered",
    "blocked",
    "returned",
    "nothing_serves",
    "failed",
    "interrupted",
    "open",
]


class StageTime(Frozen):
    """One stage of a run with its time and result."""

    name: str
    seconds: float
    result: Literal["done", "nothing_to_do", "failed", "running"]


class RunResult(Frozen):
    """One run, told in the end."""

    run_id: str
    outcome: RunOutcome
    exit_code: int
    message: str = ""
    gate: Literal["weights", "benchmark"] | None = None
    """Which gate said no, if one did that alerts tell apart: corrupt weights, a measurement that is not good enough."""
    released: str | None = None
    """The release that answers now."""
    previous: str | None = None
    attempted: str | None = None
    """What a switch brought up and took down again."""
    base_url: str | None = None
    """Of what answers now."""
    downtime_s: float | None = None
    lost_requests: int | None = None
    stages: list[StageTime] = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)
    patched: list[PatchedFile] = Field(default_factory=list)
    """Files of the view that patches changed, with their digests before and after."""
    benchmark: list[Measurement] = Field(default_factory=list)
    cause: list[str] = Field(default_factory=list)
    """The engine's own words, when it failed."""
    asks: list[str] = Field(default_factory=list)
    """What a yes would have answered, when nobody was there to say it."""
    flow_run_id: str | None = None
    flow_run_url: str | None = None
    upgrade: UpgradeResult | None = None
    """Of an upgrade test: what was tried, and its verdict."""
