"""Making room: what may go is shown, and goes when it is agreed to. An act of its own, never a part of a pivot. Planning changes nothing.

`agreed` is one yes for all that asks for no more; `named` holds the ids of what must be named (weights that exist nowhere else, and the like).
"""

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass

from modelpivot.errors import GateFailed, PreconditionError
from modelpivot.facts.reclaimable import read_reclaimable, read_roots
from modelpivot.files import write_model
from modelpivot.models.counted import counted
from modelpivot.models.reclaim import Gone, Item, Kind, Reclaimed, ReclaimPlan
from modelpivot.models.size import say_bytes
from modelpivot.operations.reclaim import reclaim_items, settle_interrupted
from modelpivot.operations.set_aside import Reclaiming
from modelpivot.plans.reclaim import plan_reclaim
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, release_lock


@dataclass(frozen=True)
class Agreed:
    """What a person said."""

    is_agreed: bool = False
    """Yes to everything that asks for no more than that."""
    named: Collection[str] = ()
    """Ids, each agreed to by itself."""


def plan(context: Context, *, only: Collection[Kind] = (), given_up: Collection[str] = ()) -> ReclaimPlan:
    """What may go now, and what stays and why. Reads; changes nothing and needs no lock."""
    with told(context.journal, "plan", "looking for what nothing needs") as (tell, ending):
        made = plan_reclaim(context.host, read_reclaimable(context.host, context.state), only=only, given_up=given_up)
        for warning in made.warnings:
            tell("warning", warning)
        ending.finish(say_plan(made), items=len(made.items), offered_bytes=made.offered_bytes)
    return made


def say_plan(made: ReclaimPlan) -> str:
    """One line for a person."""
    named = sum(item.ask == "named" for item in made.items)
    note = f", {named} of them only by name" if named else ""
    return f"{counted(len(made.items), 'thing')} may go, {say_bytes(made.offered_bytes)} at least{note}; {counted(len(made.kept), 'stays', 'stay')}"


def require_offered(made: ReclaimPlan, agreed: Agreed) -> None:
    """PreconditionError for an id that is agreed to and not offered, with the reason."""
    if unknown := sorted(set(agreed.named) - {item.id for item in made.items}):
        why = next((kept.why for kept in made.kept if kept.id == unknown[0]), "there is no such thing")
        raise PreconditionError(f"{', '.join(unknown)} is not offered: {why}", hint="modelpivot reclaim --dry-run shows what is")


def require_agreed(made: ReclaimPlan, agreed: Agreed) -> list[Item]:
    """What goes; nothing where a yes is not enough. PreconditionError when something could go and nobody said anything, or an id is not offered."""
    require_offered(made, agreed)
    chosen = made.agreed(is_agreed=agreed.is_agreed, named=agreed.named)
    if made.items and not chosen and not agreed.is_agreed:
        lines = [f"\n  {item.id}: {item}, {say_bytes(item.found.frees_bytes)}" for item in made.items]
        hint = "--yes agrees to what asks for no more, --agree ID to one thing; a recipe's consents may hold both (reclaim, or the id)"
        raise PreconditionError(f"nobody agreed to anything that may go; nothing was touched{''.join(lines)}", hint=hint)
    return chosen


def reclaim(context: Context, made: ReclaimPlan, agreed: Agreed, *, given_up: Collection[str] = ()) -> Reclaimed:
    """What was agreed to is gone, measured; each thing is looked at again first. Nothing to do when nothing may go.

    PreconditionError when nobody agreed, or a switch is open; HostHeld when another run holds the host.
    """
    chosen = require_agreed(made, agreed)
    acquire_lock(context.state, run_id=context.run.id, what=f"reclaim {context.run.id}")
    try:
        with told(context.journal, "reclaim", f"{counted(len(chosen), 'thing')}, {say_bytes(promised(chosen))}") as (tell, ending):
            _refuse_open_switch(context)
            for problem in settle_interrupted(context.state, read_roots(context.host)):
                tell("warning", problem)
            gone = _reclaim_all(context, chosen, given_up)
            done = _sum_up(context, made, chosen, gone)
            for item in done.failed:
                tell("warning", f"{item.path} stays: {item.problem}")
            write_model(context.run.root / "reclaimed.json", done)
            ending.finish(say_done(done)) if chosen else ending.nothing_to_do(_say_nothing(made))
        return done
    finally:
        release_lock(context.state)


def require_all_gone(done: Reclaimed) -> None:
    """GateFailed names what was agreed to and stays."""
    if done.failed:
        failed = [f"{gone.path} stays: {gone.problem}" for gone in done.failed]
        raise GateFailed(f"{say_done(done)}", failed=failed, hint="look at what is named, then run it again")


def promised(items: Sequence[Item]) -> int:
    """Bytes that these free, at least."""
    return sum(item.found.frees_bytes for item in items)


def say_done(done: Reclaimed) -> str:
    """One line for a person."""
    stays = f"; {counted(len(done.failed), 'thing stays', 'things stay')}" if done.failed else ""
    gone = counted(len(done.items) - len(done.failed), "thing is gone", "things are gone")
    return f"{gone}: {say_bytes(max(0, done.freed_bytes))} measured free, {say_bytes(done.promised_bytes)} promised{stays}"


def _say_nothing(made: ReclaimPlan) -> str:
    return f"a yes is not enough for what may go ({counted(len(made.items), 'thing')}): --agree ID" if made.items else "nothing may go"


def _refuse_open_switch(context: Context) -> None:
    if cutover := read_cutover(context.state):
        raise PreconditionError(
            f"a switch from {cutover.from_release} to {cutover.to_release} is open ({cutover.phase}): nothing is reclaimed meanwhile",
            hint="wait for it, or end it with `modelpivot promote` or `modelpivot rollback`",
        )


def _reclaim_all(context: Context, chosen: Sequence[Item], given_up: Collection[str]) -> list[Gone]:
    """Planned again under the lock: what is needed or held by now is not even moved."""
    now = plan_reclaim(context.host, read_reclaimable(context.host, context.state), given_up=given_up)
    offered = {item.id: item for item in now.items}
    reasons = {kept.id: kept.why for kept in now.kept}
    job = Reclaiming(context.host, context.state, context.run.id, context.journal.stage("reclaim"), given_up)
    gone = [_stays(item, why) for item in chosen if (why := _why_not(item, offered.get(item.id), reasons.get(item.id)))]
    stays = {each.id for each in gone}
    going = [item for item in chosen if item.id not in stays]
    with closing(reclaim_items(job, going)) as ends:
        for number, each in enumerate(ends, 1):
            gone.append(each)
            job.tell("progress", each.path, done=number, total=len(going), unit="things")
    return gone


def _why_not(item: Item, again: Item | None, why_not: str | None) -> str | None:
    if why_not is None and again is not None and again.ask == "named" and item.ask == "yes":
        return f"it asks for its name by now: {again.why}"
    return why_not


def _stays(item: Item, why: str) -> Gone:
    found = item.found
    return Gone(id=item.id, path=found.path, what=found.what, promised_bytes=found.frees_bytes, freed_bytes=0, problem=why)


def _sum_up(context: Context, made: ReclaimPlan, chosen: Sequence[Item], gone: Sequence[Gone]) -> Reclaimed:
    taken = {item.id for item in chosen}
    return Reclaimed(
        run_id=context.run.id,
        promised_bytes=sum(each.promised_bytes for each in gone),
        freed_bytes=sum(each.freed_bytes for each in gone),
        items=list(gone),
        left=[item.id for item in made.items if item.id not in taken],
    )
