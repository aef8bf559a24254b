"""Install and download in processes of their own: side by side, each ending with its group when the run ends.

    runs/<id>/children/<name>.pid    the process, while it runs
    runs/<id>/children/<name>.json   how it ended: its error, or none
    runs/<id>/logs/<name>.log        its full output

Runs when a flow stages a candidate; needs the run's plan on disk.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from modelpivot.errors import CommandFailed, PivotError, PreconditionError
from modelpivot.files import read_model, write_model
from modelpivot.host import LAST_LINES, kill_group, read_process_id
from modelpivot.lifeline import Child, end_with_parent
from modelpivot.models.event import Event
from modelpivot.models.frozen import Frozen
from modelpivot.models.plan import Plan
from modelpivot.models.spelled import plain
from modelpivot.settings import read_host_config, to_environment
from modelpivot.stages.context import Context, join_context
from modelpivot.stages.error_record import ErrorRecord, rebuild_error, record_error
from modelpivot.state.paths import RunPaths
from modelpivot.state.runs import follow_events, read_events
from modelpivot.supervisors.staging import staging_words
from modelpivot.waiting import WaitedTooLong, wait_for

ChildName = Literal["install", "fetch"]
Listen = Callable[[Event], None]

STAGES: Mapping[ChildName, str] = {"install": "install", "fetch": "download"}
"""The name under which each child's stage tells its events."""

PROJECT = Path(__file__).resolve().parents[2]


class ChildEnd(Frozen):
    """How a child ended; `error` None: it did its work."""

    error: ErrorRecord | None = None


def run_child(context: Context, name: ChildName, listen: Listen) -> None:
    """Run the stage in a child and hand every event of it to `listen`, on this thread.

    The child's own error is raised again in its class; CommandFailed when it ended without a word. Whatever ends this call early ends
    the child and its group.
    """
    end_file = _end_path(context.run, name)
    end_file.unlink(missing_ok=True)
    _, offset = read_events(context.run)
    with _started(context, name) as child:
        for event in follow_events(context.run, lambda: child.poll() is not None, offset=offset):
            if event.stage == STAGES[name]:
                listen(event)
        returncode = child.poll()
    end = read_model(end_file, ChildEnd)
    if end is None:
        silent = _ended_without_a_word(context.run, name, returncode)
        context.journal.stage(STAGES[name])("failed", silent.message)
        raise silent
    if end.error:
        raise rebuild_error(end.error)


def child_main(stage: ChildName, run_id: str) -> int:
    """What the child does: end with its parent, read the run's plan, call the stage. Returns its exit code; the error goes to disk."""
    signal.signal(signal.SIGTERM, _end_by_exception)
    end_with_parent()
    context = join_context(read_host_config(), run_id)
    try:
        _call_stage(context, stage)
        end, code = ChildEnd(), 0
    except PivotError as error:
        end, code = ChildEnd(error=record_error(error)), error.exit_code
        context.journal.stage(STAGES[stage])("failed", error.message)
        sys.stderr.write(plain(f"{error}\n"))
    write_model(_end_path(context.run, stage), end)
    return code


def end_children(run: RunPaths, *, grace_s: float = 5.0) -> None:
    """End the children that other threads of this process follow for this run, and start no more of them; SIGKILL after `grace_s`."""
    _ENDED.add(run.root)
    children = [child for (root, _), child in list(_RUNNING.items()) if root == run.root]
    for child in children:
        kill_group(child.pid, signal.SIGTERM)
    try:
        wait_for(
            lambda: sum(child.poll() is None for child in children), _none_left, what="children end", deadline_s=grace_s, interval_s=0.05
        )
    except WaitedTooLong:
        for child in children:
            kill_group(child.pid)


def _none_left(living: int, _waited_s: float) -> bool | None:
    return True if living == 0 else None


_RUNNING: dict[tuple[Path, ChildName], Child] = {}
"""Children of this process, so that the flow's main thread can end those which its task threads follow."""

_ENDED: set[Path] = set()
"""Runs whose children were ended: a task thread that was about to start one does not."""


@contextmanager
def _started(context: Context, name: ChildName) -> Iterator[Child]:
    log = context.run.log(name)
    child = Child(_words(context, name), env=_environment(context), log=log)
    key = (context.run.root, name)
    try:
        _RUNNING[key] = child
        if context.run.root in _ENDED:
            raise CommandFailed(f"{STAGES[name]} does not start: the run is ending", argv=("child", name))
        if process := read_process_id(child.pid):
            write_model(_pid_path(context.run, name), process)
        yield child
    finally:
        _RUNNING.pop(key, None)
        child.end()
        _pid_path(context.run, name).unlink(missing_ok=True)


def _words(context: Context, name: ChildName) -> list[str]:
    """The child's command; where systemd supervises, in the slice that leaves the serving model its share."""
    words = [sys.executable, "-m", "modelpivot.cli.internal", "child", name, "--run", context.run.id]
    return words if context.host.supervisor == "process" else staging_words(words)


def _environment(context: Context) -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(PROJECT), *([inherited] if inherited else [])])
    return {**os.environ, **to_environment(context.host), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def _call_stage(context: Context, stage: ChildName) -> None:
    from modelpivot.stages.fetch import fetch
    from modelpivot.stages.install import install

    plan = read_model(context.run.plan, Plan)
    if plan is None:
        raise PreconditionError(f"run {context.run.id} has no plan", hint="children are started by a run, after its plan is made")
    if stage == "install":
        install(context, plan)
    else:
        fetch(context, plan)


def _ended_without_a_word(run: RunPaths, name: ChildName, returncode: int | None) -> CommandFailed:
    log = run.log(name)
    lines = tuple(log.read_text(errors="replace").splitlines()[-LAST_LINES:]) if log.exists() else ()
    how = (
        "was ended" if returncode is None else f"ended by signal {-returncode}" if returncode < 0 else f"ended with exit code {returncode}"
    )
    said = f": {lines[-1]}" if lines else ""
    hint = f"its whole output: {log}; what it did stays, the next run goes on from there"
    return CommandFailed(
        f"{STAGES[name]} {how} without a result{said}", argv=("child", name), returncode=returncode, last_lines=lines, hint=hint
    )


def _end_path(run: RunPaths, name: ChildName) -> Path:
    return run.root / "children" / f"{name}.json"


def _pid_path(run: RunPaths, name: ChildName) -> Path:
    return run.root / "children" / f"{name}.pid"


def _end_by_exception(_number: int, _frame: object) -> None:
    """SIGTERM unwinds the stack, so that commands in groups of their own (uv) are ended too."""
    raise SystemExit(128 + signal.SIGTERM)
