"""Files of an environment against the RECORD of each package: `vllm/_C.abi3.so,sha256=9XpV...,48210640`. Hashes everything (1.7 GB a CPU-second)."""

import base64
import binascii
import csv
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from modelpivot.files import hash_file

THREADS = 4


class Recorded(NamedTuple):
    """One file as a RECORD names it."""

    path: Path
    kind: str
    digest: str
    """Hexadecimal."""


def find_site_packages(environment: Path) -> Path | None:
    """`lib/python3.x/site-packages` of a virtual environment; None when it has none."""
    return next(iter(sorted(environment.glob("lib/python3*/site-packages"))), None)


def read_recorded(site: Path) -> Iterator[Recorded]:
    """Every file with a digest in any RECORD below `site`."""
    for record in sorted(site.glob("*.dist-info/RECORD")):
        with record.open(newline="") as file:
            yield from parse_record(site, file)


def parse_record(site: Path, lines: Iterable[str]) -> Iterator[Recorded]:
    """Rows without a digest (RECORD itself, compiled Python) are passed over."""
    for row in csv.reader(lines):
        kind, _, code = row[1].partition("=") if len(row) > 1 else ("", "", "")
        if code:
            yield Recorded(site / row[0], kind, decode_digest(code))


def decode_digest(code: str) -> str:
    """RECORD's base64 without padding as hexadecimal; what is no base64 equals no digest."""
    try:
        return base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)).hex()
    except binascii.Error:
        return code


def find_altered(environment: Path) -> list[str]:
    """Files that are missing or differ from their RECORD, one sentence each; empty: all are as installed."""
    site = find_site_packages(environment)
    if site is None:
        return [f"{environment}: no site-packages"]
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(_judge, read_recorded(site))
        return [sentence for sentence in found if sentence]


def find_altered_packages(environment: Path) -> list[str]:
    """Packages of which a file is missing or differs from its RECORD, by name."""
    site = find_site_packages(environment)
    infos = sorted(site.glob("*.dist-info/RECORD")) if site else []
    return [record.parent.name.partition("-")[0] for record in infos if site and _is_altered(site, record)]


def _is_altered(site: Path, record: Path) -> bool:
    with record.open(newline="") as file, ThreadPoolExecutor(THREADS) as pool:
        return any(pool.map(_judge, list(parse_record(site, file))))


def _judge(recorded: Recorded) -> str:
    try:
        digest = hash_file(recorded.path, recorded.kind)
    except (OSError, ValueError) as error:
        return f"{recorded.path.name}: {error}"
    return "" if digest == recorded.digest else f"{recorded.path}: expected {recorded.kind} {recorded.digest}, found {digest}"
