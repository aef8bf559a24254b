"""A package as source with a build of its own (PEP 517, nothing to download): a folder, or a git repository with one commit."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

PROJECT = """[project]
name = "{name}"
version = "{version}"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """import os
import pathlib
import sys
import zipfile

NAME, VERSION, RECORD, IMPORTS = "{name}", "{version}", {record!r}, "{imports}"


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = pathlib.Path(folder, f"{{NAME}}-{{VERSION}}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n")
    return info.name


def build_wheel(folder, config_settings=None, metadata_directory=None):
    if IMPORTS:
        __import__(IMPORTS)
    info, wheel = f"{{NAME}}-{{VERSION}}.dist-info", f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    lines = [f"VERSION = {{VERSION!r}}", f"BUILT_BY = {{sys.prefix!r}}", *(f"{{name}} = {{os.environ.get(name)!r}}" for name in RECORD)]
    with zipfile.ZipFile(pathlib.Path(folder, wheel), "w") as archive:
        archive.writestr(f"{{NAME}}/__init__.py", "\\n".join([*lines, ""]))
        archive.writestr(f"{{info}}/METADATA", f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n")
        archive.writestr(f"{{info}}/WHEEL", "Wheel-Version: 1.0\\nGenerator: by hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{{info}}/RECORD", "")
    return wheel
"""


def make_checkout(
    folder: Path, name: str, version: str, *, is_repository: bool = False, record: Sequence[str] = (), imports: str = ""
) -> Path:
    """The source of a package whose build writes down variables (`record`) and imports a module (`imports`) that must be there."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT.format(name=name, version=version))
    (folder / "backend.py").write_text(BACKEND.format(name=name, version=version, record=list(record), imports=imports))
    if is_repository:
        words = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run(["git", *words, *arguments], cwd=folder, check=True)
    return folder
