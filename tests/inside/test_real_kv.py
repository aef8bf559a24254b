"""The rules held against vLLM's own parsers: what it makes of every shape, before and after `modelpivot patch`."""

import json
from pathlib import Path

import pytest

from modelpivot.facts.engine import ask_inside
from modelpivot.models.engine import EnvironmentProof
from modelpivot.recipes import read_engine
from modelpivot.stages.patch import Target, patch_directory
from tests.engine_environment import ENGINE, engine_environment, engine_host
from tests.kv_shapes import SHAPES, Shape

__all__ = ["engine_environment", "engine_host"]
pytestmark = pytest.mark.engine

WORDS = {"fp8": "fp8", "fp8_e4m3": "fp8", "nvfp4": "nvfp4", "auto": ""}
RULE = "fp8-kv-sm120"
Answers = dict[str, dict[str, object]]


def lay(folder: Path, shape: Shape) -> Path:
    """The checkpoint's two files."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(shape.config, indent=2))
    if shape.aside is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps(shape.aside, indent=4))
    return folder


@pytest.fixture(scope="module")
def answers(engine_environment: EnvironmentProof, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the engine says of every shape as it is (`as is/NAME`) and after the patch (`patched/NAME`), asked once."""
    root = tmp_path_factory.mktemp("shapes")
    folders = [lay(root / state / name, shape) for state in ("as is", "patched") for name, shape in SHAPES.items()]
    for folder in folders[len(SHAPES) :]:
        patch_directory(folder, Target(capability="12.0", engine_version=engine_environment.engine_version))
    said = ask_inside(engine_environment.path, "kv_cache.py", folders, read_engine(ENGINE).serve_env)
    return {str(Path(name).relative_to(root)): answer for name, answer in said.items()}  # type: ignore[misc]


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if not shape.is_refused])
def test_the_engine_takes_the_same_of_it_as_we_say(answers: Answers, name: str) -> None:
    """The type of its cache, by its own code."""
    assert WORDS[str(answers[f"as is/{name}"]["cache"])] == SHAPES[name].cache


def is_rules_business(shape: Shape) -> bool:
    """The rule is about FP8 with MLA."""
    return "kv_lora_rank" in json.dumps(shape.config) and shape.cache != "nvfp4" and not shape.is_refused and shape.places > 0


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if is_rules_business(shape)])
def test_after_the_patch_it_keeps_the_models_own_type(answers: Answers, name: str) -> None:
    """No quantized cache, no scales to load for one; method and parser of the weights as before."""
    before, after = answers[f"as is/{name}"], answers[f"patched/{name}"]
    assert (after["cache"], after["scales"]) == ("auto", False)
    assert (after["quantization"], after["parser"]) == (before["quantization"], before["parser"])


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.is_refused])
def test_what_the_engine_refuses_it_refuses_for_the_same_reason(answers: Answers, name: str) -> None:
    """A patch neither mends nor breaks a checkpoint that it does not read: `as is` and `patched` say the same."""
    assert answers[f"as is/{name}"]["refused"] == str(answers[f"patched/{name}"]["refused"]).replace("/patched/", "/as is/")
