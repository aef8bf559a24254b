"""Stop a release and prove that nothing of it is left: no process, no listener on the port, no GPU memory. Called by the switch."""

from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.parts import read_missing_parts
from modelpivot.facts.services import read_listeners
from modelpivot.models.facts import Gpus, Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.readiness import FreeFact
from modelpivot.models.release import Release
from modelpivot.plans.devices import visible_gpus
from modelpivot.plans.wait import judge_free, name_obstacles
from modelpivot.stages.hand import Hand
from modelpivot.stages.spent import EndedWhenSpent
from modelpivot.supervisors.protocol import Supervisor

UNANSWERED_S = 5.0
"""Seconds of SIGTERM for an engine that answered nobody: no client loses anything with it, the old one waits for its place, and while it loads it
may not heed the signal at all (vLLM 0.26 on an H200: not within 90 s)."""


def stop(hand: Hand, release: Release, *, name: str = "stop old", has_answered: bool = True) -> None:
    """Stop the unit within `stop_s`, earlier when it is spent, and much earlier when it `has_answered` nobody and is ours; nothing to do when it does
    not run. CommandFailed names what cannot be ended."""
    stop_s = release.deadlines.stop_s
    with hand.step(name, release):
        with EndedWhenSpent(hand.supervisor, release) as watch:
            is_patient = has_answered or release.origin == "adopted"
            hand.supervisor.stop(release, timeout_s=stop_s if is_patient else min(stop_s, UNANSWERED_S))
        if watch.ended:
            hand.tell(name, "log", f"{release.id} {watch.why}: ended", release=release.id)


def prove_free(hand: Hand, gone: Release | None, coming: Release) -> None:
    """Wait until what `coming` needs is measured free, `free_s` at most; SwitchFailed names everything that stands in the way."""
    with hand.step("prove free", coming):
        hand.wait(
            lambda: read_free(hand.supervisor, gone, coming, is_waiting=hand.is_at_gate(coming)),
            judge_free,
            step="prove free",
            what=f"a free place for {coming.id}",
            deadline_s=coming.deadlines.free_s,
        )


def read_free(supervisor: Supervisor, gone: Release | None, coming: Release, *, is_waiting: bool = False) -> FreeFact:
    """What is left of `gone` and what else holds the place of `coming`. A coming release that runs already, and does not wait at its gate,
    holds its own place."""
    own = {process.pid for process in supervisor.processes(coming)}
    left = {process.pid for process in supervisor.processes(gone)} - own if gone else set()
    is_gpu_free_needed = coming.gpus > 0 and (is_waiting or not own)
    return FreeFact(
        port=coming.endpoint.port,
        leftovers=sorted(left),
        holders=_read_holders(coming.endpoint.port, own),
        gpus=_read_gpus_of(coming) if is_gpu_free_needed else Gpus(),
    )


def _read_gpus_of(release: Release) -> Gpus | Unread:
    """The GPUs that its engine sees: what serves beside it on others is not in its way."""
    gpus = read_gpus()
    if isinstance(gpus, Unread):
        return gpus
    return gpus.model_copy(update={"gpus": visible_gpus(gpus, release.start.environment.get("CUDA_VISIBLE_DEVICES"))})


def _read_holders(port: int, own: set[int]) -> list[Listener] | Unread:
    listeners = read_listeners()
    if isinstance(listeners, Unread):
        return listeners
    return [listener for listener in listeners if listener.port == port and listener.pid not in own]


def name_blockers(supervisor: Supervisor, frm: Release | None, to: Release) -> list[str]:
    """Before anything is stopped: what `to` lacks, and who beside the release that goes holds its port or GPUs. Empty: the way is free."""
    fact = read_free(supervisor, None, to)
    old = {process.pid for process in supervisor.processes(frm)} if frm else set()
    holders, gpus = fact.holders, fact.gpus
    if not isinstance(holders, Unread):
        holders = [holder for holder in holders if holder.pid not in old]
    if not isinstance(gpus, Unread):
        gpus = _without(gpus, old)
    return _name_missing(to) + name_obstacles(fact.model_copy(update={"holders": holders, "gpus": gpus}))


def _name_missing(release: Release) -> list[str]:
    remedy = f"put it back for {release.name}" if release.origin == "adopted" else "run the recipe again, `modelpivot run` brings it back"
    return [f"{words}: {remedy}" for words in read_missing_parts(release)]


def _without(gpus: Gpus, pids: set[int]) -> Gpus:
    """Only the GPUs that somebody else is known to use; what belongs to nobody visible is measured after the stop."""
    strangers = [process for process in gpus.processes if process.pid not in pids]
    used = {process.gpu_uuid for process in strangers}
    return Gpus(gpus=[gpu for gpu in gpus.gpus if gpu.uuid in used], processes=strangers) if pids else gpus
