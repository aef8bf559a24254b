"""What is said when nothing serves."""

import time
from pathlib import Path

from modelpivot.benchmark.client import Client
from modelpivot.errors import CommandFailed, SwitchFailed
from modelpivot.models.cutover import Cutover
from modelpivot.models.release import Release
from modelpivot.stages.hand import Hand
from modelpivot.stages.wreck import describe_wreck
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.supervisors.protocol import UnitStatus
from tests.switching import DEADLINES, SwitchHost


class Silent(ProcessSupervisor):
    """A fake: a supervisor that knows nothing of one release, and finds no log of any."""

    def status(self, release: Release) -> UnitStatus:
        if release.id == "old":
            raise CommandFailed("systemctl show: still running after 60 s, killed")
        return super().status(release)

    def log_path(self, release: Release) -> Path:
        raise OSError("the disk is gone")


def test_what_cannot_be_read_is_said_to_be_so(switch_host: SwitchHost) -> None:
    """The rest is said all the same: a switch is closed with words, whatever is wrong with the host."""
    old, new = switch_host.release("old"), switch_host.release("new")
    cutover = Cutover(
        id="one", run_id="run", from_release="old", to_release="new", deadlines=DEADLINES, lock_token="t", created_at=time.time()
    )
    hand = Hand(switch_host.state, cutover, Silent(switch_host.state), Client([]))
    said = describe_wreck(hand, old, new, SwitchFailed("it answers garbage"), ["the port is held"])
    assert "it answers garbage; the way back failed: the port is held" in said
    assert "old is unknown (systemctl show: still running after 60 s, killed), log unknown (the disk is gone)" in said
    assert "new is stopped" in said and "modelpivot recover" in said
