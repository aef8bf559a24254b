"""What every flow does around its own body: open the run, hold the host, and end in a state that tells the truth.

The run's last word goes into its journal, its result into `result.json`, and the outcome to Prefect as an event.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect import State
from prefect.exceptions import Pause
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.utilities.urls import url_for
from pydantic import JsonValue

from blocks import GpuHost, HubAccess
from flows.earlier import origin, say_earlier
from flows.ending import Ending as Ending
from flows.markdown import report_markdown
from flows.poster import POSTER
from flows.queueing import is_deployed, may_queue, queue_again
from flows.settling import settle_unanswered
from flows.tell import PrefectListener, emit_last, emit_outcome, show_link, show_markdown
from modelpivot.errors import CommandFailed, GateFailed, HostHeld, PivotError, PreconditionError, SwitchFailed, Unanswered
from modelpivot.flow_child import ASKER
from modelpivot.models.host import HostConfig
from modelpivot.models.result import ExitCode, RunOutcome, RunResult
from modelpivot.settings import read_host_config
from modelpivot.stages.children import end_children
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.pictures import try_draw_run
from modelpivot.stages.report import write_report
from modelpivot.state.cutovers import read_cutover_followed_by
from modelpivot.state.lock import acquire_lock, release_lock

RUN_ID = "MODELPIVOT_RUN_ID"
"""Set by a command that follows the run it starts."""

HAND_OVER_S = 30.0
"""Seconds that a run waits in the end for Prefect to take its artifacts."""

COMPLETED_NAMES: dict[RunOutcome, str] = {
    "planned": "Planned",
    "staged": "Staged",
    "no_change": "NoChange",
    "reclaimed": "Reclaimed",
    "cleaned": "Cleaned",
    "no_wheel": "NoWheel",
    "passed": "Passed",
    "cannot_tell": "CannotTell",
}
FAILED_NAMES: dict[RunOutcome, str] = {
    "returned": "RolledBack",
    "nothing_serves": "NothingServes",
    "blocked": "Blocked",
    "regressed": "Regressed",
    "failed_to_start": "FailedToStart",
}
ASKING = "Asking"
"""Of a run that ends with questions which its command puts to a person at the terminal."""
GATE_NAMES = {"weights": "WeightsCorrupt", "benchmark": "Regressed"}
"""Of a run that failed at a gate and changed nothing. Every name has its alert in deployments/automations."""


Body = Callable[[Context], Ending]


def carry_out(flow_name: str, what: str, host: GpuHost | None, hub: HubAccess | None, body: Body) -> State[None]:
    """Run the body as one run of this host and return the state that tells how it ended; errors that are no error of ours are raised."""
    has_asker = os.environ.pop(ASKER, None) is not None
    try:
        context = open_flow_context(what, host, hub)
    except PivotError as error:
        return Failed(name="Blocked", message=str(error))
    context.journal("started", f"{flow_name} {what}", flow=flow_name, flow_run_url=_own_url(), **origin())
    try:
        say_earlier(context)
        ending = settle_unanswered(context) or body(context)
        context.journal("finished", ending.message, outcome=ending.outcome)
    except PivotError as error:
        _tell_failed(context, error)
        if isinstance(error, HostHeld) and may_queue():
            write_report(context.state, context.run.id)
            queue_again(error.message)
    except Pause:
        words = "waits for a person's answer (on this run's page: Resume); this process, the worker and the host are free"
        context.journal("failed", words, exit_code=ExitCode.BLOCKED)
        write_report(context.state, context.run.id)
        raise
    except Exception as error:
        context.journal("failed", f"{type(error).__name__}: {error}", error=type(error).__name__, exit_code=int(ExitCode.INTERNAL))
        _end(flow_name, context)
        raise
    except BaseException as error:
        end_children(context.run)
        context.journal("failed", _interrupted(context), error=type(error).__name__, exit_code=int(ExitCode.INTERRUPTED))
        emit_last(flow_name, context.host, write_report(context.state, context.run.id))
        raise
    return to_state(_end(flow_name, context), has_asker=has_asker)


def _tell_failed(context: Context, error: PivotError) -> None:
    told: dict[str, JsonValue] = {
        "error": type(error).__name__,
        "exit_code": error.exit_code,
        "hint": error.hint,
        "cause": _cause(error),
        "asks": list(error.asks) if isinstance(error, Unanswered) else [],
        "gate": error.gate if isinstance(error, GateFailed) else None,
    }
    context.journal("failed", error.message, **told)


def open_flow_context(what: str, host: GpuHost | None, hub: HubAccess | None) -> Context:
    """The run of this flow run, told to Prefect. A Hub token goes into this process's environment, where Hub clients look for it.

    PreconditionError where it cannot be a run of this host; nothing was read or written then.
    """
    own = read_host_config()
    if host:
        require_own_host(own.name, host.config.name)
    config = with_hub(with_own_hub(host.config, own) if host else own, hub)
    name = Path(what).stem.lower() if "/" in what else what.replace(" ", "-")
    return open_context(config, name=name, run_id=os.environ.pop(RUN_ID, None), listeners=[PrefectListener()])


def require_own_host(own: str, asked: str) -> None:
    """PreconditionError when a block names another host than the one that this worker says it is on: its roots and state are not there."""
    if is_deployed() and own not in (HostConfig().name, asked):
        hint = "give every host a work queue or pool of its own and start the run there, or set MODELPIVOT_NAME of the worker to the block's name"
        raise PreconditionError(f"expected a worker on {asked}, as the host block says; this one is on {own}", hint=hint)


def with_own_hub(config: HostConfig, own: HostConfig) -> HostConfig:
    """A block's configuration, with the worker's Hub where the block names none: a saved block holds every field, so that the default is no word."""
    is_named = config.hub_endpoint != HostConfig().hub_endpoint
    return config if is_named else config.model_copy(update={"hub_endpoint": own.hub_endpoint})


def with_hub(config: HostConfig, hub: HubAccess | None) -> HostConfig:
    """The host configuration with the Hub's address of the block, if it names one."""
    if hub is None:
        return config
    if hub.account.token:
        os.environ["HF_TOKEN"] = hub.account.token.get_secret_value()
    return config.model_copy(update={"hub_endpoint": hub.account.endpoint}) if hub.account.endpoint else config


