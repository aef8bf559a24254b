"""The door to files: atomic writes that survive a power cut, safe names, digests. Needs nothing but a local file system."""

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from modelpivot.errors import PreconditionError, UsageError

M = TypeVar("M", bound=BaseModel)
NOT_AS_WE_WROTE_IT = "the file was changed by hand or by another version"
AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Of renameat2(2)."""


def sync_directory(directory: Path) -> None:
    """Make names in `directory` durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(path: Path, content: bytes | str, *, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Replace `path` by `content`: temporary file, fsync, rename, fsync of the directory. Never through a link: the name itself is replaced.

    `owner`: user and group that the file is to have, as far as we may give it away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if owner is not None:
                with suppress(PermissionError):
                    os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).rename(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_named(path: Path, content: bytes | str) -> None:
    """Write what was asked for to the place that a person named: a file whole or not at all, also behind a link; a device or pipe as it is."""
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        write_atomic(path.resolve(), content)


def exchange(one: Path, other: Path) -> bool:
    """Let two names of one file system change places in one step; False where it cannot do that, and nothing was done."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0


def write_model(path: Path, model: BaseModel, *, mode: int = 0o644) -> None:
    """Write a model as indented JSON, atomically."""
    write_atomic(path, model.model_dump_json(indent=2) + "\n", mode=mode)


def read_model(path: Path, kind: type[M]) -> M | None:
    """Read a model; None when there is no such file. UsageError names file and field when it cannot be understood."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected JSON, found bytes that are no text ({error.reason})", hint=NOT_AS_WE_WROTE_IT) from error
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe_invalid(error)}", hint=NOT_AS_WE_WROTE_IT) from error


def describe_invalid(error: ValidationError, *, with_values: bool = True) -> str:
    """Every wrong field in one sentence: field, what is wrong, what was found (not where a value may be a secret)."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'document'}: {item['msg']}"
        + (f" (found {str(item['input'])[:80]!r})" if with_values else "")
        for item in error.errors(include_url=False)
    )


def is_safe_relative(name: str) -> bool:
    """True for a plain relative path that stays below its root: no absolute path, `..`, backslash, NUL or control character, no empty part."""
    if not name or name.startswith("/") or any(ord(char) < 32 or char in "\\\x7f" for char in name):
        return False
    parts = name.split("/")
    return all(part not in ("", ".", "..") and len(part.encode("utf-8", "surrogatepass")) <= 255 for part in parts)


def safe_join(root: Path, name: str) -> Path:
    """`root/name`, refused when the name escapes or a link stands in the way below `root`."""
    if not is_safe_relative(name):
        raise PreconditionError(f"unsafe file name {name!r}", hint="do not use this repository: its file names leave their directory")
    path = root
    for part in PurePosixPath(name).parts[:-1]:
        path = path / part
        if path.is_symlink():
            raise PreconditionError(f"unsafe file name {name!r}: {path} is a link", hint="remove the link or choose another directory")
    return root / name


def hash_file(path: Path, kind: str = "sha256") -> str:
    """Hex digest of a whole file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def digest_text(*texts: str) -> str:
    """sha256 over texts, each ended by NUL so that their borders count."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


def walk(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Every folder at and below one with the names of its folders and of all else, as `os.walk`, however deep they lie: Python 3.11's own gives up
    at a thousand, and so does `rglob`.

    A folder that is taken out of the list is not entered, nor is a link; one that cannot be read holds nothing.
    """
    waiting = [os.fspath(top)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as there:
                entries = list(there)
        except OSError:
            continue
        linked = {entry.name for entry in entries if entry.is_symlink()}
        folders = [entry.name for entry in entries if _is_folder(entry)]
        known = set(folders)
        yield folder, folders, [entry.name for entry in entries if entry.name not in known]
        waiting += [f"{folder}/{name}" for name in reversed(folders) if name not in linked]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Short mutual exclusion between processes over the file `path` (flock); never held while something is waited for."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
