"""What may go and what stays, each with its reason. Pure. What a release needs or a process holds never goes; what exists nowhere else only by name."""

from collections.abc import Collection, Iterator, Sequence

from modelpivot.models.counted import counted
from modelpivot.models.host import HostConfig
from modelpivot.models.reclaim import KINDS, Ask, Found, Item, Kept, Kind, Known, ReclaimFacts, ReclaimPlan

SETTLE_S = 3600.0
"""Seconds in which nobody wrote to a partial download or an unreferenced blob before it counts as left behind."""
UNSOAKED: tuple[Kind, ...] = ("unfinished", "kernels")
ROLE_WORDS = {"switch": "a release of the open switch", "run": "a living run", "retired": "a release of this host"}


class Ground:
    """Facts, configuration, and what is about to stop, as the judgements of one plan need them."""

    def __init__(self, host: HostConfig, facts: ReclaimFacts, given_up: Collection[str], going_pids: Collection[int]) -> None:
        self.host, self.facts, self.given_up, self.going_pids = host, facts, given_up, going_pids
        self.known = {known.id: known for known in facts.known}
        self.over = {known.id for known in facts.known if self._is_over(known)}

    def _is_over(self, known: Known) -> bool:
        is_idle = self.facts.read_at - known.idle_since >= self.host.reclaim_after_s
        return known.roles == ["retired"] and is_idle and not known.is_adopted


def plan_reclaim(
    host: HostConfig,
    facts: ReclaimFacts,
    *,
    only: Collection[Kind] = (),
    given_up: Collection[str] = (),
    going_pids: Collection[int] = (),
) -> ReclaimPlan:
    """What may go now. `given_up`: releases that a person asked to stop for good; `going_pids`: processes that end before anything goes."""
    ground = Ground(host, facts, given_up, going_pids)
    found = [each for each in facts.found if not only or each.kind in only]
    reasons = {each.id: _why_it_stays(ground, each) for each in found}
    reasons |= _kept_environments(ground, [each for each in found if each.kind == "environments" and not reasons[each.id]])
    items = [Item(found=each, why=_why_it_may_go(ground, each), ask=_ask(ground, each)) for each in found if not reasons[each.id]]
    kept = [Kept(id=each.id, path=each.path, what=each.what, size_bytes=each.size_bytes, why=reasons[each.id]) for each in found]
    return ReclaimPlan(
        made_at=facts.read_at,
        items=_in_order(_without_nested(items)),
        kept=[each for each in kept if each.why],
        warnings=list(_warnings(facts)),
    )


def _why_it_stays(ground: Ground, found: Found) -> str:
    """The first reason, as a sentence; empty: it may go."""
    if ground.facts.is_switch_open:
        return "a switch is open: nothing is reclaimed until it has ended"
    return (
        found.problem or _held(ground, found) or _needed(ground, found) or _linked(found) or _not_weights(found) or _soaking(ground, found)
    )


def _held(ground: Ground, found: Found) -> str:
    holders = [holder for holder in found.holders if holder.pid == 0 or holder.pid not in ground.going_pids]
    more = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
    return f"{holders[0]}{more} holds it open" if holders else ""


def _needed(ground: Ground, found: Found) -> str:
    """A release that stays, or a living run, names it. A partial beside whole weights is nobody's."""
    if found.kind in ("unfinished", "partials"):
        return ""
    for need in found.needs:
        known = ground.known.get(need.by)
        roles = known.roles if known else ["retired"]
        if need.by in ground.given_up or need.by in ground.over or (found.kind == "kernels" and roles == ["retired"]):
            continue
        if known and known.is_adopted and found.kind == "views":
            return f"{need.by} was adopted: how its service was set up may be written nowhere else"
        return f"{need.by} {need.how} ({ROLE_WORDS.get(roles[0], f'the {roles[0]} release')}{_until(ground, known)})"
    return ""


def _until(ground: Ground, known: Known | None) -> str:
    """How long a release that is over stays for its soak time."""
    if known is None or known.roles != ["retired"] or known.is_adopted:
        return ""
    idle_s = max(0.0, ground.facts.read_at - known.idle_since)
    return f", over for {in_days(idle_s)} of the {in_days(ground.host.reclaim_after_s)} that it is kept"


