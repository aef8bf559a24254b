"""The real engine starts from views: two releases over one set of shards, one of them patched, and a repository's own code."""

import json
from pathlib import Path

import httpx
import pytest

from modelpivot.facts.engine import engine_environ
from modelpivot.facts.environments import environment_python
from modelpivot.files import hash_file
from modelpivot.host import run_command
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.recipe import Patch
from modelpivot.plans.patching import apply_patches
from modelpivot.recipes import read_recipe
from modelpivot.weights.view import make_view
from tests.benchmark.recording import served
from tests.engine_environment import engine_environment, engine_host, engine_models
from tests.inside.test_real_engine import release
from tests.ports import free_port

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = pytest.mark.engine

SHORTER = Patch(
    pointer="/max_position_embeddings", expected=4096, new=320, why="what the engine says of its length shows which config it read"
)


def manifest_of(folder: Path) -> Manifest:
    """All that lies there."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    entries = [ManifestFile(path=path.relative_to(folder).as_posix(), size=path.stat().st_size, sha256=hash_file(path)) for path in files]
    return Manifest(repo="acme/new", commit="a" * 40, files=entries)


def length_of(environment: EnvironmentProof, view: Path, scratch: Path) -> int:
    """Served from the view: the longest context that the engine itself names, and a generated answer."""
    made = release(environment, view, scratch, port=free_port())
    argv = [word for word in made.start.argv if word not in ("--max-model-len", "512")]
    made = made.model_copy(update={"start": made.start.model_copy(update={"argv": argv})})
    with served(made, scratch / f"{view.parent.name}.log"):
        [model] = httpx.get(f"{made.endpoint.base_url}/v1/models", timeout=30).json()["data"]
        asked = {"model": "tiny", "prompt": "one two", "max_tokens": 4, "temperature": 0}
        answer = httpx.post(f"{made.endpoint.base_url}/v1/completions", json=asked, timeout=120).json()
    assert answer["usage"]["completion_tokens"] >= 1
    return int(model["max_model_len"])


def test_two_releases_over_one_set_of_shards_serve_one_after_the_other(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], tmp_path: Path
) -> None:
    """As published and patched, each from its own view: the engine reads each one's config, and the shards behind both keep every byte and time."""
    weights = engine_models["new"]
    manifest, patches = manifest_of(weights), [*read_recipe("demo").patches, SHORTER]
    before = {file.path: (hash_file(weights / file.path), (weights / file.path).stat().st_mtime_ns) for file in manifest.files}
    texts = {"config.json": (weights / "config.json").read_text()}
    make_view(tmp_path / "as-published" / "view", weights, manifest, {})
    make_view(tmp_path / "patched" / "view", weights, manifest, apply_patches(texts, patches), patches)
    lengths = [length_of(engine_environment, tmp_path / name / "view", tmp_path) for name in ("as-published", "patched")]
    assert lengths == [4096, 320]
    assert before == {file.path: (hash_file(weights / file.path), (weights / file.path).stat().st_mtime_ns) for file in manifest.files}


def test_a_repositorys_own_code_runs_from_a_view(engine_environment: EnvironmentProof, tmp_path: Path) -> None:
    """E13: code that imports its neighbour, fetched into a cache of links, is real files in the view and is loaded by the engine's own library."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    config = {"model_type": "tiny_own", "auto_map": {"AutoConfig": "configuration_tiny.TinyConfig"}, "size": 3}
    code = "from transformers import PretrainedConfig\nfrom .neighbour import NAME\n\n\nclass TinyConfig(PretrainedConfig):\n    model_type = NAME\n"
    contents = {"config.json": json.dumps(config), "configuration_tiny.py": code, "neighbour.py": 'NAME = "tiny_own"\n'}
    for folder in (blobs, snapshot):
        folder.mkdir(parents=True)
    for number, (name, text) in enumerate(contents.items()):
        (blobs / str(number)).write_text(text)
        (snapshot / name).symlink_to(f"../../blobs/{number}")
    make_view(tmp_path / "view", snapshot, manifest_of(snapshot), {})
    asked = (
        f"import transformers as t; print(type(t.AutoConfig.from_pretrained({str(tmp_path / 'view')!r}, trust_remote_code=True)).__name__)"
    )
    environ = engine_environ({"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"})
    done = run_command([environment_python(engine_environment.path), "-c", asked], timeout_s=120, env=environ)
    assert done.stdout.splitlines()[-1] == "TinyConfig"
