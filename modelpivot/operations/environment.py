"""Make one environment for one engine version, and prove it. Never changes an environment that was proved or is in use.

It is built at its final path and counts only when its proof is written, last; killed at any moment, the next call finds no proof and
starts from scratch (an interrupted install can look whole and not import, and a plain sync then repairs nothing).
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.facts.environments import environment_path, provenance_file, read_environment
from modelpivot.facts.provenance import read_provenance
from modelpivot.facts.records import find_altered_packages
from modelpivot.facts.users import find_users
from modelpivot.facts.uv import Uv, read_uv
from modelpivot.files import write_model
from modelpivot.models.engine import Engine, EnvironmentProof, Resolution
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.operations.build import Source, build_environment_at, forget_cached
from modelpivot.operations.bytecode import share_bytecode
from modelpivot.operations.prove import prove_environment
from modelpivot.waiting import wait_for

TURN_DEADLINE_S = 3600.0
"""How long another install of the same environment is waited for."""


def install_environment(
    host: HostConfig, resolution: Resolution, engine: Engine, tell: Tell, source: Source | None = None
) -> EnvironmentProof:
    """The proved environment of a resolution; nothing to do when its proof holds. `source`: other than the index (a rebuild from an export).

    TransientError when the index is out of reach; PreconditionError when a person must act (disk full, environment in use and changed);
    CommandFailed with uv's words; IntegrityError when what was installed is not what was resolved.
    """
    path = environment_path(host, resolution)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _own_turn(path):
            return read_environment(host, resolution) or _make(host, path, resolution, engine, tell, source)
    except OSError as error:
        hint = "free space or mend the permissions of the environments root; the next run starts this step again"
        raise PreconditionError(f"{path}: {error.strerror or error}", hint=hint) from error


def _make(host: HostConfig, path: Path, resolution: Resolution, engine: Engine, tell: Tell, source: Source | None) -> EnvironmentProof:
    _refuse_in_use(path)
    uv = read_uv(host)
    whose = "the user's own" if uv.is_shared_cache else "beside the environments: the user's lies on another file system"
    tell("log", f"uv cache {uv.cache} ({whose})")
    try:
        return _build_and_prove(uv, host, path, resolution, engine, tell, source)
    except IntegrityError as error:
        if not (edited := find_altered_packages(path)):
            raise
        tell("warning", f"uv's cache holds edited files of {', '.join(edited)}: these packages are fetched anew ({error.message[:200]})")
        forget_cached(uv, edited)
    return _build_and_prove(uv, host, path, resolution, engine, tell, source)


def _build_and_prove(
    uv: Uv, host: HostConfig, path: Path, resolution: Resolution, engine: Engine, tell: Tell, source: Source | None
) -> EnvironmentProof:
    build_environment_at(uv, host, path, resolution, tell, source)
    write_model(provenance_file(path), read_provenance(uv, host, resolution, is_rebuilt=source is not None))
    if shared := share_bytecode(path, host.environments_root):
        tell("log", f"{shared} compiled modules shared with the environments beside it")
    return prove_environment(uv, host, path, resolution, engine, tell)


def _refuse_in_use(path: Path) -> None:
    if path.exists() and (users := find_users(path)):
        raise PreconditionError(
            f"{path} no longer equals its proof, and process {users[0]} runs from it",
            hint="stop what runs from it first, or ask for another engine version: a live environment is never changed",
        )


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
