"""An installed package as a wheel again: the files that its RECORD names, each held against its digest on the way.

helper/__init__.py,sha256=...,12        -> as it is
../../../bin/helper,sha256=...,210      -> left out where an entry point makes it again, else helper-1.0.data/scripts/helper
../../../share/man/helper.1,...         -> helper-1.0.data/data/share/man/helper.1
"""

import base64
import configparser
import csv
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from modelpivot.errors import IntegrityError
from modelpivot.facts.records import decode_digest

PREFIX = "../../../"
BY_INSTALLERS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json", "uv_build.json")
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
BLOCK_BYTES = 1 << 20


class Packed(NamedTuple):
    """One wheel."""

    pin: str
    """`name==version`."""
    path: Path


class Member(NamedTuple):
    """One file of a wheel."""

    source: Path
    name: str
    """In the wheel."""
    digest: str
    """sha256 in hexadecimal as RECORD has it; empty: RECORD has none."""


def pack_wheel(site: Path, info: Path, folder: Path) -> Packed:
    """Write the wheel; uncompressed, since it is read once and libraries do not shrink much. IntegrityError names a file that differs."""
    stem = info.name.removesuffix(".dist-info")
    name, _, version = stem.partition("-")
    path = folder / f"{stem}-{_tag(info, site)}.whl"
    record = []
    with zipfile.ZipFile(path, "w") as wheel:
        for member in members(site, info):
            digest, size = _add(wheel, member, site)
            record.append(f"{_quoted(member.name)},sha256={digest},{size}")
        wheel.writestr(zipfile.ZipInfo(f"{info.name}/RECORD", FIXED_TIME), "\n".join([*record, f"{info.name}/RECORD,,", ""]))
    return Packed(f"{name.replace('_', '-')}=={version}", path)


def members(site: Path, info: Path) -> Iterator[Member]:
    """What of the RECORD belongs into the wheel."""
    data, scripts = info.name.replace(".dist-info", ".data"), _entry_points(info)
    with (info / "RECORD").open(newline="") as file:
        for row in csv.reader(file):
            name = _wheel_name(row[0], info.name, data, scripts) if row else ""
            if name:
                kind, _, code = row[1].partition("=")
                yield Member(site / row[0], name, decode_digest(code) if kind == "sha256" else "")


def _wheel_name(recorded: str, info: str, data: str, scripts: frozenset[str]) -> str:
    """The name in the wheel; empty: whoever installs makes it anew."""
    if recorded.endswith(".pyc") or recorded in {f"{info}/{name}" for name in BY_INSTALLERS}:
        return ""
    if not recorded.startswith(PREFIX):
        return recorded
    place = recorded.removeprefix(PREFIX)
    if not place.startswith("bin/"):
        return f"{data}/data/{place}"
    script = place.removeprefix("bin/")
    return "" if script in scripts else f"{data}/scripts/{script}"


def _entry_points(info: Path) -> frozenset[str]:
    """Commands that installers make from entry_points.txt."""
    parser = configparser.RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    path = info / "entry_points.txt"
    parser.read_string(path.read_text() if path.exists() else "")
    return frozenset(name for part in ("console_scripts", "gui_scripts") if parser.has_section(part) for name in parser.options(part))


def _tag(info: Path, site: Path) -> str:
    """Pure Python fits everywhere; compiled parts fit this interpreter's version and this kind of machine."""
    is_pure = "Root-Is-Purelib: true" in (info / "WHEEL").read_text()
    short = site.parent.name.removeprefix("python").replace(".", "")
    return "py3-none-any" if is_pure else f"cp{short}-cp{short}-{sys.platform}_{_machine()}"


def _machine() -> str:
    import platform

    return platform.machine()


def _add(wheel: zipfile.ZipFile, member: Member, site: Path) -> tuple[str, int]:
    """Copy one file in; its digest as RECORD writes it, and its size."""
    if "/scripts/" in member.name and (script := _portable_script(member.source)):
        wheel.writestr(_entry(member), script)
        return _code(hashlib.sha256(script)), len(script)
    digest, size = hashlib.sha256(), 0
    with member.source.open("rb") as source, wheel.open(_entry(member), "w", force_zip64=True) as target:
        while block := source.read(BLOCK_BYTES):
            digest.update(block)
            target.write(block)
            size += len(block)
    if member.digest and digest.hexdigest() != member.digest:
        found = f"expected sha256 {member.digest}, found {digest.hexdigest()}"
        raise IntegrityError(f"{member.source}: {found}", hint="the environment was changed in place: install it again, then export")
    return _code(digest), size


def _portable_script(path: Path) -> bytes | None:
    """A Python script with its interpreter's path taken out, as wheels have it; None: it is none."""
    content = path.read_bytes()
    first, _, rest = content.partition(b"\n")
    return b"#!python\n" + rest if first.startswith(b"#!") and b"python" in first else None


def _entry(member: Member) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(member.name, FIXED_TIME)
    entry.external_attr = (member.source.stat().st_mode & 0o777 | 0o100000) << 16
    return entry


def _code(digest: "hashlib._Hash") -> str:
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def _quoted(name: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([name])
    return out.getvalue()
