"""One lock per host: who may change it. Held by pid, start time and boot id; taken over only when the holder is provably gone.

The lock is a file, not a held descriptor, since it goes from the run to the switch, which is no child of the run.
`token` is the right to take it over: the run writes it into the intent, the switch shows it.
"""

import secrets

from modelpivot.errors import HostHeld
from modelpivot.files import guarded, read_model, write_model
from modelpivot.host import is_alive, own_process_id
from modelpivot.models.cutover import UNTOUCHED, Cutover, ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.state.cutovers import read_cutover
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


def acquire_lock(state: StatePaths, *, run_id: str, what: str, is_recovering: bool = False) -> Lock:
    """Hold the host for this process. HostHeld says who holds it. Nothing to do when this process holds it already.

    A switch that died after it touched what serves keeps the host for the process that takes it back; only who recovers it may hold it before.
    """
    with guarded(state.guard):
        held, me = read_lock(state), own_process_id()
        if not is_recovering:
            _refuse_half_done(read_cutover(state), held)
        if held and held.holder != me:
            raise HostHeld(
                f"this host is held by {held.what} (process {held.holder.pid})",
                hint="wait for it (modelpivot watch), or end it; nothing was changed",
            )
        lock = held or Lock(holder=me, token=secrets.token_hex(16), run_id=run_id, what=what)
        write_model(state.lock, lock)
        return lock


def _refuse_half_done(cutover: Cutover | None, held: Lock | None) -> None:
    if cutover and cutover.phase not in UNTOUCHED and not (held and held.token == cutover.lock_token):
        raise HostHeld(
            f"the switch from {cutover.from_release or 'nothing'} to {cutover.to_release} died in phase {cutover.phase} and is to be taken back first",
            hint="wait for it (modelpivot watch); `modelpivot recover` takes it back where nobody does; nothing was changed",
        )


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
