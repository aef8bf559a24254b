"""Make one environment for one engine version, and prove it. Never changes an environment that was proved or is in use.

It is built at its final path and counts only when its proof is written, last; killed at any moment, the next call finds no proof and
starts from scratch (an interrupted install can look whole and not import, and a plain sync then repairs nothing).
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from modelpivot.errors import CommandFailed, IntegrityError, PreconditionError, TransientError
from modelpivot.facts.engine import ask_engine
from modelpivot.facts.environments import (
    StoredProof,
    answers_file,
    environment_path,
    environment_python,
    proof_file,
    read_environment,
    read_stamp,
)
from modelpivot.facts.lock import parse_pins
from modelpivot.facts.records import find_altered
from modelpivot.facts.resolution import KEPT, interpreter
from modelpivot.facts.uv import Uv, read_uv
from modelpivot.files import digest_text, write_model
from modelpivot.host import CommandResult, run_attached, run_command
from modelpivot.models.engine import Engine, EnvironmentProof, Resolution
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.operations.proof import judge_answers, judge_freeze, judge_pip_check
from modelpivot.operations.uv_words import Downloads, is_worth_telling
from modelpivot.waiting import wait_for

INSTALL_DEADLINE_S = 3 * 3600.0
"""Gigabytes over a slow line; a hang is uv's own business (it gives up on a silent connection)."""
TURN_DEADLINE_S = 3600.0
"""How long another install of the same environment is waited for."""
RESOLVED_UNDER = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE_NEWER")
"""What the lock was made under; uv refuses a constraint that is no exact version beside hashes."""
PASSING = ("failed to fetch", "error sending request", "dns error", "connection", "timed out", "503 ", "502 ", "429 ")


def install_environment(host: HostConfig, resolution: Resolution, engine: Engine, tell: Tell) -> EnvironmentProof:
    """The proved environment of a resolution; nothing to do when its proof holds.

    TransientError when the index is out of reach; PreconditionError when a person must act (disk full, environment in use and changed);
    CommandFailed with uv's words; IntegrityError when what was installed is not what was resolved.
    """
    path = environment_path(host, resolution)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _own_turn(path):
            return read_environment(host, resolution) or _make(host, path, resolution, engine, tell)
    except OSError as error:
        hint = "free space or mend the permissions of the environments root; the next run starts this step again"
        raise PreconditionError(f"{path}: {error.strerror or error}", hint=hint) from error


def _make(host: HostConfig, path: Path, resolution: Resolution, engine: Engine, tell: Tell) -> EnvironmentProof:
    _refuse_in_use(path)
    uv = read_uv(host)
    whose = "the user's own" if uv.is_shared_cache else "beside the environments: the user's lies on another file system"
    tell("log", f"uv cache {uv.cache} ({whose})")
    _build(uv, interpreter(host), path, resolution, tell)
    return prove_environment(uv, path, resolution, engine, tell)


def prove_environment(uv: Uv, path: Path, resolution: Resolution, engine: Engine, tell: Tell) -> EnvironmentProof:
    """Freeze, RECORD digests, `uv pip check`, import of the compiled parts, version; the proof is written when all of it holds.

    IntegrityError names every finding; CommandFailed when the engine does not import.
    """
    tell("log", f"proving {path.name}: freeze, digests of every file, dependencies, import of {engine.module}")
    with ThreadPoolExecutor(1) as pool:
        altered = pool.submit(find_altered, path)
        freeze = _run(uv, ["pip", "freeze", "--python", environment_python(path)]).stdout
        check = _run(uv, ["pip", "check", "--python", environment_python(path)], is_checked=False)
        findings = judge_freeze(resolution.pins, parse_pins(freeze)) + altered.result()
    findings += judge_pip_check(check.stdout + check.stderr, engine, resolution.excluded)
    _require_none(path, findings)
    answers = ask_engine(path, engine)
    _require_none(path, judge_answers(answers, engine, resolution))
    write_model(answers_file(path), answers)
    proof = EnvironmentProof(
        path=path,
        engine=resolution.engine,
        engine_version=answers.version,
        freeze_digest=digest_text(freeze),
        packages=len(resolution.pins),
        proved_at=time.time(),
        new=True,
    )
    write_model(proof_file(path), StoredProof(proof=proof, stamp=read_stamp(path)))
    return proof


