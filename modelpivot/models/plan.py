"""The plan: candidate release, choices, steps still missing, blockers, questions, warnings, estimates."""

from typing import Literal

from pydantic import Field

from modelpivot.models.engine import Resolution
from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.manifest import Manifest
from modelpivot.models.packages import PackageChange
from modelpivot.models.patched import PatchedFile
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.rule import AppliedRule

StepName = Literal["install", "fetch", "view", "check", "switch", "benchmark", "promote"]


class Choice(Frozen):
    """One decided value with its reason."""

    name: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} {self.value} because {self.reason}"


class Blocker(Frozen):
    """Something that stands in the way. Everything is said at once, before anything is touched."""

    code: str
    what: str
    expected: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}; {self.remedy}"


class Question(Frozen):
    """Something that needs a person's yes, or the recipe's consent under `id`."""

    id: str
    text: str


class Step(Frozen):
    """One step that is still missing."""

    name: StepName
    what: str
    """Its log line."""
    estimate_s: float | None = None
    """Seconds; None: no figure to estimate from."""

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


class Removable(Frozen):
    """Something on a disk that could make room. Nothing of it goes without a person's word."""

    path: str
    what: str
    size_bytes: int
    costs: str
    """What is lost with it."""


class Plan(Frozen):
    """What a pivot would do. Pure: made of facts, recipe and host configuration alone."""

    recipe: Recipe
    from_release: str | None
    """The current release, None: nothing serves by us."""
    candidate: Release | None
    """None: a blocker keeps it from being known."""
    manifest: Manifest | None
    resolution: Resolution | None
    overrides: list[str] = Field(default_factory=list)
    """What this run does differently from its recipe, a line each."""
    choices: list[Choice] = Field(default_factory=list)
    steps: list[Step] = Field(default_factory=list)
    """Empty and no blocker: NO_CHANGE, the candidate is current and answers."""
    blockers: list[Blocker] = Field(default_factory=list)
    questions: list[Question] = Field(default_factory=list)
    """Those that the recipe does not answer."""
    warnings: list[str] = Field(default_factory=list)
    strategy: str = ""
    """How old and new share the disk, in one sentence."""
    about: dict[str, str] = Field(default_factory=dict)
    """The model, as far as a person asks: architecture, attention, quantization, size, licence, access."""
    decided: Recipe | None = None
    """The recipe with what rules and fit decided: the candidate is made of it."""
    fit: Fit | Unread | None = None
    """None: nothing to fit (a CPU engine); Unread: a number is missing."""
    rules: list[AppliedRule] = Field(default_factory=list)
    """Compatibility rules that hold here."""
    room: list[Removable] = Field(default_factory=list)
    """What could go where the disk cannot hold both, in the order in which it hurts less."""
    patched: list[PatchedFile] = Field(default_factory=list)
    """What the view's patches change in the files whose text is known before they are fetched."""
    packages: list[PackageChange] = Field(default_factory=list)
    """Every package that differs from the environment that serves now."""
    clients: list[str] = Field(default_factory=list)
    """What clients will notice, one sentence each."""
    resumes: str | None = None
    """Id of an open, unconfirmed switch to this very candidate, which the run takes up."""

    @property
    def is_no_change(self) -> bool:
        """True: nothing to do."""
        return not self.steps and not self.blockers

    def needs(self, name: StepName) -> bool:
        """Whether the step is still missing."""
        return any(step.name == name for step in self.steps)
