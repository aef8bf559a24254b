"""A clean slate: what stops (only what is named), what is free, and what may go then. Pure.

The checks stand in their order of importance: GPUs, disk, old weights, cache. A thing that is not there is an answer.
"""

from collections.abc import Collection, Iterator, Sequence

from modelpivot.models.cleanup import CleanupPlan, Serving
from modelpivot.models.facts import HostFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker
from modelpivot.models.readiness import FreeFact
from modelpivot.models.reclaim import Kind, ReclaimFacts
from modelpivot.plans.blockers import state_blockers
from modelpivot.plans.foreign import find_foreign_engines
from modelpivot.plans.reclaim import plan_reclaim
from modelpivot.plans.wait import name_obstacles


def plan_cleanup(
    host: HostConfig, facts: HostFacts, room: ReclaimFacts, *, stop: Sequence[str] = (), only: Collection[Kind] = ()
) -> CleanupPlan:
    """The plan. What a named release alone needs is offered by its id, with what that costs."""
    serving = [each.model_copy(update={"is_to_stop": is_named(facts, each, stop)}) for each in find_serving(facts)]
    going = [each for each in serving if each.is_to_stop]
    given_up = [each.name for each in going if each.kind == "release"]
    pids = {pid for each in going for pid in each.pids}
    return CleanupPlan(
        serving=serving,
        busy=_busy(facts, pids),
        gpus=facts.gpus,
        disks=facts.disks,
        hub_cache=facts.hub_cache,
        reclaim=plan_reclaim(host, room, only=only, given_up=given_up, going_pids=pids),
        blockers=list(_blockers(facts, serving, stop)),
        warnings=list(_warnings(facts, serving, going)),
    )


def find_serving(facts: HostFacts) -> list[Serving]:
    """The current release, running or not, and every engine in a service that is not ours."""
    found, current = [], facts.current
    if current is not None:
        how = "answers" if facts.current_answers is True else "runs and does not answer"
        seen = f"the current release; {how} at {current.endpoint.base_url}" if facts.own_pids else "the current release; it does not run"
        found.append(
            Serving(name=current.id, kind="release", found=seen, pids=facts.own_pids, gpus=current.gpus, port=current.endpoint.port)
        )
    engines = find_foreign_engines(facts.model_copy(update={"current": None}))
    strangers = [each for each in engines if not set(each.pids) & set(facts.own_pids) and (current is None or each.unit != current.name)]
    return found + [
        Serving(name=each.unit, kind="service", found=each.found, pids=each.pids, port=_port(facts, each.unit)) for each in strangers
    ]


def is_named(facts: HostFacts, serving: Serving, stop: Collection[str]) -> bool:
    """Whether somebody asked for it: by its id, its recipe's name, or its unit's name."""
    names = {serving.name}
    if serving.kind == "release" and facts.current is not None:
        names |= {facts.current.name, f"modelpivot-{serving.name}.service"}
    return bool(names & set(stop))


def _port(facts: HostFacts, unit: str) -> int | None:
    listeners = [] if isinstance(facts.listeners, Unread) else facts.listeners
    return next((each.port for each in listeners if each.unit == unit), None)


def _busy(facts: HostFacts, going: Collection[int]) -> list[str]:
    """Who keeps GPUs when what is named is gone."""
    gpus = facts.gpus
    if isinstance(gpus, Unread):
        return name_obstacles(FreeFact(port=0, gpus=gpus))
    held = {each.gpu_uuid for each in gpus.processes if each.pid in going}
    others = [each for each in gpus.processes if each.pid not in going]
    kept = {each.gpu_uuid for each in others}
    left = [gpu for gpu in gpus.gpus if gpu.uuid in kept or gpu.uuid not in held]
    return name_obstacles(FreeFact(port=0, gpus=gpus.model_copy(update={"gpus": left, "processes": others})))


def _blockers(facts: HostFacts, serving: Sequence[Serving], stop: Sequence[str]) -> Iterator[Blocker]:
    yield from state_blockers(facts)
    if facts.cutover is not None:
        yield Blocker(
            code="SWITCH_OPEN",
            what="an open switch",
            expected="none: it needs both its releases",
            found=f"from {facts.cutover.from_release} to {facts.cutover.to_release}, {facts.cutover.phase}",
            remedy="wait for it, or end it with `modelpivot promote` or `modelpivot rollback`",
        )
    for name in stop:
        if not any(is_named(facts, each, [name]) for each in serving):
            yield Blocker(
                code="NOT_SERVING",
                what=f"--stop {name}",
                expected="the name of something that serves here",
                found=", ".join(each.name for each in serving) or "nothing serves",
                remedy="name one of these, or leave --stop out",
            )


def _warnings(facts: HostFacts, serving: Sequence[Serving], going: Sequence[Serving]) -> Iterator[str]:
    stays = [each for each in serving if not each.is_to_stop and each.pids]
    if going and not stays:
        yield "nothing serves on this host afterwards, until somebody starts something: no boot, no supervisor and no run brings it back by itself"
    for each in stays:
        yield f"{each.name} goes on serving: it stops only when it is named (--stop {each.name})"
    if isinstance(facts.gpus, Unread):
        yield f"the GPUs are {facts.gpus}: that they are free cannot be proved"