def _build(uv: Uv, python: str, path: Path, resolution: Resolution, tell: Tell) -> None:
    if path.exists():
        tell("log", f"{path.name} was begun and never proved; starting from scratch")
        shutil.rmtree(path)
    _run(uv, ["venv", "--python", python, path])
    write_model(path / KEPT, resolution)
    lock = path / ".modelpivot" / "requirements.lock"
    lock.write_text(resolution.lock_text)
    argv: list[str | Path] = ["pip", "sync", "--require-hashes", "--python", environment_python(path), lock]
    argv += ["--torch-backend", resolution.torch_backend] if resolution.torch_backend else []
    try:
        with (path / ".modelpivot" / "install.log").open("a") as log:
            if not _sync_from_cache(uv, argv, tell, log):
                _sync(uv, argv, tell, log)
    except CommandFailed as error:
        raise _explain(error, path) from error


def _sync_from_cache(uv: Uv, argv: list[str | Path], tell: Tell, log: TextIO) -> bool:
    """True when the cache holds everything: quicker, and independent of the network."""
    try:
        _sync(uv, [*argv, "--offline"], tell, log, is_told=False)
    except CommandFailed:
        tell("log", "the cache does not hold everything; asking the package index")
        return False
    return True


def _sync(uv: Uv, argv: list[str | Path], tell: Tell, log: TextIO, *, is_told: bool = True) -> None:
    downloads = Downloads()

    def listen(line: str) -> None:
        print(line, file=log, flush=True)
        if progress := downloads.hear(line):
            tell("progress", line.strip(), done=progress[0], total=progress[1], unit="B")
        elif is_told and is_worth_telling(line):
            tell("log", line.strip())

    variables = {name: value for name, value in uv.environment.items() if name not in RESOLVED_UNDER}
    run_attached([uv.path, *argv], timeout_s=INSTALL_DEADLINE_S, env=variables, listen=listen)


def _explain(error: CommandFailed, path: Path) -> Exception:
    text = "\n".join(error.last_lines)
    if "No space left on device" in text:
        return PreconditionError(f"{path}: the disk is full", hint="free space on that file system; the next run starts this step again")
    if any(word in text.lower() for word in PASSING):
        return TransientError(f"the package index is out of reach: {'; '.join(error.last_lines[-3:])}", hint="run it again")
    (path / KEPT).unlink(missing_ok=True)
    return error


def _require_none(path: Path, findings: list[str]) -> None:
    if findings:
        shown = "; ".join(findings[:8]) + (f"; and {len(findings) - 8} more" * (len(findings) > 8))
        raise IntegrityError(
            f"{path} is not what was resolved: {shown}", hint="run it again: it is built from scratch, nothing else uses it"
        )


def _refuse_in_use(path: Path) -> None:
    if path.exists() and (users := find_users(path)):
        raise PreconditionError(
            f"{path} no longer equals its proof, and process {users[0]} runs from it",
            hint="stop what runs from it first, or ask for another engine version: a live environment is never changed",
        )


def find_users(path: Path) -> list[int]:
    """Processes that run from an environment: by command line, or by a library of it that they have mapped."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs_from(entry, f"{path}/")]


def _runs_from(process: Path, prefix: str) -> bool:
    try:
        return (process / "cmdline").read_bytes().startswith(prefix.encode()) or prefix in (process / "maps").read_text(errors="replace")
    except OSError:
        return False


def _run(uv: Uv, arguments: list[str | Path], *, is_checked: bool = True) -> CommandResult:
    return run_command([uv.path, *arguments], timeout_s=120, env=uv.environment, is_checked=is_checked)


@contextmanager
def _own_turn(path: Path) -> Iterator[None]:
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def try_lock() -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        wait_for(try_lock, lambda held, _: held or None, what=f"another install of {path.name}", deadline_s=TURN_DEADLINE_S)
        yield
    finally:
        os.close(handle)
