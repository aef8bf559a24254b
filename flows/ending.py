"""How a flow's body ended well; an end that is no good one is raised."""

from dataclasses import dataclass

from modelpivot.models.result import RunOutcome


@dataclass(frozen=True)
class Ending:
    """What the run came to, in one word and in a sentence."""

    outcome: RunOutcome
    message: str
