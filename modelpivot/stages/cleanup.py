"""The clean slate: stop what is named, prove GPUs and ports free, show disk, weights and cache, reclaim what is agreed. An act of its own."""

import time
from collections.abc import Collection, Sequence

from modelpivot.errors import GateFailed, PreconditionError
from modelpivot.facts.everything import read_host_facts
from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.reclaimable import read_reclaimable
from modelpivot.facts.services import read_listeners
from modelpivot.models.cleanup import Cleaned, CleanupPlan
from modelpivot.models.counted import counted
from modelpivot.models.facts import Disk
from modelpivot.models.frozen import Unread
from modelpivot.models.readiness import FreeFact
from modelpivot.models.reclaim import Kind, Reclaimed
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes
from modelpivot.plans.cleanup import plan_cleanup
from modelpivot.plans.wait import name_obstacles
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_none
from modelpivot.stages.reclaim import Agreed, reclaim, require_agreed, require_offered, say_plan
from modelpivot.stages.standing_down import stand_down
from modelpivot.stages.told import told
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, release_lock
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.waiting import WaitedTooLong, wait_for

READ_S = 60.0


def plan(context: Context, *, stop: Sequence[str] = (), only: Collection[Kind] = ()) -> CleanupPlan:
    """What a cleanup would do. Reads; changes nothing and needs no lock."""
    with told(context.journal, "plan", "reading what serves, what is free and what nothing needs") as (tell, ending):
        facts = read_host_facts(context.host, context.state, until=time.monotonic() + READ_S)
        made = plan_cleanup(context.host, facts, read_reclaimable(context.host, context.state), stop=stop, only=only)
        for warning in [*made.warnings, *made.reclaim.warnings]:
            tell("warning", warning)
        ending.finish(say_cleanup(made), blockers=[blocker.code for blocker in made.blockers])
    return made


def say_cleanup(made: CleanupPlan) -> str:
    """One line for a person."""
    stops = ", ".join(each.name for each in made.to_stop) or "nothing"
    return f"stops {stops}; {say_plan(made.reclaim)}"


def cleanup(context: Context, made: CleanupPlan, agreed: Agreed, *, stop: Sequence[str] = (), only: Collection[Kind] = ()) -> Cleaned:
    """The slate as it is then: what is named is stopped, what is agreed to is gone, and what still stands in the way is said.

    PreconditionError when something blocks it, or something could stop or go and nobody said yes; HostHeld when another run holds the host.
    """
    require_none(made.blockers)
    require_offered(made.reclaim, agreed)
    if made.to_stop and not agreed.is_agreed:
        names = ", ".join(each.name for each in made.to_stop)
        raise PreconditionError(
            f"{names} would be stopped, and nothing serves then; nobody agreed, nothing was touched", hint="say yes (--yes) to stop it"
        )
    require_agreed(made.reclaim, agreed)
    acquire_lock(context.state, run_id=context.run.id, what=f"cleanup {context.run.id}")
    try:
        if read_cutover(context.state):
            raise PreconditionError("a switch was opened meanwhile; nothing was touched", hint="modelpivot status tells what it waits for")
        # the release last: it is the one to start again
        releases = [stand_down(context, each) for each in sorted(made.to_stop, key=lambda serving: serving.kind == "release")]
        obstacles = _prove_free(context, releases, [each.port for each in made.to_stop])
        return _reclaim_and_show(context, releases, obstacles, agreed, stop, only)
    finally:
        release_lock(context.state)


def require_clean(done: Cleaned) -> None:
    """GateFailed names everything that still holds a GPU or a port, and what was agreed to and did not go."""
    failed = [*done.obstacles, *(f"{gone.path} stays: {gone.problem}" for gone in (done.reclaimed.failed if done.reclaimed else []))]
    if failed:
        raise GateFailed("it is no clean slate", failed=failed, hint="end or mend what is named, then run it again")


def say_cleaned(done: Cleaned) -> str:
    """One line for a person."""
    stopped = f"{', '.join(done.stopped)} stopped; " if done.stopped else ""
    free = "GPUs and ports are free" if not done.obstacles else f"not free: {'; '.join(done.obstacles)}"
    freed = f"; {say_bytes(max(0, done.reclaimed.freed_bytes))} measured free" if done.reclaimed else ""
    return f"{stopped}{free}{freed}"


