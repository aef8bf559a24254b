"""Bring a release up: started, ready, probed, put back into its load balancer. Called by the switch, on both ways."""

import contextlib

from modelpivot.errors import SwitchFailed
from modelpivot.facts.start_log import read_start_log
from modelpivot.files import write_atomic
from modelpivot.models.release import Release
from modelpivot.stages.drain import undrain
from modelpivot.stages.hand import Hand
from modelpivot.stages.probe import probe
from modelpivot.stages.serve import serve, wait_until_ready
from modelpivot.stages.stop import prove_free

EARLY = ("starting", "configuring", "engine")
"""Phases of a start before any weights are loaded."""
PORT_TAKEN = "ddress already in use"


def bring_up(hand: Hand, release: Release) -> None:
    """Until it answers as it should. An engine that dies early behind its gate is started once more, plain: that costs seconds, not a load."""
    hand.enter("starting")
    is_gated = serve(hand, release)
    try:
        _prove(hand, release)
    except SwitchFailed as error:
        _blame_gate(hand, release, error, is_gated=is_gated)
        if not (is_gated and _is_dead_early(hand, release)):
            raise
        _make_place_again(hand, release, error)
        bring_up(hand, release)
    else:
        undrain(hand, release)


def _prove(hand: Hand, release: Release) -> None:
    hand.enter("readying")
    wait_until_ready(hand, release)
    hand.enter("probing")
    probe(hand, release)


def _blame_gate(hand: Hand, release: Release, error: SwitchFailed, *, is_gated: bool) -> None:
    """What failed behind its gate is only started plain from now on, until it fails so too. Not what found a port taken: at its gate an engine has
    chosen ports of its own that it binds behind, and somebody may come in between once."""
    if any(PORT_TAKEN in line for line in error.cause):
        return
    plain = hand.state.release(release.id).plain
    with contextlib.suppress(OSError):  # a full disk must not hide why it failed
        if is_gated:
            write_atomic(plain, f"behind its gate it failed: {error.message}\n")
        else:
            plain.unlink(missing_ok=True)


def _is_dead_early(hand: Hand, release: Release) -> bool:
    is_dead = hand.supervisor.status(release).state != "running"
    return is_dead and read_start_log(hand.supervisor.log_path(release)).word in EARLY


def _make_place_again(hand: Hand, release: Release, error: SwitchFailed) -> None:
    hand.tell("serve", "warning", f"behind its gate: {error.message}; started once more, plain", release=release.id)
    hand.supervisor.stop(release, timeout_s=release.deadlines.stop_s)
    prove_free(hand, None, release)
