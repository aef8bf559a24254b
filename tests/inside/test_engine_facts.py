"""What `inside/engine_facts.py` takes for the engine's compiled parts, on packages laid out as its versions and builds are."""

import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.facts.engine import INSIDE

ASK = "import sys, vllm; sys.path.append(sys.argv[1]); from engine_facts import import_compiled; print(*import_compiled(vllm))"


def compiled_of(folder: Path, modules: list[str]) -> subprocess.CompletedProcess[str]:
    """The answer for a package for GPUs that has these modules."""
    package = folder / "vllm"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "platforms.py").write_text("class current_platform:\n    is_cpu = staticmethod(lambda: False)\n")
    for name in modules:
        (package / f"{name}.py").touch()
    return subprocess.run([sys.executable, "-c", ASK, INSIDE], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("modules", [["_C", "_moe_C"], ["_C_stable_libtorch", "_moe_C_stable_libtorch"]])
def test_compiled_parts_under_the_names_of_each_version(tmp_path: Path, modules: list[str]) -> None:
    """vLLM 0.26 for CUDA 13 has no `_C` any more."""
    assert compiled_of(tmp_path, modules).stdout.split() == modules


def test_an_engine_without_compiled_parts_is_none(tmp_path: Path) -> None:
    """What was looked for is named."""
    done = compiled_of(tmp_path, ["_custom"])
    assert done.returncode != 0 and "_C_stable_libtorch" in done.stderr
