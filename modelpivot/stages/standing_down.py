"""What serves, stopped because somebody asked for it by name, so that nothing starts it again but a person's word; and started again by that.

Written down before the first signal: whoever looks at the host later knows that nothing serves on purpose, and what to start.
"""

import os
import time
from pathlib import Path

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.host import run_command
from modelpivot.models.cleanup import Serving
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Endpoint, Release, StartSpec, Stopped
from modelpivot.stages.context import Context
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.stages.told import told
from modelpivot.state.releases import read_book, read_release, record_stopped
from modelpivot.state.runs import Journal
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.supervisors.protocol import Supervisor
from modelpivot.supervisors.systemctl import show


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
    """What was stopped by name serves again. The closed switch; None: it was a service that was not made by us, or it runs already.

    PreconditionError when nothing was stopped by name, or its parts were reclaimed since.
    """
    stopped = read_book(context.state).stopped
    if stopped is None:
        raise PreconditionError("nothing was stopped by name on this host", hint="modelpivot status tells what serves")
    supervisor = choose_supervisor(context.host, context.state)
    if not stopped.is_release:
        _start_service(context, supervisor, stopped)
        return None
    release = read_release(context.state, stopped.name)
    if supervisor.status(release).state == "running":
        supervisor.enable(release)
        record_stopped(context.state, None)
        return None
    missing = [str(path) for path in (release.environment_dir, release.view_dir, release.weights_dir) if not path.exists()]
    if missing:
        raise PreconditionError(
            f"{release.id} is no longer whole: {', '.join(missing)} is gone", hint="run its recipe again: modelpivot run brings it back"
        )
    return follow_switch(context, start_switch(context, to=release, frm=None, confirm="automatic"), until=is_closed)


def say_stopped(stopped: Stopped) -> str:
    """For a person: what does not serve on purpose, since when, and what starts it."""
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(stopped.at))
    return f"{stopped.name} was stopped by name at {since} (modelpivot cleanup): `modelpivot recover` starts it again"


def _start_service(context: Context, supervisor: Supervisor, stopped: Stopped) -> None:
    with told(context.journal, "serve", stopped.name) as (_, ending):
        release = foreign_release(stopped.name)
        if stopped.was_enabled:
            supervisor.enable(release)
        supervisor.start(release)
        record_stopped(context.state, None)
        ending.finish(f"{stopped.name} is started again; modelpivot does not know whether it answers")


def _release_of(context: Context, supervisor: Supervisor, serving: Serving) -> Release:
    if serving.kind == "release":
        return read_release(context.state, serving.name)
    if supervisor.name != "systemd":
        raise PreconditionError(
            f"{serving.name} is a systemd service, and this host is configured for the process supervisor",
            hint="run it as root under systemd",
        )
    return foreign_release(serving.name)


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
