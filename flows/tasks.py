"""Every stage as a task of a few lines, named as people name the job.

Rerun: find newest, install and download, after passing failures only. Nothing is rerun across a switch, and no result is persisted: what
proves something lies on the host and is read again.
"""

from collections.abc import Collection, Sequence
from typing import Any

from prefect import State, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import TaskRun
from prefect.futures import as_completed
from prefect.tasks import Task

from flows.following import Relay, follow, is_open, require_open, require_promoted
from flows.markdown import packages_markdown, shards_markdown
from flows.tell import PrefectListener, show_markdown
from modelpivot.errors import TransientError
from modelpivot.files import read_model
from modelpivot.models.benchmark import Check, Measurement, Standing
from modelpivot.models.cleanup import Cleaned, CleanupPlan
from modelpivot.models.comparison import Comparison
from modelpivot.models.counted import counted
from modelpivot.models.cutover import Cutover
from modelpivot.models.facts import Facts
from modelpivot.models.manifest import Verified
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.models.reclaim import Kind, Reclaimed, ReclaimPlan
from modelpivot.models.release import Release
from modelpivot.models.upgrade import Channel, Newest
from modelpivot.plans.markdown import plan_markdown
from modelpivot.plans.room_markdown import cleanup_markdown, room_markdown
from modelpivot.plans.window import Times
from modelpivot.recipes import recipe_digest
from modelpivot.stages import cleanup as cleanup_stage
from modelpivot.stages import reclaim as reclaim_stage
from modelpivot.stages.benchmark import measure
from modelpivot.stages.candidate import check_candidate
from modelpivot.stages.check import check_shards as check_shards_stage
from modelpivot.stages.children import end_children, run_child
from modelpivot.stages.context import Context
from modelpivot.stages.gate import gate as gate_stage
from modelpivot.stages.plan import make_plan
from modelpivot.stages.preflight import preflight as preflight_stage
from modelpivot.stages.promote import promote as promote_stage
from modelpivot.stages.reclaim import Agreed
from modelpivot.stages.rollback import rollback as rollback_stage
from modelpivot.stages.starts import judge, measure_starts
from modelpivot.stages.switch import is_closed, is_unconfirmed, start_switch
from modelpivot.stages.trial import is_up, start_trial, try_next
from modelpivot.stages.upgrade import compare_tried, find_newest
from modelpivot.stages.view import freeze
from modelpivot.state.cutovers import ask_decision
from modelpivot.state.releases import read_current


