"""The upgrade test on paper: what is asked, what was found, and its verdict (`upgrade.json` in the run's folder).

passed            the newer engine serves the model as well as the current one
regressed         it serves, and is slower than the recipe allows, or misses a floor
failed_to_start   it does not come up, does not answer as it should, or does not stay up; `cause` holds its own words
cannot_tell       something else ended the test, or the figures are too noisy
no_change         the index has nothing newer, or this very candidate was tested before
no_wheel          the index has nothing for this machine
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from modelpivot.models.comparison import Comparison
from modelpivot.models.frozen import Frozen
from modelpivot.models.packages import PackageChange
from modelpivot.models.plan import Question

Channel = Literal["stable", "pre-release", "nightly"]
Capacity = Literal["spare", "window"]
Subject = Literal["recipe", "probe"]
Verdict = Literal["passed", "regressed", "failed_to_start", "cannot_tell", "no_change", "no_wheel"]
DECIDED: tuple[Verdict, ...] = ("passed", "regressed", "failed_to_start")
"""Verdicts that hold for a candidate until it is asked for again."""


class Asked(Frozen):
    """What an upgrade test shall do."""

    channel: Channel = "stable"
    """stable: the newest release; pre-release: the newest, pre-releases too; nightly: of the host's nightly index."""
    capacity: Capacity | None = None
    """spare: beside what serves; window: in its place, in the host's window; None: window where the host has one, else spare."""
    subject: Subject | None = None
    """recipe: its own model; probe: a small one of the same architecture and quantization; None: the recipe's in a window, else probe."""
    is_again: bool = False
    """Test also what was tested before."""


class Newest(Frozen):
    """What a channel has for this machine, next to what the host uses."""

    current: str
    """Version in use: of what serves this recipe, else the one that the recipe names."""
    version: str | None = None
    """None: nothing."""
    verdict: Verdict | None = None
    """Why there is nothing to test; None: there is."""
    message: str = ""


class Relaxed(Frozen):
    """Something that the candidate was started without."""

    what: str
    """`rule fp8-kv-sm120`, or the recipe's own patch."""
    is_needed: bool
    found: str
    """What it did without: answered, or how it failed."""


class UpgradeResult(Frozen):
    """One upgrade test, told in the end."""

    run_id: str
    at: float
    """Seconds since the epoch."""
    verdict: Verdict
    message: str
    next_move: str = ""
    """What a person does now; empty: nothing."""
    recipe: str
    channel: Channel
    capacity: Capacity | None = None
    subject: Subject | None = None
    model: str = ""
    """What was served, in words; a probe model says that it is one."""
    current_version: str = ""
    candidate_version: str | None = None
    candidate: str | None = None
    """Id of the release that was tried."""
    starts: int = 0
    """Of the candidate, measured."""
    changes: list[PackageChange] = Field(default_factory=list)
    """Every package that moves with it."""
    questions: list[Question] = Field(default_factory=list)
    """What a pivot to it would ask."""
    comparison: Comparison | None = None
    cause: list[str] = Field(default_factory=list)
    """The engine's own lines, where it failed."""
    relaxed: list[Relaxed] = Field(default_factory=list)
    pinned_recipe: Path | None = None
    """The recipe with the tested engine: what `modelpivot run` or a pivot makes current."""
