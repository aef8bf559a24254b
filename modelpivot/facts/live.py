"""The environment that serves now, as it lies on disk: packages and what was changed in place. Reads, imports and runs nothing.

transformers-5.1.0.dev0.dist-info/METADATA          Name: transformers / Version: 5.1.0.dev0
transformers-5.1.0.dev0.dist-info/direct_url.json   {"url": "...", "vcs_info": {"vcs": "git", "commit_id": "1f0cf8f0..."}}
"""

import email.parser
from pathlib import Path

from modelpivot.facts.alterations import find_alterations
from modelpivot.facts.records import find_site_packages
from modelpivot.models.frozen import Unread
from modelpivot.models.json_text import read_json
from modelpivot.models.names import canonical
from modelpivot.models.packages import LiveEnvironment, Origin, Package


def read_live(environment: Path, *, is_full: bool = False) -> LiveEnvironment | Unread:
    """Packages and altered files of any virtual environment (about 1 s for vLLM; `is_full` hashes every byte); Unread: it is none."""
    site = find_site_packages(environment)
    if site is None:
        return Unread(unread=f"{environment}: no lib/python3*/site-packages in it")
    try:
        packages = [read_package(info) for info in sorted(site.glob("*.dist-info"))]
        altered = find_alterations(site, is_full=is_full)
    except OSError as error:
        return Unread(unread=f"{error.filename}: {error.strerror}")
    return LiveEnvironment(path=environment, packages=[one for one in packages if one], altered=altered, is_full=is_full)


def read_package(info: Path) -> Package | None:
    """One installed package; None: the folder has no METADATA (a half-removed package)."""
    try:
        head = email.parser.HeaderParser().parsestr((info / "METADATA").read_text(errors="replace"))
    except FileNotFoundError:
        return None
    origin, commit = read_origin(info / "direct_url.json")
    return Package(
        name=canonical(head["Name"] or ""), version=head["Version"] or "", origin=origin, commit=commit, is_hashed=origin == "index"
    )


def read_origin(path: Path) -> tuple[Origin, str]:
    """Where a package came from (PEP 610), and the commit of a git checkout."""
    try:
        direct = read_json(path.read_text())
    except FileNotFoundError:
        return "index", ""
    except ValueError:
        return "address", ""
    if not isinstance(direct, dict):
        return "address", ""
    if isinstance(vcs := direct.get("vcs_info"), dict):
        return "git", str(vcs.get("commit_id", ""))
    return ("folder" if "dir_info" in direct else "address"), ""
