"""What an engine change would change: every package against the live environment, classed, and what the recipe's policy says to it. Pure."""

import re
from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from modelpivot.models.engine import Engine
from modelpivot.models.names import canonical
from modelpivot.models.packages import Answer, ChangeClass, Package, PackageChange, PackagePolicy
from modelpivot.models.recipe import EngineChoice

ABI_PARTNER = re.compile(
    r"torch|torchvision|torchaudio|torchcodec|triton|pytorch-triton.*|flash-attn.*|vllm-flash-attn.*|flashinfer.*|xformers|nvidia-(?!ml-py).*"
    r"|cuda-(bindings|python|pathfinder|tile)|cupy-.*|deep-gemm|deep-ep|apache-tvm-ffi|tvm-ffi|amd-.*|rocm-.*|intel-.*-rt|onednn.*"
)
"""Packages that share a binary interface with the engine's compiled parts."""
COMMIT_IN_VERSION = re.compile(r"\+(?:.*\.)?g[0-9a-f]{7,40}\b")
CALENDAR = 1900
"""A first number from here on is a year: its change is no major one."""
STRICTNESS: dict[Answer, int] = {"pass": 0, "consent": 1, "block": 2}


def find_changes(live: Iterable[Package], coming: Iterable[Package], engine: Engine, choice: EngineChoice) -> list[PackageChange]:
    """Every package that would be another one, the strictest answers first, then by name; none: the environments are alike."""
    before, after = ({package.name: package for package in packages} for packages in (live, coming))
    asked = asked_names(engine, choice)
    changes = [
        _judged(_change(before.get(name), after.get(name), engine, name in asked), choice.policy)
        for name in sorted(before.keys() | after.keys())
        if not _is_same(before.get(name), after.get(name))
    ]
    return sorted(changes, key=lambda change: (-STRICTNESS[change.answer], "engine" not in change.classes, change.name))


def asked_names(engine: Engine, choice: EngineChoice) -> frozenset[str]:
    """Packages that the request names with an exact version, commit or address: their change is not silent. The engine is always one."""
    lines = [line.format(version="0") for line in (*choice.requirements, *choice.extra_requirements, *choice.overrides)]
    return frozenset({canonical(engine.distribution), *(canonical(named.name) for line in lines if (named := _exact(line)))})


def _exact(line: str) -> Requirement | None:
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    is_exact = bool(requirement.url) or any(one.operator in ("==", "===") for one in requirement.specifier)
    return requirement if is_exact else None


def _is_same(before: Package | None, after: Package | None) -> bool:
    if before is None or after is None:
        return False
    if before.commit or after.commit:
        return before.commit == after.commit
    return before.version == after.version


def _change(before: Package | None, after: Package | None, engine: Engine, is_asked: bool) -> PackageChange:
    one = after or before
    assert one is not None
    classes = [*_kinds(one.name, engine), *_moves(before, after), *_flaws(after)]
    return PackageChange(name=one.name, before=_say(before), after=_say(after), classes=classes or ["other"], is_asked=is_asked)


def _say(package: Package | None) -> str | None:
    if package is None or not package.commit:
        return package.version if package else None
    commit = f"git {package.commit[:10]}"
    return commit if "://" in package.version else f"{package.version} ({commit})"


def _kinds(name: str, engine: Engine) -> list[ChangeClass]:
    if name == canonical(engine.distribution):
        return ["engine"]
    return ["abi_partner"] if ABI_PARTNER.fullmatch(name) else []


def _moves(before: Package | None, after: Package | None) -> list[ChangeClass]:
    if before is None or after is None:
        return ["added"] if before is None else ["removed"]
    old, new = _version(before), _version(after)
    if old is None or new is None:
        return []
    moves: list[ChangeClass] = ["downgrade"] if Version(new.public) < Version(old.public) else []
    moves += ["major"] if old.major != new.major and max(old.major, new.major) < CALENDAR else []
    return [*moves, *(["build"] if _build(old) != _build(new) else [])]  # type: ignore[list-item]


def _version(package: Package) -> Version | None:
    try:
        return Version(package.version)
    except InvalidVersion:
        return None


def _build(version: Version) -> str:
    """What it was built for; a commit in the local part says nothing about that."""
    return "" if version.local is None or COMMIT_IN_VERSION.search(f"+{version.local}") else version.local


def _flaws(after: Package | None) -> list[ChangeClass]:
    if after is None:
        return []
    version = _version(after)
    is_snapshot = after.origin == "git" or (
        version is not None and (version.is_devrelease or bool(COMMIT_IN_VERSION.search(after.version)))
    )
    flaws: list[ChangeClass] = ["snapshot"] if is_snapshot else []
    flaws += [] if after.is_hashed else ["unhashed"]
    return [*flaws, *(["yanked"] if after.is_yanked else [])]  # type: ignore[list-item]


def _judged(change: PackageChange, policy: PackagePolicy) -> PackageChange:
    return change.model_copy(update={"answer": answer_to(change, policy)})


def answer_to(change: PackageChange, policy: PackagePolicy) -> Answer:
    """What the policy says to a change: by name, then passed where it was asked for, then by the strictest of its classes."""
    if by_name := policy.packages.get(change.name):
        return by_name
    return getattr(policy, deciding_class(change, policy))  # type: ignore[no-any-return]


def deciding_class(change: PackageChange, policy: PackagePolicy) -> str:
    """The field of the policy that decides: the strictest of the change's classes, the first of them where several are alike."""
    classes: list[str] = ["yanked"] if "yanked" in change.classes else []
    if not change.is_asked:
        classes += ["abi_downgrade"] if {"abi_partner", "downgrade"} <= set(change.classes) else []
        classes += [name for name in ("snapshot", "downgrade", "build", "major", "unhashed") if name in change.classes]
    classes += [name for name in change.classes if name in ("engine", "abi_partner", "added", "removed", "other")] or ["other"]
    return max(classes, key=lambda name: STRICTNESS[getattr(policy, name)])