@contextmanager
def held_host(context: Context, *, is_recovering: bool = False) -> Iterator[None]:
    """Hold this host's lock; a switch that took it over keeps it. HostHeld says who has it. `is_recovering`: takes back what a dead switch left open."""
    acquire_lock(context.state, run_id=context.run.id, what=f"run {context.run.id}", is_recovering=is_recovering)
    try:
        yield
    finally:
        release_lock(context.state)


def to_state(result: RunResult, *, has_asker: bool = False) -> State[None]:
    """The Prefect state of a result: its name is the outcome where Prefect has no word for it. Who was to go back, and did, is Completed; so is
    who was to find out what a person at the terminal is asked."""
    if has_asker and result.asks:
        return Completed(name=ASKING, message=result.message)
    if result.exit_code == ExitCode.DONE or result.outcome == "rolled_back":
        return Completed(name=COMPLETED_NAMES.get(result.outcome, "Completed"), message=result.message)
    return Failed(name=name_failure(result), message=result.message)


def name_failure(result: RunResult) -> str:
    """The name of the state of a run that did not end well; automations tell runs apart by it."""
    if result.exit_code == ExitCode.HELD:
        return "HostHeld"
    if result.outcome == "failed" and result.gate:
        return GATE_NAMES[result.gate]
    return FAILED_NAMES.get(result.outcome, "Failed")


def _end(flow_name: str, context: Context) -> RunResult:
    result = write_report(context.state, context.run.id)
    pictures = try_draw_run(context.state, context.run.id)
    show_markdown("report", report_markdown(result, pictures), title=f"{flow_name}: {result.outcome}")
    if result.base_url and result.released:
        show_link("service", f"{result.base_url}/v1/models", title=f"{result.released} answers on {context.host.name}")
    emit_outcome(flow_name, context.host, result)
    POSTER.drain(HAND_OVER_S)
    return result


def _interrupted(context: Context) -> str:
    cutover = read_cutover_followed_by(context.state, context.run.id)
    if cutover is None:
        return "ended from outside; what is staged stays, the next run goes on from there"
    alone = "keeps it" if cutover.stays_unconfirmed else "goes back by itself"
    return f"ended from outside; the switch to {cutover.to_release} ({cutover.phase}) goes on alone and {alone} when nobody confirms it"


def _own_url() -> str | None:
    run_id = flow_run.get_id()
    return url_for("flow-run", obj_id=run_id) if run_id else None


def _cause(error: PivotError) -> list[JsonValue]:
    """The words of the engine or of a command, where the error keeps them."""
    if isinstance(error, SwitchFailed):
        return list(error.cause)
    return list(error.last_lines) if isinstance(error, CommandFailed) else []
