"""Where and what an upgrade test tries: beside what serves, or in its place within the host's window; the recipe's model, or a probe model."""

import time
from dataclasses import dataclass, replace

from modelpivot.errors import PreconditionError
from modelpivot.facts.start_time import read_start_s
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.hooks import Hooks
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.upgrade import Asked, Capacity, Subject
from modelpivot.plans.probe_model import EXCUSED, ProbeModel, make_probe
from modelpivot.plans.spare import place_beside, spare_blockers, spare_port
from modelpivot.plans.upgrade import serves_recipe
from modelpivot.plans.window import Times, find_opening, plan_times, window_blocker
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_none
from modelpivot.state.releases import read_current

SPARE_S = 4 * 3600.0
"""Beside what serves nobody waits for an end; but there is one."""
STOP_S = 30.0


@dataclass(frozen=True)
class Place:
    """Where and what is tried, and until when."""

    context: Context
    """Of the run, with the port that is served on."""
    capacity: Capacity
    subject: Subject
    model: str
    times: Times
    frm: Release | None
    """Stopped for it; None: nothing is."""
    is_in_place: bool
    """Whether what is stopped serves the recipe that is tried, so that its figures are those of the current version."""

    @property
    def excused(self) -> tuple[str, ...]:
        """Blockers that are not about what is tried."""
        return EXCUSED if self.subject == "probe" else ()

    @property
    def is_by_turns(self) -> bool:
        """Whether the current version is tried there too: where it does not serve, its figures come from nowhere else."""
        return self.capacity == "spare" or self.subject == "probe" or not self.is_in_place


def choose(asked: Asked, host: HostConfig) -> tuple[Capacity, Subject]:
    """What was asked, or what this host can do."""
    capacity: Capacity = asked.capacity or ("window" if host.window else "spare")
    return capacity, asked.subject or ("recipe" if capacity == "window" else "probe")


def choose_place(context: Context, recipe: Recipe, facts: Facts, asked: Asked) -> Place:
    """PreconditionError names everything that keeps the test from taking place now; nothing was touched then."""
    capacity, subject = choose(asked, context.host)
    frm = read_current(context.state) if capacity == "window" else None
    shaped = shape(recipe, facts, capacity, subject)
    times = find_times(context, frm) if capacity == "window" else Times(time.time() + SPARE_S, time.time() + SPARE_S + STOP_S)
    blockers = [times] if isinstance(times, Blocker) else []
    if capacity == "spare":
        blockers += spare_blockers(shaped.recipe, read_engine(recipe.engine.name), facts, has_weights=subject == "recipe")
    require_none(blockers)
    assert not isinstance(times, Blocker)
    port = spare_port(recipe, context.host, facts) if capacity == "spare" else context.host.port
    return Place(_at_port(context, port), capacity, subject, shaped.model, times, frm, is_in_place=serves_recipe(recipe, frm))


def shape(recipe: Recipe, facts: Facts, capacity: Capacity, subject: Subject) -> ProbeModel:
    """The recipe as it is tried. It is put into no load balancer."""
    engine, config = read_engine(recipe.engine.name), facts.model.config
    shaped = ProbeModel(recipe, recipe.model.repo)
    if subject == "probe":
        if isinstance(config, Unread) and recipe.probe_model is None:
            raise PreconditionError(f"no probe model without config.json: it is {config}", hint="name a probe_model in the recipe")
        shaped = make_probe(recipe, {} if isinstance(config, Unread) else config)
    without = shaped.recipe.model_copy(update={"hooks": _unbalanced(shaped.recipe.hooks)})
    return shaped._replace(recipe=place_beside(without, engine, facts) if capacity == "spare" else without)


def find_times(context: Context, frm: Release | None) -> Times | Blocker:
    """When the trial turns round and when what serves is back, in the window that is open now; else why there is none."""
    now, window = time.time(), context.host.maintenance_window()
    opening = find_opening(window, now) if window else None
    start_s = (read_start_s(context.state, frm.id) or frm.deadlines.ready_s) if frm else 0.0
    times = plan_times(opening, now, start_s=start_s, stop_s=frm.deadlines.stop_s if frm else STOP_S) if opening else None
    return times or window_blocker(context.host.window, now, opening, start_s)


def require_time(place: Place) -> None:
    """Right before the first stop: PreconditionError when staging took so long that too little of the window is left."""
    times = find_times(place.context, place.frm) if place.capacity == "window" else None
    require_none([times] if isinstance(times, Blocker) else [])


def _at_port(context: Context, port: int | None) -> Context:
    host = context.host.model_copy(update={"port": port, "hooks": _unbalanced(context.host.hooks)})
    return replace(context, host=host)


def _unbalanced(hooks: Hooks) -> Hooks:
    return hooks.model_copy(update={"drain": [], "undrain": []})
