"""What serves, stopped because somebody asked for it by name, so that nothing starts it again but a person's word; and started again by that.

Written down before the first signal: whoever looks at the host later knows that nothing serves on purpose, and what to start.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from modelpivot.errors import CommandFailed, GateFailed, HostHeld, NothingServes, PivotError, PreconditionError
from modelpivot.facts.start_log import read_last_lines
from modelpivot.host import run_command
from modelpivot.models.cleanup import Serving
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Endpoint, Release, StartSpec, Stopped
from modelpivot.stages.context import Context
from modelpivot.stages.switch import switch_over
from modelpivot.stages.told import told
from modelpivot.state.lock import acquire_lock, release_lock
from modelpivot.state.releases import read_book, read_release, record_started, record_stopped
from modelpivot.state.runs import Journal
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.supervisors.protocol import Supervisor, UnitStatus
from modelpivot.supervisors.systemctl import show
from modelpivot.supervisors.unit_log import read_words_since
from modelpivot.waiting import WaitedTooLong, wait_for

LIVES_S = 1.0
"""Whatever a service does later, it is not for us to know; one that ends before was not started."""
LOOP_S = 60.0
"""Seconds in which one that ends and is started again at once must come to live, or to its end."""


def stand_down(context: Context, serving: Serving) -> Release:
    """It runs no more, and no boot starts it. The caller holds the host's lock. CommandFailed names what cannot be ended."""
    supervisor = choose_supervisor(context.host, context.state)
    release = _release_of(context, supervisor, serving)
    with told(context.journal, "stop old", serving.name) as (tell, ending):
        was_enabled = serving.kind == "service" and show(serving.name)["UnitFileState"].startswith("enabled")
        stopped = Stopped(name=serving.name, is_release=serving.kind == "release", was_enabled=was_enabled, at=time.time())
        record_stopped(context.state, stopped)
        _drain(tell, release)
        supervisor.disable(release)
        supervisor.stop(release, timeout_s=release.deadlines.stop_s)
        for other in _starters(supervisor, serving):
            tell("warning", f"{other} may start {serving.name} again: it is not ours to change")
        ending.finish(f"{serving.name} is stopped and starts at no boot")
    return release


def start_again(context: Context) -> Cutover | None:
    """Everything that was stopped by name serves again, the release first; what cannot be started keeps nothing else down, and stays on record. The
    closed switch; None: only services that were not made by us, or what runs already.

    PreconditionError when nothing was stopped by name, or nothing could be started because its parts are gone; NothingServes when none of it
    runs, GateFailed when some of it does; HostHeld when another run holds the host.
    """
    stopped, closed, failures = read_book(context.state).stopped, None, list[PivotError]()
    if not stopped:
        raise PreconditionError("nothing was stopped by name on this host", hint="modelpivot status tells what serves")
    for each in sorted(stopped, key=lambda one: not one.is_release):
        try:
            closed = _start(context, each) or closed
        except HostHeld:
            raise
        except PivotError as error:
            failures.append(error)
    if failures:
        raise _sum_up(failures, closed, is_all=len(failures) == len(stopped))
    return closed


def started_since(context: Context, before: Sequence[Stopped]) -> list[str]:
    """Names of those that are on record as stopped no more."""
    left = {each.name for each in read_book(context.state).stopped}
    return [each.name for each in before if each.name not in left]


def say_stopped(stopped: Sequence[Stopped]) -> str:
    """For a person: what does not serve on purpose, since when, and what starts it."""
    since = [f"{each.name} was stopped by name at {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime(each.at))}" for each in stopped]
    return f"{', '.join(since)} (modelpivot cleanup): `modelpivot recover` starts {'it' if len(since) == 1 else 'them'} again"


def say_started(names: Sequence[str]) -> str:
    """For a person: what was stopped by name and is not any more."""
    return f"{', '.join(names)} {'runs' if len(names) == 1 else 'run'} again"


def _sum_up(failures: Sequence[PivotError], closed: Cutover | None, *, is_all: bool) -> PivotError:
    """One error for all that could not be started: as bad as what is left."""
    is_lost = closed is not None and closed.outcome != "promoted"
    if is_all and len(failures) == 1:
        return failures[0]
    failed = [*([closed.reason] if closed and is_lost else []), *(error.message for error in failures)]
    if is_all or is_lost:
        return NothingServes("; ".join(failed), hint=failures[0].hint)
    return GateFailed(f"not all that was stopped by name runs again: {'; '.join(failed)}", failed=failed, hint=failures[0].hint)


