"""What people read: both byte units, times without arithmetic."""

import pytest

from modelpivot.cli.output import in_time
from modelpivot.models.size import say_bytes


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB (1.0 KiB)"),
        (1_000_000, "1.0 MB (976.6 KiB)"),
        (540_000_000_000, "540.0 GB (502.9 GiB)"),
        (1_700_000_000_000, "1.7 TB (1.5 TiB)"),
    ],
)
def test_bytes_are_told_in_both_units(count: int, words: str) -> None:
    """One model is 540, 550 or 590 in different mouths (W10): both units stand side by side."""
    assert say_bytes(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (7_500, "2 h 05 min")]
)
def test_times_are_told_as_people_say_them(seconds: float, words: str) -> None:
    """Seconds below a minute, then minutes, then hours."""
    assert in_time(seconds) == words
