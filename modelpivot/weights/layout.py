"""The paths in a directory of weights, each built in one place, and which names are weights."""

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from modelpivot.errors import IntegrityError
from modelpivot.files import is_safe_relative, safe_join
from modelpivot.models.manifest import Manifest, Problem

OWN = ".modelpivot"
WEIGHT_SUFFIXES = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".npz", ".ot", ".tflite")
NOT_WEIGHTS = ("training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth", "scaler.pt")


@dataclass(frozen=True)
class WeightsFolder:
    """Files of one fetched directory. `own` lies elsewhere for a directory that cannot be written to."""

    root: Path
    own_elsewhere: Path | None = None

    @property
    def own(self) -> Path:
        """What we keep beside the files."""
        return self.own_elsewhere or self.root / OWN

    @property
    def manifest(self) -> Path:
        """What must be here."""
        return self.own / "manifest.json"

    @property
    def receipts(self) -> Path:
        """What was proved."""
        return self.own / "receipts.jsonl"

    @property
    def partials(self) -> Path:
        """Downloads that are not whole yet."""
        return self.own / "partial"

    @property
    def lock(self) -> Path:
        """Held while a process fetches."""
        return self.own / "fetch.lock"

    def file(self, path: str) -> Path:
        """Where a file of the manifest lies. PreconditionError for a name that escapes."""
        return safe_join(self.root, path)

    def partial(self, path: str, digest: str) -> Path:
        """Where its bytes gather: told apart by name and by the digest they must have."""
        return self.partials / f"{PurePosixPath(path).name[:80]}.{hashlib.sha256(f'{path} {digest}'.encode()).hexdigest()[:16]}.part"


def receipts_elsewhere(state_dir: Path, directory: Path) -> Path:
    """Where the receipts of a directory lie that cannot be written to: in the host's state, told apart by the directory's real path."""
    return state_dir / "receipts" / hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:16]


def is_weights(path: str) -> bool:
    """Whether a file holds tensors that an engine loads."""
    name = PurePosixPath(path).name
    return name.endswith(WEIGHT_SUFFIXES) and name not in NOT_WEIGHTS


def is_safe_name(path: str) -> bool:
    """True for a name that stays in its directory and out of what we keep there."""
    return is_safe_relative(path) and path.split("/")[0] != OWN


def find_unsafe(manifest: Manifest) -> list[Problem]:
    """Names that escape, stand twice, or are file and folder at once."""
    names = [file.path for file in manifest.files]
    folders = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    return [
        Problem(
            file=name,
            code="UNSAFE_PATH",
            expected="a plain relative name, once",
            found=repr(name),
            remedy="do not use this repository: its file names leave their directory or clash",
        )
        for name in dict.fromkeys(names)
        if not is_safe_name(name) or name in twice or name in folders
    ]


def require_safe(manifest: Manifest) -> None:
    """IntegrityError that names every unsafe path; called before anything is written."""
    if unsafe := find_unsafe(manifest):
        raise IntegrityError(
            f"{manifest.repo}: UNSAFE_PATH: " + ", ".join(problem.found for problem in unsafe[:10]),
            hint="do not use this repository: its file names leave their directory or clash",
        )
