"""Server and worker as processes that outlive the command, each known by number and start time, even when the command died while starting it.

The child writes down who it is before it becomes the server: there is no moment in which it runs and nobody knows. Until then it holds the lock
that `up` held, so that a `down` waits for its word.
"""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from modelpivot.files import read_model, write_model
from modelpivot.host import is_alive, kill_group, own_process_id
from modelpivot.models.cutover import ProcessId
from modelpivot.up.places import Role, UpPlaces
from modelpivot.waiting import WaitedTooLong, wait_for

GRACE_S: dict[Role, float] = {"worker": 30.0, "server": 15.0}


@contextmanager
def alone(places: UpPlaces) -> Iterator[None]:
    """One up or down at a time; waits for another one. A child that is not yet what it shall be holds it too."""
    places.root.mkdir(parents=True, exist_ok=True)
    handle = os.open(places.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_process(places: UpPlaces, role: Role) -> ProcessId | None:
    """The living process of ours in this role."""
    process = read_model(places.process(role), ProcessId)
    return process if process and is_alive(process) else None


def start(places: UpPlaces, role: Role, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> ProcessId:
    """Start it detached, its output at the end of its log; to be called under `alone`."""
    with open(os.open(places.log(role), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as output:  # noqa: PTH123 - with its mode
        subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=partial(_write_down, places.process(role)),
        )
    process = read_model(places.process(role), ProcessId)
    assert process is not None
    return process


def _write_down(record: Path) -> None:
    write_model(record, own_process_id(), mode=0o600)


def end(places: UpPlaces, role: Role) -> ProcessId | None:
    """SIGTERM to its group, SIGKILL when it lives on; which one it was. None: nothing of ours was there."""
    process = read_process(places, role)
    if process:
        kill_group(process.pid, signal.SIGTERM)
        try:
            wait_for(
                partial(is_alive, process), lambda alive, _: None if alive else True, what=f"the {role}'s end", deadline_s=GRACE_S[role]
            )
        except WaitedTooLong:
            kill_group(process.pid)
    places.process(role).unlink(missing_ok=True)
    return process
