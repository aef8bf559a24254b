"""What stands in the way of a demo is said before anything is touched, all of it at once."""

from pathlib import Path

import pytest

from modelpivot.demo.clearing import read_health, require_clear_way
from modelpivot.demo.places import DemoPlaces
from modelpivot.errors import PreconditionError
from modelpivot.mirror.server import Mirror
from modelpivot.models.frozen import Unread

NO_ROOM = Path("/proc/demo")
"""A file system without a free byte, on every Linux."""
NOBODY = "http://127.0.0.1:9/api"


def test_every_blocker_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No room and a dead API: one refusal names both, each with its remedy, and makes nothing."""
    monkeypatch.setenv("PREFECT_API_URL", NOBODY)
    with pytest.raises(PreconditionError) as refused:
        require_clear_way(DemoPlaces(NO_ROOM))
    for words in ("DISK_FULL", "MODELPIVOT_DEMO_DIR", "PREFECT_AWAY", NOBODY, "unset PREFECT_API_URL"):
        assert words in refused.value.message


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's folder cannot be made: refused with its path."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    (tmp_path / "demo").touch()
    with pytest.raises(PreconditionError, match=str(tmp_path / "demo")):
        require_clear_way(DemoPlaces(tmp_path / "demo"))


def test_a_stranger_that_answers_is_no_api(tmp_path: Path) -> None:
    """A server that knows no /health is not taken for Prefect."""
    stranger = Mirror(tmp_path).start()
    try:
        assert isinstance(read_health(f"{stranger.base_url}/api"), Unread)
    finally:
        stranger.stop()
