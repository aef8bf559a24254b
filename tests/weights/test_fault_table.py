"""The table of faults in docs/weights.md: every fault of the byte path has its row, and every test that it names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(r"^\| ([DW]\d+) .*? \| (.+) \|$", (ROOT / "docs" / "weights.md").read_text(), re.M)
FAULTS = [f"D{number}" for number in range(1, 14)] + [f"W{number}" for number in (1, 2, 3, 4, 5, 6, 9, 10)]


def test_every_fault_has_its_row() -> None:
    """D1 to D13, W1 to W6, W9 and W10, once each."""
    assert [fault for fault, _ in ROWS] == FAULTS


@pytest.mark.parametrize(("fault", "tests"), ROWS)
def test_named_tests_are_there(fault: str, tests: str) -> None:
    """A test that was renamed or removed leaves no fault without one."""
    names = re.findall(r"`(\S+)::(\w+)`", tests)
    assert names, fault
    for module, name in names:
        path = ROOT / "tests" / (f"{module}.py" if "/" in module else f"weights/{module}.py")
        assert f"def {name}(" in path.read_text(), (fault, name)