def _prove_free(context: Context, releases: Sequence[Release], ports: Sequence[int | None]) -> list[str]:
    """What still stands in the way, `free_s` at most after the stop; what others hold is not waited for."""
    deadline_s = max((release.deadlines.free_s for release in releases), default=1.0)
    supervisor, wanted = choose_supervisor(context.host, context.state), [port for port in ports if port]

    def read() -> FreeFact:
        left = [process.pid for release in releases for process in supervisor.processes(release)]
        listeners = read_listeners()
        holders = listeners if isinstance(listeners, Unread) else [each for each in listeners if each.port in wanted]
        return FreeFact(port=wanted[0] if wanted else 0, leftovers=left, holders=holders if wanted else [], gpus=read_gpus())

    def judge(fact: FreeFact, waited_s: float) -> list[str] | None:
        found = name_obstacles(fact)
        return found if not found or not releases or _is_of_others(fact) else None

    with told(context.journal, "prove free") as (tell, ending):
        try:
            found = wait_for(read, judge, what="free GPUs and ports", deadline_s=deadline_s, interval_s=0.2)
        except WaitedTooLong:
            found = name_obstacles(read())
        for obstacle in found:
            tell("warning", obstacle)
        ending.finish("GPUs and ports are free" if not found else f"{counted(len(found), 'thing stands', 'things stand')} in the way")
    return found


def _is_of_others(fact: FreeFact) -> bool:
    """Whether all that is left belongs to processes that are seen and not ours: waiting does not help."""
    gpus = fact.gpus
    if fact.leftovers or isinstance(gpus, Unread) or isinstance(fact.holders, Unread):
        return False
    seen = {process.gpu_uuid for process in gpus.processes}
    busy = [gpu for gpu in gpus.gpus if name_obstacles(FreeFact(port=0, gpus=gpus.model_copy(update={"gpus": [gpu]})))]
    return not fact.holders and all(gpu.uuid in seen for gpu in busy)


def _reclaim_and_show(
    context: Context,
    releases: Sequence[Release],
    obstacles: list[str],
    agreed: Agreed,
    stop: Sequence[str],
    only: Collection[Kind],
) -> Cleaned:
    facts = read_host_facts(context.host, context.state, until=time.monotonic() + READ_S)
    room = read_reclaimable(context.host, context.state)
    now = plan_cleanup(context.host, facts, room, stop=stop, only=only)
    given_up = [each.name for each in now.to_stop if each.kind == "release"]
    for line in say_disks(facts.disks):
        context.journal.stage("disk")("log", line)
    chosen = [item.id for item in now.reclaim.agreed(is_agreed=agreed.is_agreed, named=agreed.named)]
    obstacles = obstacles + [f"{each} was agreed to and is not offered any more" for each in agreed.named if each not in chosen]
    still = Agreed(agreed.is_agreed, [each for each in agreed.named if each in chosen])
    reclaimed: Reclaimed | None = reclaim(context, now.reclaim, still, given_up=given_up) if chosen else None
    again = "modelpivot recover" if releases and not _is_given_away(reclaimed) else ""
    return Cleaned(
        run_id=context.run.id,
        stopped=[each.name if each.serving_digest == "" else each.id for each in releases],
        obstacles=obstacles,
        gpus=facts.gpus,
        disks=facts.disks,
        hub_cache=facts.hub_cache,
        reclaimed=reclaimed,
        again=again,
    )


def _is_given_away(reclaimed: Reclaimed | None) -> bool:
    """Whether what would be started again lost its weights."""
    return reclaimed is not None and any(not gone.problem and gone.id.startswith("weights:") for gone in reclaimed.items)


def say_disks(disks: Sequence[Disk | Unread]) -> list[str]:
    """One line a file system."""
    seen = {disk.device: disk for disk in disks if isinstance(disk, Disk)}
    lines = [f"{disk.mount}: {say_bytes(disk.free_bytes)} of {say_bytes(disk.total_bytes)} free" for disk in seen.values()]
    return lines + [str(disk) for disk in disks if isinstance(disk, Unread)]
