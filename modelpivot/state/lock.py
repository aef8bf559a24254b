"""One lock per host: who may change it. Held by pid, start time and boot id; taken over only when the holder is provably gone.

The lock is a file, not a held descriptor, since it goes from the run to the switch, which is no child of the run.
`token` is the right to take it over: the run writes it into the intent, the switch shows it.
"""

import secrets

from modelpivot.errors import HostHeld
from modelpivot.files import guarded, read_model, write_model
from modelpivot.host import is_alive, own_process_id
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.state.paths import StatePaths


class Lock(Frozen):
    """The lock as it stands on disk."""

    holder: ProcessId
    token: str
    run_id: str
    what: str
    """What the holder does, for a person: `run 2026...`, `switch to ...`."""


def read_lock(state: StatePaths) -> Lock | None:
    """The lock; None when nobody holds it (a holder that is gone counts as nobody)."""
    lock = read_model(state.lock, Lock)
    return lock if lock and is_alive(lock.holder) else None


def acquire_lock(state: StatePaths, *, run_id: str, what: str) -> Lock:
    """Hold the host for this process. HostHeld says who holds it. Nothing to do when this process holds it already."""
    with guarded(state.guard):
        held, me = read_lock(state), own_process_id()
        if held and held.holder != me:
            raise HostHeld(
                f"this host is held by {held.what} (process {held.holder.pid})",
                hint="wait for it (modelpivot watch), or end it; nothing was changed",
            )
        lock = held or Lock(holder=me, token=secrets.token_hex(16), run_id=run_id, what=what)
        write_model(state.lock, lock)
        return lock


def take_over_lock(state: StatePaths, *, token: str, run_id: str, what: str) -> Lock:
    """Hold the host by showing its token: the switch, and who resumes it. HostHeld when somebody else holds it by now."""
    with guarded(state.guard):
        held, me = read_model(state.lock, Lock), own_process_id()
        if held and held.token != token and is_alive(held.holder):
            raise HostHeld(f"this host is held by {held.what} (process {held.holder.pid}) by now", hint="nothing was changed")
        lock = Lock(holder=me, token=token, run_id=run_id, what=what)
        write_model(state.lock, lock)
        return lock


def release_lock(state: StatePaths) -> None:
    """Let go of the lock if this process holds it; nothing to do otherwise (it went to the switch)."""
    with guarded(state.guard):
        held = read_model(state.lock, Lock)
        if held and held.holder == own_process_id():
            state.lock.unlink()
