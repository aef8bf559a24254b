"""What people changed in place: files of an environment against the RECORD of their package, and files that no RECORD names.

The quick look takes sizes and times (an installer writes RECORD after the files) and hashes only what differs by them; the full one hashes all.
"""

import csv
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from modelpivot.facts.records import THREADS, Recorded, decode_digest
from modelpivot.files import hash_file, walk

UNRECORDED = (".pyc", ".pyo")
SKIPPED = ("__pycache__",)
LOOSE = ("_virtualenv.py", "_virtualenv.pth", "distutils-precedence.pth")
"""Put there by those who make environments, with no package."""


class Row(NamedTuple):
    """One line of a RECORD with what the file must be."""

    recorded: Recorded
    size: int | None
    recorded_ns: int
    """When the RECORD was written."""


def find_alterations(site: Path, *, is_full: bool) -> list[str]:
    """Names below `site`, sorted: changed, gone (`... (gone)`), or in no RECORD (`... (added)`)."""
    rows, named = read_rows(site)
    suspects = [row for row in rows if is_full or _is_suspect(row)]
    with ThreadPoolExecutor(THREADS) as pool:
        changed = [name for name in pool.map(lambda row: _judge(site, row.recorded), suspects) if name]
    return sorted(changed + [f"{name} (added)" for name in _unrecorded(site, named)])


def read_rows(site: Path) -> tuple[list[Row], set[str]]:
    """Every row with a digest, and every name that any RECORD has."""
    rows, named = [], set()
    for record in site.glob("*.dist-info/RECORD"):
        recorded_ns = record.stat().st_mtime_ns
        with record.open(newline="") as file:
            for name, code, size in _columns(csv.reader(file)):
                named.add(os.path.normpath(name))
                kind, _, digest = code.partition("=")
                if digest:
                    known = Recorded(site / name, kind, decode_digest(digest))
                    rows.append(Row(known, int(size) if size.isdigit() else None, recorded_ns))
    return rows, named


def _columns(lines: Iterator[list[str]]) -> Iterator[tuple[str, str, str]]:
    for row in lines:
        if row:
            yield row[0], row[1] if len(row) > 1 else "", row[2] if len(row) > 2 else ""


def _is_suspect(row: Row) -> bool:
    try:
        found = row.recorded.path.stat()
    except OSError:
        return True
    return found.st_mtime_ns > row.recorded_ns or (row.size is not None and found.st_size != row.size)


def _judge(site: Path, recorded: Recorded) -> str:
    name = os.path.relpath(recorded.path, site)
    try:
        digest = hash_file(recorded.path, recorded.kind)
    except FileNotFoundError:
        return f"{name} (gone)"
    except (OSError, ValueError) as error:
        return f"{name} ({error})"
    return "" if digest == recorded.digest else name


def _unrecorded(site: Path, named: set[str]) -> Iterator[str]:
    """Files in no RECORD; what Python compiled and what belongs to half-known packages (egg-info, no RECORD) is left aside."""
    for folder, folders, files in walk(site):
        relative = os.path.relpath(folder, site)
        folders[:] = [name for name in folders if name not in SKIPPED and not name.endswith((".dist-info", ".egg-info"))]
        for file in files:
            name = file if relative == "." else f"{relative}/{file}"
            if name not in named and not file.endswith(UNRECORDED) and name not in LOOSE:
                yield name