def _start(context: Context, stopped: Stopped) -> Cutover | None:
    """One of them. The closed switch of a release; None: it runs already, or is a service."""
    supervisor = choose_supervisor(context.host, context.state)
    if not stopped.is_release:
        _start_service(context, supervisor, stopped)
        return None
    release = read_release(context.state, stopped.name)
    if supervisor.status(release).state == "running":
        supervisor.enable(release)
        record_started(context.state, release.id)
        return None
    missing = [str(path) for path in (release.environment_dir, release.view_dir, release.weights_dir) if not path.exists()]
    if missing:
        raise PreconditionError(
            f"{release.id} is no longer whole: {', '.join(missing)} is gone", hint="run its recipe again: modelpivot run brings it back"
        )
    return switch_over(context, to=release, frm=None)


def _start_service(context: Context, supervisor: Supervisor, stopped: Stopped) -> None:
    """Started, and enabled where it was. The host is held meanwhile: nobody gives its GPUs to something else."""
    _require_systemd(supervisor, stopped.name)
    acquire_lock(context.state, run_id=context.run.id, what=f"start of {stopped.name}")
    try:
        with told(context.journal, "serve", stopped.name) as (_, ending):
            release = foreign_release(stopped.name)
            if stopped.was_enabled:
                supervisor.enable(release)
            began = time.time()
            supervisor.start(release)
            _see_it_live(supervisor, release, began)
            record_started(context.state, stopped.name)
            ending.finish(f"{stopped.name} is started again; modelpivot does not know whether it answers")
    finally:
        release_lock(context.state)


def _see_it_live(supervisor: Supervisor, release: Release, began: float) -> None:
    """NothingServes with its words, and it is stopped, when it ends at once: also one that systemd starts again before anybody looked."""
    main, since_s, exit_code = None, 0.0, None

    def judge(status: UnitStatus, waited_s: float) -> UnitStatus | None:
        nonlocal main, since_s, exit_code
        exit_code = status.exit_code if status.state != "running" else exit_code
        if status.main != main:
            main, since_s = status.main, waited_s
        return status if status.state != "running" or waited_s - since_s >= LIVES_S else None

    with contextlib.suppress(WaitedTooLong):  # it ends and is started again all the time
        if wait_for(lambda: supervisor.status(release), judge, what=f"{release.name} to live", deadline_s=LOOP_S).state == "running":
            return
    words = read_words_since(release.name, began)[-5:] or read_last_lines(supervisor.log_path(release), 5)
    supervisor.stop(release, timeout_s=release.deadlines.stop_s)
    raise NothingServes(
        f"{release.name} ended as soon as it was started (exit code {exit_code}): {' | '.join(words) or 'without a word'}",
        hint=f"journalctl -u {release.name} has all of it; mend the service, then modelpivot recover starts it",
    )


def _release_of(context: Context, supervisor: Supervisor, serving: Serving) -> Release:
    if serving.kind == "release":
        return read_release(context.state, serving.name)
    _require_systemd(supervisor, serving.name)
    return foreign_release(serving.name)


def _require_systemd(supervisor: Supervisor, name: str) -> None:
    if supervisor.name != "systemd":
        raise PreconditionError(
            f"{name} is a systemd service, and this host is configured for the process supervisor", hint="run it as root under systemd"
        )


def foreign_release(unit: str) -> Release:
    """As much of a release as the supervisor needs to stop a service and start it again by its own name."""
    nowhere = Path("/nonexistent")
    return Release(
        id=f"service-{unit.removesuffix('.service')}",
        name=unit,
        origin="adopted",
        serving_digest="",
        repo="",
        commit="",
        weights_dir=nowhere,
        view_dir=nowhere,
        environment_dir=nowhere,
        engine="",
        engine_version="",
        start=StartSpec(argv=[unit], environment={}, working_directory=nowhere),
        endpoint=Endpoint(bind="", port=0, served_name=""),
    )


def _drain(tell: Journal, release: Release) -> None:
    """The release's own drain hooks; one that fails is a warning: it was asked for by name that this stops."""
    if not release.hooks.drain:
        return
    script = "\n".join(["set -euo pipefail", *release.hooks.drain])
    environment = os.environ | {"MODELPIVOT_RELEASE": release.id, "MODELPIVOT_BASE_URL": release.endpoint.base_url}
    try:
        run_command(["bash", "-c", script], timeout_s=release.deadlines.drain_s, env=environment)
    except CommandFailed as error:
        tell("warning", f"drain hook: {error.message}")


def _starters(supervisor: Supervisor, serving: Serving) -> list[str]:
    """Timers, sockets and the like that start a service by themselves."""
    if supervisor.name != "systemd" or serving.kind == "release":
        return []
    return show(serving.name)["TriggeredBy"].split()
