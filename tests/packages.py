"""A private package index in a folder, made of small real wheels: uv resolves, downloads, hashes and installs them like any other."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TAG = "py3-none-any"


def build_wheel(
    folder: Path, name: str, version: str, *, requires: Sequence[str] = (), files: Mapping[str, str] | None = None, tag: str = TAG
) -> Path:
    """`<name>-<version>-<tag>.whl` with one module of its name (unless `files` says else) and a RECORD with real digests."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    content = {
        **(files if files is not None else {f"{name}/__init__.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in content.items()]
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**content, f"{info}/RECORD": "\n".join([*record, f"{info}/RECORD,,", ""])}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


def publish(index: Path, wheel: Path, *, address: str | None = None, digest: str | None = None, yanked: str | None = None) -> None:
    """Name a wheel in the index `index/<project>/index.html` (PEP 503), with its digest, or with another one; `yanked`: taken back, and why."""
    project = index / wheel.name.split("-")[0].replace("_", "-")
    project.mkdir(parents=True, exist_ok=True)
    page = project / "index.html"
    digest = digest or hashlib.sha256(wheel.read_bytes()).hexdigest()
    mark = f' data-yanked="{yanked}"' if yanked is not None else ""
    line = f'<a href="{address or wheel.as_uri()}#sha256={digest}"{mark}>{wheel.name}</a><br>\n'
    page.write_text((page.read_text() if page.exists() else "<!DOCTYPE html>\n") + line)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
