"""The demo from nothing to a finished pivot; every part finds what an interrupted demo left and goes on from there."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import JsonValue

from modelpivot.benchmark.client import Client
from modelpivot.demo.breaks import write_broken_recipe
from modelpivot.demo.clearing import require_clear_way
from modelpivot.demo.following import followed
from modelpivot.demo.models import MODELS, make_models
from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.ports import free_port
from modelpivot.demo.services import (
    Service,
    ensure_hub,
    prefect_environment,
    read_running,
    remember,
    start_prefect,
    wait_for_prefect,
)
from modelpivot.demo.sole import sole_demo
from modelpivot.errors import PivotError, PreconditionError
from modelpivot.facts.resolution import read_resolution
from modelpivot.flow_child import FlowChild
from modelpivot.mirror.server import HUB_ADDRESS, STORE_ADDRESS
from modelpivot.models.counted import counted
from modelpivot.models.cutover import Lost
from modelpivot.models.event import Event
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.models.result import RunResult
from modelpivot.operations.environment import install_environment
from modelpivot.recipes import read_engine, read_recipe
from modelpivot.stages.check import check_shards
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.fetch import fetch
from modelpivot.stages.install import install
from modelpivot.stages.plan import make_plan, require_clear
from modelpivot.stages.recorded import recorded
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.stages.told import told
from modelpivot.stages.view import freeze
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, release_lock
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases, read_current, read_release
from modelpivot.state.runs import new_run_id
from modelpivot.supervisors.choose import choose_supervisor

OLD, NEW = "demo-old", "demo"
Listener = Callable[[Event], None]


@dataclass(frozen=True)
class DemoResult:
    """The run, and what the demo's own client saw from before it to after it."""

    run: RunResult
    seen: Lost


def run_demo(places: DemoPlaces, *, fail: str | None, listener: Listener) -> DemoResult:
    """The whole pivot. PivotError when something stands in the way before it."""
    require_clear_way(places)
    places.root.mkdir(parents=True, exist_ok=True)
    with sole_demo(places):
        return _run_alone(places, fail, listener)


def _run_alone(places: DemoPlaces, fail: str | None, listener: Listener) -> DemoResult:
    _reach_loopback_directly()
    prefect = start_prefect(places)
    hub = ensure_hub(places)
    host = places.host(hub.url, _engine_port(places))
    _prepare(places, host, listener)
    old = _serve_old(host, listener)
    wait_for_prefect(places, prefect)
    client = Client([old.endpoint], state=StatePaths(host.state_dir)).start()
    try:
        result = _pivot(places, host, prefect, fail, listener)
    finally:
        seen = client.stop()
    return DemoResult(result, seen)


@contextmanager
def _told_run(host: HostConfig, name: str, listener: Listener) -> Iterator[Context]:
    """A run of the demo's own: shown as it goes, and recorded like any other."""
    context = open_context(host, name=name)
    with followed(context.run, listener), recorded(context, name) as word:
        yield context
        word.message = "ready for the pivot"


def _reach_loopback_directly() -> None:
    """Server, Hub (both its host names) and engine are on this machine: a proxy of the environment knows nothing of them."""
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "localhost", HUB_ADDRESS, STORE_ADDRESS)))


def _engine_port(places: DemoPlaces) -> int:
    """The port of the demo before, kept while anything of it serves or a switch is open; else that one if it is free, or any free one."""
    known = read_running(places).engine_port
    host = places.host(port=known)
    state = StatePaths(host.state_dir)
    if read_cutover(state) or any(choose_supervisor(host, state).processes(release) for release in list_releases(state)):
        return known
    port = free_port(known)
    remember(places, engine_port=port)
    return port


def _prepare(places: DemoPlaces, host: HostConfig, listener: Listener) -> None:
    """The engine's environment, and with its Python the two models; nothing to do when both models are published."""
    if all((places.hub / repo).is_dir() for repo in MODELS.values()):
        return
    with _told_run(host, "demo-setup", listener) as context:
        _make_models(places, context)


def _make_models(places: DemoPlaces, context: Context) -> None:
    host = context.host
    recipe = read_recipe(NEW)
    engine = read_engine(recipe.engine.name)
    resolution = read_resolution(host, engine, recipe.engine)
    if isinstance(resolution, Unread):
        raise PreconditionError(
            f"{engine.name} cannot be resolved: {resolution.unread}", hint="check the package index that pip or uv is set up for"
        )
    with told(
        context.journal, "install", f"{resolution.engine} {resolution.engine_version}: {counted(len(resolution.pins), 'package')}"
    ) as (
        tell,
        ending,
    ):
        proof = install_environment(host, resolution, engine, tell)
        end = ending.finish if proof.new else ending.nothing_to_do
        end(f"{proof.engine} {proof.engine_version} with {counted(proof.packages, 'package')}, proved in {proof.path}")
    with told(context.journal, "make models") as (tell, ending):
        make_models(places, proof.path, tell)
        ending.finish("two tiny models with random weights, published on the local Hub")


def _serve_old(host: HostConfig, listener: Listener) -> Release:
    """The old model, answering: staged and started by the host's own switch. A pivot's switch that is open is left to the run that follows."""
    state = StatePaths(host.state_dir)
    with _told_run(host, OLD, listener) as context:
        if cutover := read_cutover(state):
            recover(context)
            if cutover.confirm == "automatic":
                follow_switch(context, cutover, until=is_closed)
            if read_cutover(state):
                return read_release(state, cutover.from_release or cutover.to_release)
        acquire_lock(state, run_id=context.run.id, what=f"run {context.run.id}")
        try:
            return _stage_and_switch(context)
        finally:
            release_lock(state)


def _stage_and_switch(context: Context) -> Release:
    plan = make_plan(context, read_recipe(OLD))
    require_clear(plan, is_agreed=True)
    if plan.is_no_change and (current := read_current(context.state)):
        return current
    install(context, plan)
    fetch(context, plan)
    release = freeze(context, plan)
    check_shards(context, plan)
    current = read_current(context.state)
    cutover = start_switch(context, to=release, frm=current if current and current.id != release.id else None, confirm="automatic")
    cutover = follow_switch(context, cutover, until=is_closed)
    if cutover.outcome != "promoted":
        raise PivotError(f"the old model does not start: {cutover.reason}", hint="\n".join(cutover.cause[-10:]))
    return release


def _pivot(places: DemoPlaces, host: HostConfig, prefect: Service, fail: str | None, listener: Listener) -> RunResult:
    recipe = write_broken_recipe(places, read_recipe(NEW), fail) if fail else NEW
    parameters: dict[str, JsonValue] = {"recipe": recipe, "dry_run": False, "agreed": True}
    child = FlowChild(host, "pivot", parameters, new_run_id(read_recipe(recipe).name), env=prefect_environment(places, prefect.url))
    return child.follow(listener)
