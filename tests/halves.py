"""`python -m tests.halves`: all tests but the long ones, in two processes beside each other. Those with real engines and Prefect servers mostly wait.

What the first half does is shown as it goes, the second half's when it has ended. The exit code is 0 when both halves' are.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.ports import HALF

SERVICES = "engine or (prefect and not up)"
"""Marks of the first half: the cache of engine environments and the demo's folder are nobody else's, and both halves take about as long."""
ALL = "not long"


def main(words: Sequence[str]) -> int:
    """Run both halves with these further words of pytest; one after the other on a machine with a single core."""
    if (os.cpu_count() or 1) < 2:
        return subprocess.call(command(ALL, words))
    first, second = ({**os.environ, HALF: number} for number in "01")
    with tempfile.TemporaryFile() as told:
        rest = subprocess.Popen(command(f"{ALL} and not ({SERVICES})", words), env=second, stdout=told, stderr=subprocess.STDOUT)
        try:
            code = subprocess.call(command(f"{ALL} and ({SERVICES})", words), env=first)
        finally:  # Ctrl-C has reached it too: it ends with what it had
            beside = rest.wait()
            told.seek(0)
            sys.stdout.write(f"\n{told.read().decode(errors='replace')}")
    return max(abs(code), abs(beside))


def command(chosen: str, words: Sequence[str]) -> list[str]:
    """One half's command."""
    return [sys.executable, "-m", "pytest", "-m", chosen, *words]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
