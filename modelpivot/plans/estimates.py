"""How long each step takes, from what was seen on this host; None where nothing was. Pure; seconds."""

from collections.abc import Sequence

from modelpivot.models.facts import Facts, SeenRates
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Step

SHORT_S = 90
"""Below it seconds are said, above it minutes."""


def with_estimates(steps: Sequence[Step], facts: Facts) -> list[Step]:
    """The steps, each with its estimate where there is a figure."""
    return [step.model_copy(update={"estimate_s": estimate_s(step, facts)}) for step in steps]


def estimate_s(step: Step, facts: Facts) -> float | None:
    """Of one step. A download goes by its bytes, all else by how long the last ones took."""
    rates = facts.host.rates
    known = {"install": rates.install_s, "switch": rates.switch_s, "benchmark": rates.benchmark_s, "fetch": _download(facts, rates)}
    return known.get(step.name, step.estimate_s)


def _download(facts: Facts, rates: SeenRates) -> float | None:
    on_disk = facts.model.on_disk
    if isinstance(on_disk, Unread) or not rates.download_bytes_per_s:
        return None
    return on_disk.missing_bytes / rates.download_bytes_per_s


def say_gap(facts: Facts, steps: Sequence[Step]) -> list[str]:
    """How long nothing will answer, for clients; nothing where no switch was seen here, or none is to come."""
    seconds = facts.host.rates.switch_s
    if not seconds or facts.host.current is None or not any(step.name == "switch" for step in steps):
        return []
    about = f"{seconds:.0f} s" if seconds < SHORT_S else f"{seconds / 60:.0f} min"
    return [f"nothing answers for about {about}, as in the last switches of this host"]
