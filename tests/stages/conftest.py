"""What the tests of stages share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.switching import SwitchHost


@pytest.fixture
def switch_host(tmp_path: Path) -> Iterator[SwitchHost]:
    """A host with stand-in engines, all ended afterwards."""
    host = SwitchHost(tmp_path)
    yield host
    host.clean_up()
