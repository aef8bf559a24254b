"""Ports for tests. Both halves of `tests/halves.py` choose theirs before they use them, and neither may choose what the other one has chosen."""

import os

from modelpivot.demo import ports

HALF = "TESTS_HALF"
"""0 or 1; unset where all tests run in one process."""
BLOCK = 16
"""Ports that go together: a candidate may be tried beside what serves, on one of the next ports."""


def free_port() -> int:
    """A free loopback port that the other half does not choose meanwhile."""
    half = os.environ.get(HALF)
    while True:
        port = ports.free_port()
        if half is None or port // BLOCK % 2 == int(half):
            return port