def is_passing(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task may be run again: only after a passing failure."""
    return isinstance(state.data, TransientError)


ONCE: dict[str, Any] = {"cache_policy": NO_CACHE, "persist_result": False}
RERUN: dict[str, Any] = {**ONCE, "retries": 2, "retry_delay_seconds": [5, 20], "retry_condition_fn": is_passing}


@task(name="preflight", **ONCE)
def preflight(context: Context, recipe: Recipe) -> Facts:
    """Read the host and the model; nothing is changed. What does not answer is a fact, and the plan says whether it stands in the way."""
    return preflight_stage(context, recipe)


@task(name="plan", **ONCE)
def plan(context: Context, recipe: Recipe, facts: Facts) -> Plan:
    """Decide, and show what was decided."""
    made = make_plan(context, recipe, facts)
    show_markdown(f"plan {recipe.name}", plan_markdown(made), title=f"What a pivot to {recipe.name} would do")
    if made.packages:
        show_markdown(f"packages {recipe.name}", packages_markdown(made.packages), title=f"Packages of {recipe.name}'s engine")
    return made


@task(name="install", **RERUN)
def install(context: Context) -> None:
    """The engine's environment, built beside the live one and proved."""
    run_child(context, "install", PrefectListener())


@task(name="download", **RERUN)
def download(context: Context) -> None:
    """The weights, fetched and verified."""
    run_child(context, "fetch", PrefectListener())


def install_and_download(context: Context) -> None:
    """Both at once, neither needs the other. When one fails for good, or the flow is ended, the other's child ends too; its work stays."""
    futures = [install.submit(context), download.submit(context)]
    try:
        for future in as_completed(futures):
            future.result()
    except BaseException:
        end_children(context.run)
        raise


@task(name="patch config", **ONCE)
def patch_config(context: Context, plan: Plan) -> Release:
    """The release's own view of the weights, patched where the plan says so; the release is frozen."""
    return freeze(context, plan)


@task(name="check shards", **ONCE)
def check_shards(context: Context, plan: Plan, full: bool = False) -> list[Check]:
    """Verdict and Great Expectations suite over the shard table; GateFailed names every failed check."""
    try:
        return check_shards_stage(context, plan, is_full=full)
    finally:
        show_shards(context, plan.recipe.name)


@task(name="check engine", **ONCE)
def check_engine(context: Context, release: Release) -> list[Check]:
    """What the target environment itself says of the candidate."""
    return check_candidate(context, release)


@task(name="serve", **ONCE)
def serve(context: Context, release: Release, recipe: Recipe) -> Cutover:
    """Start the switch and follow it until the candidate answers, unconfirmed. SwitchFailed when it went back, or nothing serves."""
    relay = Relay(context, context.run)
    cutover = start_switch(context, to=release, frm=read_current(context.state), unconfirmed=recipe.unconfirmed)
    return require_open(follow(context, cutover, relay, is_unconfirmed))


@task(name="serve", **ONCE)
def serve_on(context: Context, cutover: Cutover) -> Cutover:
    """Follow the open switch that this run took up until its candidate answers."""
    return require_open(follow(context, cutover, Relay(context, context.state.run(cutover.run_id)), is_unconfirmed))


@task(name="benchmark", **ONCE)
def benchmark(context: Context, release: Release, recipe: Recipe, standing: Standing = "measured") -> list[Measurement]:
    """The recipe's workloads, measured with the engine's own client."""
    return measure(context, release, recipe.workloads, recipe_digest=recipe_digest(recipe), standing=standing)


@task(name="benchmark", **ONCE)
def measure_served(context: Context, release: Release, recipe: Recipe, starts: int) -> list[Check]:
    """What serves, measured in so many starts; every check over it."""
    measurements, comparison = measure_starts(context, release, recipe, starts=starts, is_eager=False, standing="accepted")
    checks = judge(recipe, measurements, comparison)
    context.journal.stage("gate")("log", counted(len(checks), "check"), checks=[check.model_dump(mode="json") for check in checks])
    return checks


@task(name="gate", **ONCE)
def gate(context: Context, recipe: Recipe, measurements: list[Measurement], release: Release) -> list[Check]:
    """Promote or not; GateFailed names every floor that was missed, and every metric that regressed."""
    return gate_stage(context, recipe, measurements, release)


@task(name="promote", **ONCE)
def promote(context: Context) -> Cutover:
    """Ask the switch to make the candidate current, and wait for its word; SwitchFailed when it went back instead."""
    return require_promoted(promote_stage(context))


@task(name="go back", **ONCE)
def go_back(context: Context, cutover: Cutover, reason: str) -> Cutover:
    """Ask this switch to return, and follow it to its end; one that is over already, by itself, is only read."""
    relay = Relay(context, context.state.run(cutover.run_id))
    if is_open(context.state, cutover):
        ask_decision(context.state, "return", reason=reason)
    return follow(context, cutover, relay, is_closed)


@task(name="find newest", **RERUN)
def newest(context: Context, recipe: Recipe, channel: Channel) -> Newest:
    """The newest engine that the channel has for this machine, next to the one in use."""
    return find_newest(context, recipe, channel)


@task(name="serve", **ONCE)
def serve_trial(context: Context, release: Release, frm: Release | None, times: Times) -> Cutover:
    """Begin the trial, and follow it until its first release answers. SwitchFailed when it went back."""
    relay = Relay(context, context.run)
    trial = start_trial(context, to=release, frm=frm, turn_at=times.turn_at, back_by=times.back_by)
    return require_open(follow(context, trial, relay, is_up(1)))


@task(name="serve", **ONCE)
def serve_next(context: Context, trial: Cutover, release: Release, starts: int) -> Cutover:
    """Have the trial exchange what it has up for this release; follow it until that answers. SwitchFailed when it went back."""
    relay = Relay(context, context.run)
    if is_open(context.state, trial):
        try_next(context, release)
    return require_open(follow(context, trial, relay, is_up(starts)))


@task(name="compare", **ONCE)
def compare(
    context: Context, recipe: Recipe, candidate: Release, base: Release | None, *, is_paired: bool, looks: int
) -> Comparison | None:
    """The newest engine's figures against the current one's."""
    return compare_tried(context, recipe, candidate, base, is_paired=is_paired, looks=looks)


@task(name="roll back", **ONCE)
def roll_back(context: Context) -> Cutover | None:
    """The same switch with the releases exchanged, or what was stopped by name started again; None: that needed no switch."""
    return rollback_stage(context)


@task(name="plan", **ONCE)
def plan_reclaim(context: Context, only: Collection[Kind]) -> ReclaimPlan:
    """What may go, shown. Changes nothing."""
    made = reclaim_stage.plan(context, only=only)
    show_markdown("reclaim", room_markdown(made), title=f"What may go on {context.host.name}")
    return made


@task(name="reclaim", **ONCE)
def reclaim(context: Context, made: ReclaimPlan, agreed: Agreed) -> Reclaimed:
    """What was agreed to is gone, measured."""
    return reclaim_stage.reclaim(context, made, agreed)


@task(name="plan", **ONCE)
def plan_cleanup(context: Context, stop: Sequence[str], only: Collection[Kind]) -> CleanupPlan:
    """What a clean slate would take, shown. Changes nothing."""
    made = cleanup_stage.plan(context, stop=stop, only=only)
    show_markdown("cleanup", cleanup_markdown(made), title=f"A clean slate on {context.host.name}")
    return made


@task(name="cleanup", **ONCE)
def cleanup(context: Context, made: CleanupPlan, agreed: Agreed, stop: Sequence[str], only: Collection[Kind]) -> Cleaned:
    """What is named is stopped, what is agreed to is gone; GateFailed names what still stands in the way."""
    done = cleanup_stage.cleanup(context, made, agreed, stop=stop, only=only)
    cleanup_stage.require_clean(done)
    return done


def show_shards(context: Context, name: str) -> None:
    """The shard table of this run as an artifact."""
    verified = read_model(context.run.verified, Verified)
    show_markdown(f"shards {name}", shards_markdown(verified, []), title=f"Shards of {name}")