def _linked(found: Found) -> str:
    more = f" and {len(found.linked_from) - 1} more" if len(found.linked_from) > 1 else ""
    return f"the link {found.linked_from[0]}{more} leads into it" if found.linked_from else ""


def _not_weights(found: Found) -> str:
    is_strange = found.kind == "weights" and not found.is_refetchable and not found.irreplaceable
    return "it holds no weights: none of our business" if is_strange else ""


def _soaking(ground: Ground, found: Found) -> str:
    if found.kind in UNSOAKED:
        return ""
    is_settled = found.kind == "partials" or (found.kind == "cache" and not found.is_pinnable)
    soak_s = min(SETTLE_S, ground.host.reclaim_after_s) if is_settled else ground.host.reclaim_after_s
    idle_s = max(0.0, ground.facts.read_at - found.idle_since)
    is_given_up = any(need.by in ground.given_up for need in found.needs)
    return f"needed or changed {in_days(idle_s)} ago: kept for {in_days(soak_s)}" if idle_s < soak_s and not is_given_up else ""


def _kept_environments(ground: Ground, idle: Sequence[Found]) -> dict[str, str]:
    """The newest of those that nothing needs stay; one that was never finished is none of them."""
    proved = sorted((each for each in idle if each.made_at), key=lambda each: -each.made_at)
    keep = ground.host.keep_environments
    return {each.id: f"one of the newest {keep} that nothing needs" for each in proved[:keep]}


def _ask(ground: Ground, found: Found) -> Ask:
    is_given_up = any(need.by in ground.given_up for need in found.needs)
    is_shared = found.kind == "weights" and found.root.is_network
    is_only_one = bool(found.irreplaceable) or not found.is_refetchable
    return "named" if is_only_one or is_given_up or is_shared or found.is_pinnable else "yes"


def _why_it_may_go(ground: Ground, found: Found) -> str:
    parts = [f"{need.by} needs it, which is stopped for good: no way back to it" for need in found.needs if need.by in ground.given_up]
    parts += [say_irreplaceable(found)] if found.irreplaceable else []
    parts += ["other hosts may need it: it lies on a network file system"] if found.kind == "weights" and found.root.is_network else []
    return "; ".join(parts) or "nothing needs it"


def say_irreplaceable(found: Found) -> str:
    """The weights in it that no manifest names, the first of them by name."""
    names = ", ".join(found.irreplaceable[:3])
    more = f" and {len(found.irreplaceable) - 3} more" if len(found.irreplaceable) > 3 else ""
    return f"{names}{more}: no manifest names it, so that no Hub is known to bring it again"


def _without_nested(items: Sequence[Item]) -> list[Item]:
    """What lies in something that goes with the same yes needs none of its own."""
    outer = [item for item in items if item.ask == "yes"]
    return [item for item in items if not any(is_inside(item, other) for other in outer)]


def is_inside(item: Item, other: Item) -> bool:
    """Whether one item lies in another one."""
    return item is not other and item.found.path.startswith(f"{other.found.path}/")


def _in_order(items: Sequence[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (item.ask == "named", KINDS.index(item.found.kind), -item.found.frees_bytes, item.id))


def _warnings(facts: ReclaimFacts) -> Iterator[str]:
    if facts.unseen:
        some = counted(facts.unseen, "process", "processes")
        yield f"{some} cannot be looked into (run as root): what is held open there is not known"
    for what in facts.unproved:
        yield f"an interrupted reclaim had moved {what} aside: the next one that is carried out puts it back, after that it is offered again"
    for root in facts.roots:
        if root.is_network:
            yield f"the {root.name} root {root.path} lies on a network file system: what other hosts need there is not seen from here"
        if root.problem:
            yield f"the {root.name} root {root.path}: {root.problem}; nothing can go from it"


def in_days(seconds: float) -> str:
    """`3 days`, `5 h`, `12 min`."""
    for unit_s, name in ((86400, "days"), (3600, "h")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {name}"
    return f"{seconds / 60:.0f} min"
