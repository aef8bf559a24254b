"""Environments on disk and what was proved of them. Cheap: names and times only, nothing is imported or hashed.

<environments root>/<engine>-<version>-<digest>/    a virtual environment
                        .modelpivot/resolution.json what it is made of, written before the first package
                                    requirements.lock, install.log   exact versions with hashes; all that uv said
                                    provenance.json what it was made with: uv, Python, indexes, who asked for what
                                    engine.json     what the engine said of itself
                                    proof.json      written last: without it the environment is not used
"""

import os
from pathlib import Path

from modelpivot.errors import UsageError
from modelpivot.facts.records import find_site_packages
from modelpivot.files import digest_text, read_model
from modelpivot.models.engine import EngineAnswers, EnvironmentProof, Resolution
from modelpivot.models.frozen import Frozen
from modelpivot.models.host import HostConfig


class StoredProof(Frozen):
    """The proof, and what it rests on: it holds as long as the stamp is the same."""

    proof: EnvironmentProof
    stamp: str
    """Digest over names, sizes and times of every package's RECORD, and the interpreter."""


def environment_path(host: HostConfig, resolution: Resolution) -> Path:
    """Where the environment of a resolution lies, or will lie."""
    return host.environments_root / resolution.environment_name


def proof_file(environment: Path) -> Path:
    """Written last."""
    return environment / ".modelpivot" / "proof.json"


def lock_file(environment: Path) -> Path:
    """What it was installed from."""
    return environment / ".modelpivot" / "requirements.lock"


def install_log(environment: Path) -> Path:
    """All that uv said."""
    return environment / ".modelpivot" / "install.log"


def provenance_file(environment: Path) -> Path:
    """What it was made with."""
    return environment / ".modelpivot" / "provenance.json"


def answers_file(environment: Path) -> Path:
    """What the engine said of itself."""
    return environment / ".modelpivot" / "engine.json"


def environment_python(environment: Path) -> Path:
    """The environment's interpreter."""
    return environment / "bin" / "python"


def read_environment(host: HostConfig, resolution: Resolution) -> EnvironmentProof | None:
    """The proof on disk, if it still holds; None: there is no environment, it was never finished, or it was changed."""
    path = environment_path(host, resolution)
    stored = read_stored(path)
    if stored is None or not _is_there(stored.proof.path, path) or stored.stamp != read_stamp(path):
        return None
    return stored.proof.model_copy(update={"new": False, "path": path})


def _is_there(proved: Path, path: Path) -> bool:
    """Whether the environment still lies where it was proved; another name of the same folder (a linked root) is no other place."""
    return proved == path or (proved.exists() and proved.samefile(path))


def read_stored(environment: Path) -> StoredProof | None:
    """The proof as it was written; None: there is none, or none that this version understands."""
    try:
        return read_model(proof_file(environment), StoredProof)
    except UsageError:
        return None


def read_answers(environment: Path) -> EngineAnswers | None:
    """What the engine said of itself when the environment was proved; None: it was never asked."""
    return read_model(answers_file(environment), EngineAnswers)


def read_stamp(environment: Path) -> str:
    """Names, sizes and times of every RECORD; empty when the interpreter does not run or there is nothing installed."""
    python, site = environment_python(environment), find_site_packages(environment)
    if site is None or not os.access(python, os.X_OK):
        return ""
    stats = [(path.parent.name, path.stat()) for path in sorted(site.glob("*.dist-info/RECORD"))]
    return digest_text(str(python.resolve()), *(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats))
