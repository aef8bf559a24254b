"""What a run staged whole, and for which words of a recipe (`staged.json`)."""

from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import EngineChoice, Source


class Staged(Frozen):
    """A candidate that is complete beside what serves."""

    release: str
    name: str
    """Of the recipe."""
    source: Source
    """As the recipe named it then: a branch may stand elsewhere since."""
    engine: EngineChoice
    commit: str
    resolution: str
    """Digest of the engine's packages."""
