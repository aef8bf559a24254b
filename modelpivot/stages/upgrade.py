"""The decisions and the record of an upgrade test: what is newest, what the figures say, and its result on disk.

<state>/runs/<id>/upgrade.json      the result
                  candidate.yaml    the recipe with the tested engine
"""

import time
from collections.abc import Sequence

from modelpivot.benchmark.keep import look_back
from modelpivot.benchmark.setup import digest_setup, read_setup
from modelpivot.errors import PreconditionError, TransientError
from modelpivot.facts.newest import NoVersion, read_newest
from modelpivot.files import read_model, write_atomic, write_model
from modelpivot.models.benchmark import StoredResult
from modelpivot.models.comparison import Comparison
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.upgrade import Channel, Newest, UpgradeResult
from modelpivot.plans.baseline import is_baseline
from modelpivot.plans.compare import Side, compare
from modelpivot.plans.recipe_text import recipe_text
from modelpivot.plans.upgrade import judge_newest, require_movable, version_in_use
from modelpivot.plans.upgrade_verdict import say_next
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.gate import say_comparison
from modelpivot.stages.told import told
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_current
from modelpivot.state.runs import list_runs


def find_newest(context: Context, recipe: Recipe, channel: Channel) -> Newest:
    """What the channel has, or why there is nothing to test. TransientError when no index answers; PreconditionError when uv cannot be asked."""
    require_movable(recipe)
    engine = read_engine(recipe.engine.name)
    with told(context.journal, "find newest", f"{engine.distribution} in the {channel} channel") as (_, ending):
        current = version_in_use(recipe, engine, read_current(context.state))
        found = read_newest(context.host, engine, channel)
        if isinstance(found, NoVersion):
            newest = _no_version(found, current, f"the {channel} channel has no {engine.distribution} for this machine")
        else:
            newest = judge_newest(engine, channel, current, found)
        end = ending.nothing_to_do if newest.verdict else ending.finish
        end(newest.message, current=current, version=newest.version)
    return newest


def _no_version(found: NoVersion, current: str, what: str) -> Newest:
    if found.problem == "unreachable":
        raise TransientError(f"the package index does not answer: {found.said}", hint="the next run asks again")
    if found.problem != "no_wheel":
        raise PreconditionError(f"the package index cannot be asked: {found.said}", hint="mend what the reason names")
    return Newest(current=current, verdict="no_wheel", message=f"{what}: {found.said}")


def compare_tried(
    context: Context, recipe: Recipe, candidate: Release, base: Release | None, *, is_paired: bool, looks: int
) -> Comparison | None:
    """The candidate's starts of this run against the current version's; None: there is nothing to hold them against, or the history is away.

    `is_paired`: only what this run measured of the current version, in the same place. Else what was measured of it before counts too.
    """
    points = recipe.points()
    if base is None or not points:
        return None
    with told(context.journal, "compare", f"{candidate.id} against {base.id}") as (tell, ending):
        host = read_setup(context.host, candidate).host
        history, problem = look_back(context.state, host=host, workloads=[point.digest for point in points])
        if problem:
            tell("warning", problem)
        mine = [one for one in history if one.run_id == context.run.id and one.release == candidate.id]
        against = _measured_of(history, context, base, is_paired=is_paired)
        comparison = (
            compare(Side(base.id, against), Side(candidate.id, mine), recipe.regression, history, looks=looks) if mine and against else None
        )
        ending.finish(say_comparison(comparison), comparison=comparison.model_dump(mode="json") if comparison else None)
    return comparison


def _measured_of(history: Sequence[StoredResult], context: Context, base: Release, *, is_paired: bool) -> list[StoredResult]:
    mine = [one for one in history if one.run_id == context.run.id and one.release == base.id]
    if is_paired:
        return mine
    setup = digest_setup(read_setup(context.host, base))
    return [*mine, *(one for one in history if one not in mine and one.setup_digest == setup and is_baseline(one))]


def conclude(context: Context, result: UpgradeResult, recipe: Recipe | None) -> UpgradeResult:
    """The result in the run's folder, with what a person does now; `recipe`: the one that a pivot to the tested engine takes."""
    if recipe is not None:
        head = [f"{recipe.name} with the engine that run {result.run_id} tested: {result.verdict}"]
        write_atomic(context.run.pinned_recipe, recipe_text(recipe, {}, head=head).encode())
        result = result.model_copy(update={"pinned_recipe": context.run.pinned_recipe})
    result = result.model_copy(update={"at": time.time(), "next_move": say_next(result)})
    write_model(context.run.upgrade, result)
    return result


def read_upgrades(state: StatePaths) -> list[UpgradeResult]:
    """Every upgrade test of this host, newest first."""
    found = [read_model(run.upgrade, UpgradeResult) for run in list_runs(state)]
    return [one for one in found if one is not None]
