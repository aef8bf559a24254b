"""The open switch on disk. The intent is there before the first stop; the switch alone rewrites it; anybody may ask a decision of it."""

import time

from modelpivot.errors import HostHeld, PreconditionError, UsageError
from modelpivot.files import guarded, read_model, sync_directory, write_model
from modelpivot.host import is_alive, own_process_id
from modelpivot.models.cutover import Cutover, Decision, ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.state.paths import StatePaths


def read_cutover(state: StatePaths) -> Cutover | None:
    """The open switch; None: none is open."""
    return read_model(state.cutover, Cutover)


def read_cutover_of_run(state: StatePaths, run_id: str) -> Cutover | None:
    """The switch of a run, open or closed; None: it never came to one."""
    open_cutover = read_cutover(state)
    if open_cutover and open_cutover.run_id == run_id:
        return open_cutover
    return read_model(state.run(run_id).cutover, Cutover)


def write_intent(state: StatePaths, cutover: Cutover) -> None:
    """Put the intent on disk, synced. HostHeld when another switch is open."""
    with guarded(state.guard):
        if (other := read_cutover(state)) and other.id != cutover.id:
            raise HostHeld(
                f"a switch from {other.from_release} to {other.to_release} is open ({other.phase})",
                hint="modelpivot status tells what it waits for",
            )
        state.decision.unlink(missing_ok=True)
        write_model(state.cutover, cutover)


def write_cutover(state: StatePaths, cutover: Cutover) -> None:
    """Rewrite the open switch; only the switch calls this."""
    write_model(state.cutover, cutover)


def close_cutover(state: StatePaths, cutover: Cutover) -> None:
    """Move the switch, with its outcome, to its run; afterwards none is open."""
    write_model(state.run(cutover.run_id).cutover, cutover)
    state.cutover.unlink(missing_ok=True)
    sync_directory(state.cutover.parent)
    state.decision.unlink(missing_ok=True)
    state.attached.unlink(missing_ok=True)


def finish_closing(state: StatePaths) -> None:
    """Close what its run's folder holds as closed already: the machine, or the process, went down between the two. Nothing to do without such."""
    cutover = read_cutover(state)
    closed = read_model(state.run(cutover.run_id).cutover, Cutover) if cutover else None
    if cutover and closed and closed.id == cutover.id and closed.phase == "closed":
        close_cutover(state, closed)


def ask_decision(state: StatePaths, decision: str, *, reason: str, release: str | None = None) -> Decision:
    """Ask the open switch to promote, to return, or a trial to try another release. PreconditionError when none is open."""
    cutover = read_cutover(state)
    if cutover is None:
        raise PreconditionError("no switch is open on this host", hint="modelpivot status tells what serves")
    asked = Decision.model_validate(
        {"cutover_id": cutover.id, "decision": decision, "release": release, "reason": reason, "at": time.time()}
    )
    write_model(state.decision, asked)
    return asked


def forget_decision(state: StatePaths) -> None:
    """What was asked is done; only the switch calls this."""
    state.decision.unlink(missing_ok=True)


def read_decision(state: StatePaths, cutover_id: str) -> Decision | None:
    """What was asked of this switch; None: nothing yet, or nothing that can be understood."""
    try:
        decision = read_model(state.decision, Decision)
    except UsageError:
        return None
    return decision if decision and decision.cutover_id == cutover_id else None


class Attached(Frozen):
    """Which run follows the open switch."""

    run_id: str
    owner: ProcessId


def attach_run(state: StatePaths, run_id: str) -> None:
    """Follow the open switch as its one run. HostHeld when a living run does so already."""
    with guarded(state.guard):
        attached, me = read_model(state.attached, Attached), own_process_id()
        if attached and attached.owner != me and is_alive(attached.owner):
            raise HostHeld(
                f"run {attached.run_id} (process {attached.owner.pid}) carries the open switch", hint="wait for it (modelpivot watch)"
            )
        write_model(state.attached, Attached(run_id=run_id, owner=me))


def is_followed(state: StatePaths) -> bool:
    """Whether the run that followed the last switch lives."""
    attached = read_model(state.attached, Attached)
    return attached is not None and is_alive(attached.owner)


def read_cutover_followed_by(state: StatePaths, run_id: str) -> Cutover | None:
    """The open switch if it is this run's: begun by it, or taken up by it; None otherwise."""
    cutover, attached = read_cutover(state), read_model(state.attached, Attached)
    if cutover and run_id in (cutover.run_id, attached.run_id if attached else None):
        return cutover
    return None
