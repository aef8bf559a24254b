"""Take a release out of its load balancer and put one in, by the release's own hooks. Called by the switch; a hook that fails is a warning."""

import os
from collections.abc import Sequence

from modelpivot.errors import CommandFailed, SwitchFailed
from modelpivot.lifeline import Child
from modelpivot.models.release import Release
from modelpivot.stages.hand import Hand


def drain(hand: Hand, release: Release) -> None:
    """Run the drain hooks, `drain_s` seconds for all; nothing to do without any."""
    _run_hooks(hand, "drain", release, release.hooks.drain)


def undrain(hand: Hand, release: Release) -> None:
    """Run the undrain hooks, `drain_s` seconds for all; nothing to do without any."""
    _run_hooks(hand, "undrain", release, release.hooks.undrain)


def _run_hooks(hand: Hand, name: str, release: Release, lines: Sequence[str]) -> None:
    if not lines:
        hand.tell(name, "nothing_to_do", release=release.id)
        return
    with hand.step(name, release):
        try:
            _run_hook(hand, name, release, "\n".join(["set -euo pipefail", *lines]))
        except (CommandFailed, SwitchFailed) as error:
            hand.tell(name, "warning", f"{name} hook: {error.message}; the switch goes on", release=release.id)


def _run_hook(hand: Hand, name: str, release: Release, script: str) -> None:
    environment = os.environ | {"MODELPIVOT_RELEASE": release.id, "MODELPIVOT_BASE_URL": release.endpoint.base_url}
    log = hand.state.run(hand.cutover.run_id).log(name)
    try:
        child = Child(["bash", "-c", script], env=environment, log=log)
    except OSError as error:
        raise CommandFailed(f"bash does not start: {error.strerror}", hint="install bash") from error
    try:
        code: int = hand.wait(child.poll, _is_over, step=name, what=f"{name} hook", deadline_s=release.deadlines.drain_s, interval_s=0.05)
    finally:
        child.end()
    if code:
        raise CommandFailed(f"exit code {code} (output in {log})", returncode=code)


def _is_over(code: int | None, waited_s: float) -> int | None:
    return code
