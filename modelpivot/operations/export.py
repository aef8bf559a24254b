"""Everything to make an environment again without network: its packages as wheels again, with a lock of their own digests.

<export>/
  wheels/*.whl         each package as it is installed: the files of its RECORD, proved against it while they are packed
  requirements.lock    the same exact versions, with the digests of these wheels
  resolution.json, provenance.json    what it is, and how it was made; the lock of the published wheels is in the first
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from modelpivot.errors import PreconditionError
from modelpivot.facts.environments import provenance_file, read_environment
from modelpivot.facts.records import find_site_packages
from modelpivot.facts.resolution import KEPT
from modelpivot.files import hash_file, read_model, write_atomic, write_model
from modelpivot.models.engine import Engine, EnvironmentProof, Provenance, Resolution
from modelpivot.models.engine_change import Exported
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.operations.build import Source
from modelpivot.operations.environment import install_environment
from modelpivot.operations.pack import pack_wheel

THREADS = 4


def export_environment(host: HostConfig, environment: Path, target: Path, tell: Tell) -> Exported:
    """Pack a proved environment into `target`, which must be new or empty. IntegrityError when a file is not as its RECORD says."""
    resolution, site = read_model(environment / KEPT, Resolution), find_site_packages(environment)
    if resolution is None or site is None or read_environment(host, resolution) is None:
        raise PreconditionError(f"{environment}: expected a proved environment of modelpivot", hint="modelpivot env list shows them")
    if target.exists() and any(target.iterdir()):
        raise PreconditionError(f"{target}: expected a new or empty folder", hint="name another one")
    wheels = target / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    packed = _pack_all(site, wheels, sorted(site.glob("*.dist-info")), tell)
    write_atomic(target / "requirements.lock", "".join(f"{line} \\\n    --hash=sha256:{digest}\n" for line, digest in packed))
    write_model(target / "resolution.json", resolution)
    if provenance := read_model(provenance_file(environment), Provenance):
        write_model(target / "provenance.json", provenance)
    size = sum(path.stat().st_size for path in wheels.iterdir())
    return Exported(path=target, environment=environment, packages=len(packed), size_bytes=size)


def _pack_all(site: Path, wheels: Path, infos: Sequence[Path], tell: Tell) -> list[tuple[str, str]]:
    """`name==version` and sha256 of every wheel, by name."""

    def pack(info: Path) -> tuple[str, str]:
        packed = pack_wheel(site, info, wheels)
        return packed.pin, hash_file(packed.path)

    done, told_at = [], time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for one in pool.map(pack, infos):
            done.append(one)
            if time.monotonic() - told_at > 1 or len(done) == len(infos):
                tell("progress", one[0], done=len(done), total=len(infos), unit="packages")
                told_at = time.monotonic()
    return sorted(done)


def restore_environment(host: HostConfig, export: Path, engine: Engine, tell: Tell) -> EnvironmentProof:
    """The environment of an export, made and proved without an index; nothing to do when it stands here, proved."""
    resolution = read_export(export)
    lock = (export / "requirements.lock").read_text()
    source = Source(lock, ("--no-index", "--find-links", str((export / "wheels").absolute())))
    return install_environment(host, resolution, engine, tell, source)


def read_export(export: Path) -> Resolution:
    """What an export holds. PreconditionError when it is none."""
    resolution = read_model(export / "resolution.json", Resolution)
    if resolution is None or not (export / "requirements.lock").is_file():
        raise PreconditionError(f"{export}: expected a folder that `modelpivot env export` wrote", hint="name that folder")
    return resolution
