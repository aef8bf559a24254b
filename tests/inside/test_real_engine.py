"""The real engine, installed by the product: what it says of itself, the models made by it, its verdict on a release, and its benchmark."""

import json
import shutil
from pathlib import Path

import pytest

from modelpivot.errors import GateFailed
from modelpivot.facts.environments import read_answers
from modelpivot.files import hash_file
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.models.workload import Floor
from modelpivot.recipes import read_engine, read_recipe
from modelpivot.stages.benchmark import measure
from modelpivot.stages.candidate import check_candidate
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.gate import gate
from tests.benchmark.recording import served
from tests.engine_environment import ENGINE, engine_environment, engine_host, engine_models, make_model
from tests.ports import free_port

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = pytest.mark.engine

FLAGS = ["--enforce-eager", "--max-model-len", "512", "--dtype", "bfloat16"]


@pytest.fixture
def context(host: HostConfig) -> Context:
    """A run on a host of the test's own."""
    return open_context(host, name="engine")


def release(environment: EnvironmentProof, view: Path, scratch: Path, *flags: str, port: int = 8000) -> Release:
    """A release of the CPU engine over a folder of weights."""
    engine = read_engine(ENGINE)
    served = ["--model", str(view), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    variables = {**engine.serve_env, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": str(scratch / "caches")}
    return Release(
        id="tiny-1",
        name="tiny",
        serving_digest="0",
        repo="a/b",
        commit="0" * 40,
        weights_dir=view,
        view_dir=view,
        environment_dir=environment.path,
        engine=ENGINE,
        engine_version=environment.engine_version,
        start=StartSpec(
            argv=[str(environment.path / "bin/python"), *engine.serve, *served, *FLAGS, *flags],
            environment=variables,
            working_directory=scratch,
        ),
        endpoint=Endpoint(bind="127.0.0.1", port=port, served_name="tiny"),
    )


def test_the_engine_says_what_it_knows(engine_environment: EnvironmentProof) -> None:
    """Asked once when it was proved: version, compiled parts, architectures, parsers, quantization methods."""
    answers = read_answers(engine_environment.path)
    assert answers is not None
    assert answers.version == engine_environment.engine_version == read_engine(ENGINE).tested[0]
    assert len(answers.compiled) == 1 and answers.compiled[0].startswith("_C"), "the variant for this processor, and no other"
    assert {"Qwen3ForCausalLM", "DeepseekV3ForCausalLM"} <= set(answers.architectures or [])
    assert "kimi_k2" in (answers.tool_parsers or [])
    assert "kimi_k2" in (answers.reasoning_parsers or [])
    assert {"modelopt", "compressed-tensors"} <= set(answers.quantizations or [])


def test_the_new_model_is_what_the_demo_needs(engine_models: dict[str, Path]) -> None:
    """DeepSeek V3 with MLA and experts, at least nine shards of together tens of MB that the index names, an FP8 KV cache declared."""
    new = engine_models["new"]
    config = json.loads((new / "config.json").read_text())
    assert config["architectures"] == ["DeepseekV3ForCausalLM"]
    assert (config["kv_lora_rank"], config["topk_method"], config["dtype"]) == (512, "noaux_tc", "bfloat16")
    shards = sorted(new.glob("*.safetensors"))
    assert len(shards) >= 9
    assert sum(path.stat().st_size for path in shards) > 50e6
    assert set(json.loads((new / "model.safetensors.index.json").read_text())["weight_map"].values()) == {path.name for path in shards}
    (patch,) = read_recipe("demo").patches
    assert patch.pointer == "/quantization_config/kv_cache_scheme"
    assert config["quantization_config"]["kv_cache_scheme"] == patch.expected


def test_the_same_seed_gives_the_same_bytes(engine_environment: EnvironmentProof, engine_models: dict[str, Path], tmp_path: Path) -> None:
    """A model made again is the same file for file, so that a demo's download of yesterday is still whole today."""
    make_model(engine_environment.path, "old", tmp_path / "again")
    expected = {path.name: hash_file(path) for path in engine_models["old"].iterdir()}
    assert {path.name: hash_file(path) for path in (tmp_path / "again").iterdir()} == expected


def test_the_engine_accepts_the_patched_model(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], context: Context, tmp_path: Path
) -> None:
    """Its own parser reads the flags, the config without the KV key and the quantization block; the class is in the release's cache after."""
    view = tmp_path / "view"
    shutil.copytree(engine_models["new"], view)
    config = json.loads((view / "config.json").read_text())
    del config["quantization_config"]["kv_cache_scheme"]
    (view / "config.json").write_text(json.dumps(config))
    checks = check_candidate(context, release(engine_environment, view, tmp_path))
    assert [check.name for check in checks] == ["engine accepts the release", "quantization method"]
    assert "architecture DeepseekV3ForCausalLM" in checks[0].found
    assert "CompressedTensorsConfig" in checks[0].found
    assert list((tmp_path / "caches").rglob("*DeepseekV3*"))


def test_the_engine_refuses_what_would_not_start(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], context: Context, tmp_path: Path
) -> None:
    """A length that the model does not have, and a parser that this version does not know: both told before anything is stopped."""
    wrong = release(engine_environment, engine_models["new"], tmp_path, "--max-model-len", "51200", "--reasoning-parser", "kimi_k9")
    with pytest.raises(GateFailed) as caught:
        check_candidate(context, wrong)
    refused, parser = caught.value.failed
    assert "51200" in refused
    assert "kimi_k9" in parser
    assert "kimi_k2" in parser


def test_a_served_model_is_measured_by_its_own_client_and_judged(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], context: Context, tmp_path: Path
) -> None:
    """`vllm bench serve` against the model as it was published (FP8 KV cache declared): valid figures; a floor that is met, one that is not."""
    made, recipe = release(engine_environment, engine_models["new"], tmp_path, port=free_port()), read_recipe("demo")
    with served(made, tmp_path / "log"):
        (measurement,) = measurements = measure(context, made, recipe.workloads)
    assert measurement.invalid == []
    assert measurement.successes == recipe.workloads[0].prompts
    assert measurement.output_tokens == recipe.workloads[0].prompts * recipe.workloads[0].output_tokens
    assert all(check.passed for check in gate(context, recipe, measurements))
    too_high = recipe.model_copy(update={"floors": [Floor(workload="single", output_tokens_per_s=1e6)]})
    with pytest.raises(GateFailed, match="at least 1e\\+06"):
        gate(context, too_high, measurements)
