"""Put the packages of a resolution into a new environment with uv: from its cache alone where that holds them, else from the index."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

from modelpivot.errors import CommandFailed, IntegrityError, PivotError, PreconditionError, TransientError
from modelpivot.facts.environments import environment_python, install_log, lock_file
from modelpivot.facts.lock import ENTRY, parse_pins
from modelpivot.facts.resolution import KEPT, interpreter
from modelpivot.facts.uv import Uv, build_environment
from modelpivot.files import write_atomic, write_model
from modelpivot.host import CommandResult, run_attached, run_command
from modelpivot.models.engine import Resolution
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.models.names import canonical
from modelpivot.models.recipe import BuildSettings
from modelpivot.operations.uv_words import Downloads, is_worth_telling

INSTALL_DEADLINE_S = 3 * 3600.0
"""Gigabytes over a slow line, or a build from source; a hang is uv's own business (it gives up on a silent connection)."""
READABLE = 0o022
"""umask of everything made here: an engine's unit may have a user of its own."""
RESOLVED_UNDER = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE_NEWER")
"""What the lock was made under; uv refuses a constraint that is no exact version beside hashes."""
PASSING = ("failed to fetch", "error sending request", "dns error", "connection", "timed out", "503 ", "502 ", "429 ")
MISMATCH = re.compile(r"Hash mismatch for `?(?P<what>[^`\s]+)`?")


class Source(NamedTuple):
    """What is installed from where: the lock as uv shall read it, and flags that say where packages come from."""

    lock_text: str
    flags: tuple[str, ...] = ()


def build_environment_at(uv: Uv, host: HostConfig, path: Path, resolution: Resolution, tell: Tell, source: Source | None = None) -> None:
    """A new environment at `path` with what the lock says; whatever stood there is removed first. Errors as `explain` classes them."""
    if path.exists():
        tell("log", f"{path.name} was begun and never proved; starting from scratch")
        shutil.rmtree(path)
    run_uv(uv, ["venv", "--python", interpreter(host), path])
    write_model(path / KEPT, resolution)
    source = source or Source(resolution.lock_text)
    write_atomic(lock_file(path), source.lock_text)
    try:
        with install_log(path).open("a") as log:
            _install(_Installing(uv, host, path, resolution, source, tell, log))
    except CommandFailed as error:
        raise explain(error, path) from error


class _Installing(NamedTuple):
    uv: Uv
    host: HostConfig
    path: Path
    resolution: Resolution
    source: Source
    tell: Tell
    log: TextIO


def _install(job: _Installing) -> None:
    """Everything with uv's `pip sync`; what must be built in the environment itself comes after it."""
    late = {canonical(name) for name in _build_settings(job.resolution).no_isolation}
    first, last = split_lock(job.source.lock_text, late)
    _put(job, first, "requirements.lock", ["sync"])
    if last:
        isolation = [word for name in sorted(late) for word in ("--no-build-isolation-package", name)]
        _put(job, last, "late.lock", ["install", "--no-deps", *isolation, "-r"])


def split_lock(lock_text: str, late: set[str]) -> tuple[str, str]:
    """Pure: a lock without some packages, and these alone."""
    starts = [entry.start() for entry in ENTRY.finditer(lock_text)]
    blocks = [lock_text[start:end] for start, end in zip(starts, [*starts[1:], len(lock_text)], strict=True)]
    is_late = [canonical(found["name"]) in late for found in ENTRY.finditer(lock_text)]
    first, last = ("".join(block for block, it in zip(blocks, is_late, strict=True) if it is wanted) for wanted in (False, True))
    return (first, last) if last else (lock_text, "")


def _put(job: _Installing, lock_text: str, name: str, words: list[str]) -> None:
    lock = lock_file(job.path).with_name(name)
    write_atomic(lock, lock_text)
    is_hashed = all(pin.is_hashed for pin in parse_pins(lock_text))
    argv: list[str | Path] = ["pip", *words, lock, "--python", environment_python(job.path)]
    argv += ["--require-hashes" if is_hashed else "--verify-hashes", *job.source.flags]
    argv += [] if job.source.flags else _index_flags(job.resolution)
    if not _put_from_cache(job, argv):
        _sync(job, argv)


def _index_flags(resolution: Resolution) -> list[str]:
    """Where the resolver found what the plain index does not have."""
    backend = ["--torch-backend", resolution.torch_backend] if resolution.torch_backend else []
    index = resolution.asked.index if resolution.asked else None
    return backend + (["--index", index, "--index-strategy", "first-index"] if index else [])


def _put_from_cache(job: _Installing, argv: list[str | Path]) -> bool:
    """True when the cache holds everything: quicker, and independent of the network."""
    try:
        _sync(job, [*argv, "--offline"], is_told=False)
    except CommandFailed:
        job.tell("log", "the cache does not hold everything; asking the package index")
        return False
    return True


def _sync(job: _Installing, argv: list[str | Path], *, is_told: bool = True) -> None:
    variables = build_environment(job.uv, job.host, _build_settings(job.resolution))
    variables = {name: value for name, value in variables.items() if name not in RESOLVED_UNDER}
    listen = _listener(job.tell, job.log, is_told=is_told)
    run_attached([job.uv.path, *argv], timeout_s=INSTALL_DEADLINE_S, env=variables, listen=listen, umask=READABLE)


def _listener(tell: Tell, log: TextIO, *, is_told: bool) -> Callable[[str], None]:
    downloads = Downloads()

    def listen(line: str) -> None:
        print(line, file=log, flush=True)
        if progress := downloads.hear(line):
            tell("progress", line.strip(), done=progress[0], total=progress[1], unit="B")
        elif is_told and is_worth_telling(line):
            tell("log", line.strip())

    return listen


def _build_settings(resolution: Resolution) -> BuildSettings:
    return resolution.asked.build if resolution.asked else BuildSettings()


def explain(error: CommandFailed, path: Path) -> PivotError:
    """uv's failure as what a person does next; but for passing ones the next plan resolves anew."""
    text = "\n".join(error.last_lines)
    if "No space left on device" in text:
        return PreconditionError(f"{path}: the disk is full", hint="free space on that file system; the next run starts this step again")
    if found := MISMATCH.search(text):
        (path / KEPT).unlink(missing_ok=True)
        said = " ".join(text[found.start() :].split())
        hint = (
            "the index serves other bytes than it did when they were resolved: plan again; should it happen again, do not trust that index"
        )
        return IntegrityError(said, hint=hint)
    if any(word in text.lower() for word in PASSING):
        return TransientError(f"the package index is out of reach: {'; '.join(error.last_lines[-3:])}", hint="run it again")
    (path / KEPT).unlink(missing_ok=True)
    return error


def run_uv(uv: Uv, arguments: list[str | Path], *, is_checked: bool = True) -> CommandResult:
    """A short command of uv."""
    return run_command([uv.path, *arguments], timeout_s=120, env=uv.environment, is_checked=is_checked, umask=READABLE)


def forget_cached(uv: Uv, names: list[str]) -> None:
    """Packages out of uv's cache: a file edited in place in any environment is edited in the cache too, which shares it (uv#15700)."""
    run_uv(uv, ["cache", "clean", *names], is_checked=False)
