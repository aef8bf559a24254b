"""Recorded hosts as facts: made of what real tools print, written to tests/captures/hosts with the plan of each: python -m tests.recorded."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from typer.testing import CliRunner

from modelpivot.cli.app import app
from modelpivot.cli.plan_view import show_plan
from modelpivot.facts.model_config import parse_model_config
from modelpivot.facts.nvidia_smi import parse_gpus, parse_matrix, parse_processes
from modelpivot.models.engine import Engine, Pin, Resolution
from modelpivot.models.facts import (
    Disk,
    EngineFacts,
    Facts,
    GpuLink,
    Gpus,
    HostFacts,
    HubAccess,
    HubCache,
    Listener,
    ModelCard,
    ModelFacts,
    ModelWeights,
    Packages,
    SeenRates,
    StoredWeights,
    TensorGroup,
    Tool,
    Toolchain,
    WeightsOnDisk,
    Xid,
)
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, ManifestFile, weights_directory
from modelpivot.plans.pivot import plan_pivot
from modelpivot.plans.release import candidate_release
from modelpivot.recipes import read_engine, read_recipe

CAPTURES = Path(__file__).parent / "captures"
HOSTS = CAPTURES / "hosts"
QWEN = HOSTS / "qwen3-8b.yaml"
MEASURED = HOSTS / "qwen3-7b.yaml"
MIB, GIB = 2**20, 2**30
FONTS = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
RELEASE = re.compile(r"(kimi-k2\.5-nvfp4|glm-5-gguf|qwen3-8b|qwen3-7b)-[0-9a-f]{10}")
"""Ids follow the engine's settings, which are none of a host's business."""
COMMIT = "4d7e1c0b" * 5
BESIDE_SHARDS = [
    ManifestFile(path="config.json", size=9530, git_oid="b" * 40),
    ManifestFile(path="tokenizer.json", size=7_000_000, sha256="7" * 64),
]
"""What goes with the shards of every model."""
READ_AT = 1_796_000_000.0
PRO6000 = HostConfig(
    name="pro6000",
    weights_root=Path("/pool/weights"),
    environments_root=Path("/pool/environments"),
    state_dir=Path("/var/lib/modelpivot"),
    supervisor="systemd",
)
H200 = HostConfig(
    name="h200",
    weights_root=Path("/srv/pivot/weights"),
    environments_root=Path("/srv/pivot/environments"),
    state_dir=Path("/srv/pivot/state"),
    supervisor="process",
)
SMALL = HostConfig(name="small", weights_root=Path("/data/weights"), environments_root=Path("/opt/modelpivot/environments"))
KIMI_CONFIG: dict[str, Any] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
    "model_type": "kimi_k25",
    "dtype": "bfloat16",
    "quantization_config": {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
        "producer": {"name": "modelopt", "version": "0.41.0"},
    },
    "text_config": {
        "model_type": "deepseek_v3",
        "num_hidden_layers": 61,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 384,
        "num_experts_per_tok": 8,
        "n_shared_experts": 1,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "max_position_embeddings": 262144,
        "vocab_size": 163840,
    },
    "vision_config": {"vt_num_hidden_layers": 27},
}
KIMI_TENSORS = (
    ("experts", "U8", 69120, 507_343_011_840),
    ("experts", "F8_E4M3", 69120, 63_417_876_480),
    ("experts", "F32", 138240, 552_960),
    ("shared_experts", "U8", 180, 1_321_205_760),
    ("shared_experts", "F8_E4M3", 180, 165_150_720),
    ("attention", "BF16", 183, 10_489_954_304),
    ("latent", "BF16", 122, 1_846_935_552),
    ("mlp", "U8", 3, 198_180_864),
    ("mlp", "F8_E4M3", 3, 24_772_608),
    ("embedding", "BF16", 1, 2_348_810_240),
    ("head", "BF16", 1, 2_348_810_240),
    ("router", "BF16", 60, 330_301_440),
    ("small", "BF16", 425, 2_100_000),
    ("vision", "BF16", 335, 933_230_592),
)
"""Bytes that follow from KIMI_CONFIG: 4 bits and a scale of 8 for each 16 in experts and MLPs, 16 bits in attention, embedding, head and vision."""
QWEN_CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "num_hidden_layers": 36,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
}
QWEN_TENSORS = (
    ("attention", "BF16", 72, 36 * 2 * 4096 * 4096 * 2),
    ("keys", "BF16", 72, 36 * 2 * 4096 * 1024 * 2),
    ("mlp", "BF16", 108, 36 * 3 * 4096 * 12288 * 2),
    ("embedding", "BF16", 1, 151936 * 4096 * 2),
    ("head", "BF16", 1, 151936 * 4096 * 2),
    ("small", "BF16", 145, 614_400),
)


def kimi() -> ModelFacts:
    """The brief's new model, 119 shards, nothing of it on disk."""
    card = ModelCard(license="modified-mit", base_model="moonshotai/Kimi-K2.5", tensor_parallel=4, engine_version=">=0.15.0")
    return _model("nvidia/Kimi-K2.5-NVFP4", KIMI_CONFIG, KIMI_TENSORS, shards=119, root=PRO6000.weights_root, card=card)


def qwen() -> ModelFacts:
    """A small dense model."""
    card = ModelCard(license="apache-2.0", engine_version=">=0.8.5")
    return _model("Qwen/Qwen3-8B", QWEN_CONFIG, QWEN_TENSORS, shards=5, root=SMALL.weights_root, card=card)


def _model(
    repo: str, config: dict[str, Any], tensors: tuple[tuple[str, str, int, int], ...], *, shards: int, root: Path, card: ModelCard
) -> ModelFacts:
    groups = [TensorGroup(role=role, dtype=dtype, tensors=count, size_bytes=size) for role, dtype, count, size in tensors]
    weights = ModelWeights(groups=groups, files=shards, read_bytes=shards * 300_000)
    names = [f"model-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
    files = [
        ManifestFile(path=name, size=weights.size_bytes // shards + 300_000, sha256=f"{number:064x}") for number, name in enumerate(names)
    ]
    manifest = Manifest(repo=repo, commit=COMMIT, files=[*BESIDE_SHARDS, *files])
    return ModelFacts(
        manifest=manifest,
        config=config,
        summary=parse_model_config(config),
        weights=weights,
        card=card,
        access=HubAccess(has_token=True),
        on_disk=WeightsOnDisk(
            directory=weights_directory(root, repo, COMMIT),
            present_files=0,
            missing_bytes=manifest.bytes_total,
            missing_files=len(manifest.files),
        ),
    )


def engine(version: str = "0.26.0") -> EngineFacts:
    """vLLM for CUDA 13, not installed yet."""
    return EngineFacts(resolution=_resolution(version), environment_proved=False, environment_dir=PRO6000.environments_root)


def _resolution(version: str) -> Resolution:
    pins = [Pin(name="vllm", version=version), Pin(name="torch", version="2.11.0"), Pin(name="nvidia-cuda-runtime", version="13.0.96")]
    return Resolution(engine="vllm", engine_version=version, pins=pins, lock_text="", digest="0123456789", python="3.12.3")


def pro6000(gpus_csv: str = "nvidia-smi-rtx-pro-6000.csv", apps_csv: str | None = None, **changes: Any) -> HostFacts:
    """The brief's host; nothing serves unless a change says so."""
    gpus = parse_gpus((CAPTURES / gpus_csv).read_text())
    processes = parse_processes((CAPTURES / apps_csv).read_text()) if apps_csv else []
    used = {process.gpu_uuid: process.used_bytes for process in processes}
    cards = [
        gpu.model_copy(
            update={
                "used_bytes": used.get(gpu.uuid, 0),
                "reserved_bytes": 637 * MIB,
                "mig": "Disabled",
                "cuda": "13.1",
                "pci": f"0000:{0x10 + gpu.index:02x}:00.0",
            }
        )
        for gpu in gpus
    ]
    values: dict[str, Any] = {
        "read_at": READ_AT,
        "gpus": Gpus(gpus=cards, processes=processes, read_with="nvml"),
        "links": _links((CAPTURES / "nvidia-smi-topo-rtx-pro-6000.txt").read_text()),
        "disks": [
            _disk(PRO6000.weights_root),
            _disk(PRO6000.environments_root),
            _disk(PRO6000.state_dir, mount="/", device=1, total=960, free=700),
        ],
        "memory_bytes": 740 * GIB,
        "listeners": [Listener(port=22, address="0.0.0.0", pid=1, command="sshd")],
        "tools": {"uv": Tool(path=Path("/usr/local/bin/uv"), version="0.13.9")},
        "current": None,
        "current_answers": Unread(unread="no release is current on this host"),
        "cutover": None,
        "supervisor": "systemd",
        "toolchain": Toolchain(
            glibc="2.39",
            cuda_toolkits={"/usr/local/cuda-12.8": "12.8", "/usr/local/cuda-13.1": "13.1"},
            kernel="6.8.0-49-generic",
        ),
        "hub_cache": HubCache(
            path=Path("/root/.cache/huggingface/hub"), size_bytes=247_000_000, repos=3, unreferenced_bytes=0, filesystem=1
        ),
        "rates": SeenRates(download_bytes_per_s=410e6, install_s=95, switch_s=640, benchmark_s=180, runs=3),
    }
    return HostFacts.model_validate({**values, **changes})


def serving(host: HostFacts) -> HostFacts:
    """With the old model on every card and port 8000."""
    old, environment = _old_release(), Path("/opt/vllm")
    versions = {"vllm": "0.14.0", "torch": "2.9.1+cu128", "flash-attn": "2.8.3", "numpy": "2.4.2", "huggingface-hub": "1.4.1"}
    packages = Packages(path=environment, python="3.12.3", versions=versions, engine="vllm", torch_cuda="12.8", is_current=True)
    apps = parse_processes((CAPTURES / "nvidia-smi-rtx-pro-6000-apps.csv").read_text())
    seen = {"started_at": READ_AT - 9e5, "user": "root", "unit": "vllm-glm5.service", "command": "VLLM::Worker_TP"}
    assert isinstance(host.gpus, Gpus)
    cards = [gpu.model_copy(update={"used_bytes": 93783 * MIB}) for gpu in host.gpus.gpus]
    held = Gpus(gpus=cards, processes=[process.model_copy(update=seen) for process in apps], read_with="nvml")
    port = Listener(port=8000, address="0.0.0.0", pid=4099, command="/opt/vllm/bin/python -m vllm", unit="vllm-glm5.service")
    stored = StoredWeights(
        path=old.weights_dir, repo="", commit="", size_bytes=402 * 10**9, state="foreign", used_by=[old.id], filesystem=7
    )
    changes = {"current": old, "current_answers": True, "own_pids": [4099, *range(4100, 4108)], "gpus": held, "environments": [packages]}
    listeners = host.listeners if isinstance(host.listeners, list) else []
    return host.model_copy(update={**changes, "listeners": [*listeners, port], "stored": [stored]})


def first_day() -> HostFacts:
    """The brief's first minute: the old unit serves and was never adopted; its merged file is the only one there is."""
    host = serving(pro6000())
    strangers: dict[str, Any] = {
        "current": None,
        "current_answers": Unread(unread="no release is current on this host"),
        "own_pids": [],
        "frozen": [],
    }
    return host.model_copy(update={**strangers, "stored": [_merged()]})


def stopped() -> HostFacts:
    """The brief's second step: the unit is gone, 0 MiB on every GPU, the old weights still there."""
    return pro6000(stored=[_merged()])


def _merged() -> StoredWeights:
    path, name = PRO6000.weights_root / "glm5-gguf", "GLM-5-UD-Q4_K_XL.gguf"
    return StoredWeights(path=path, repo="", commit="", size_bytes=402 * 10**9, state="foreign", filesystem=7, irreplaceable=[name])


def _old_release() -> Any:
    recipe = read_recipe("glm-5-gguf")
    files = Manifest(repo=recipe.model.repo, commit="9a" * 20, files=[ManifestFile(path="GLM-5.gguf", size=402 * 10**9, sha256="c" * 64)])
    return candidate_release(recipe, PRO6000, _vllm(), files, _resolution("0.14.0"))


def _vllm() -> Engine:
    return read_engine("vllm")


def disk_small() -> HostFacts:
    """300 GB free; half-fetched weights of another model and a cache could go."""
    pool: dict[str, Any] = {"mount": "/pool", "device": 7, "total": 1700, "free": 300}
    disks = [_disk(PRO6000.weights_root, **pool), _disk(PRO6000.environments_root, **pool), _disk(PRO6000.state_dir, mount="/", device=1)]
    host = serving(
        pro6000(
            disks=disks,
            hub_cache=HubCache(path=Path("/pool/hf/hub"), size_bytes=310 * 10**9, repos=9, unreferenced_bytes=95 * 10**9, filesystem=7),
        )
    )
    other = StoredWeights(
        path=PRO6000.weights_root / "org--other" / ("7c" * 20),
        repo="org/other",
        commit="7c" * 20,
        size_bytes=260 * 10**9,
        state="partial",
        filesystem=7,
    )
    stored = host.stored if isinstance(host.stored, list) else []
    return host.model_copy(update={"stored": [*stored, other]})


def stranger() -> HostFacts:
    """A notebook holds 9 GB on GPU 3, and GPU 5 reported that it fell off the bus."""
    host = pro6000()
    assert isinstance(host.gpus, Gpus)
    text = f"gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n{host.gpus.gpus[3].uuid}, 991, /opt/notebooks/bin/python, 9012 MiB\n"
    seen = {
        "started_at": READ_AT - 7200,
        "user": "ada",
        "unit": "jupyter.service",
        "command": "/opt/notebooks/bin/python -m ipykernel_launcher",
    }
    cards = [gpu.model_copy(update={"used_bytes": 9030 * MIB}) if gpu.index == 3 else gpu for gpu in host.gpus.gpus]
    processes = [process.model_copy(update=seen) for process in parse_processes(text)]
    xid = Xid(pci=cards[5].pci, code=79, message="GPU has fallen off the bus.")
    return host.model_copy(update={"gpus": Gpus(gpus=cards, processes=processes, read_with="nvml"), "xids": [xid]})


def mig() -> HostFacts:
    """GPU 0 is split."""
    host = pro6000()
    assert isinstance(host.gpus, Gpus)
    cards = [gpu.model_copy(update={"mig": "Enabled"}) if gpu.index == 0 else gpu for gpu in host.gpus.gpus]
    return host.model_copy(update={"gpus": Gpus(gpus=cards, read_with="nvml")})


def small(gpus_csv: str | None, **changes: object) -> HostFacts:
    """A host of one card, or none, without anything of ours."""
    cards = parse_gpus((CAPTURES / gpus_csv).read_text()) if gpus_csv else []
    disks = [
        _disk(path, mount="/", device=1, total=2000, free=900) for path in (SMALL.weights_root, SMALL.environments_root, SMALL.state_dir)
    ]
    values: dict[str, Any] = {
        "gpus": Gpus(gpus=[card.model_copy(update={"pci": "0000:00:06.0", **changes}) for card in cards]),
        "links": [],
        "disks": disks,
    }
    values |= {"toolchain": Toolchain(glibc="2.36", kernel="6.1.0"), "hub_cache": None, "rates": SeenRates(), "memory_bytes": 120 * GIB}
    return pro6000(**values)


def measured(state: str) -> HostFacts:
    """What `modelpivot facts --json` told of a real host; paths, serials and foreign listeners replaced."""
    return HostFacts.model_validate_json((CAPTURES / f"facts-h200-{state}.json").read_text())


def measured_model() -> ModelFacts:
    """What it told there of a model with random weights, from a mirror."""
    return ModelFacts.model_validate_json((CAPTURES / "facts-h200-model.json").read_text())


def _disk(path: Path, *, mount: str = "/pool", device: int = 7, total: int = 1700, free: int = 1300) -> Disk:
    sizes = {"total_bytes": total * 10**9, "free_bytes": free * 10**9, "free_inodes": 90_000_000}
    return Disk(path=path, mount=Path(mount), kind="xfs" if device == 7 else "ext4", device=device, is_writable=True, **sizes)


def _links(text: str) -> list[GpuLink]:
    return [GpuLink(first=a, second=b, level=level, has_p2p=True) for (a, b), level in sorted(parse_matrix(text).items())]


Made = tuple[str, Callable[[], HostFacts], Callable[[], ModelFacts], HostConfig]
RECORDED: dict[str, Made] = {
    "pro6000-serving": ("kimi-k2.5-nvfp4", lambda: serving(pro6000()), kimi, PRO6000),
    "pro6000-first-day": ("kimi-k2.5-nvfp4", first_day, kimi, PRO6000),
    "pro6000-stopped": ("kimi-k2.5-nvfp4", stopped, kimi, PRO6000),
    "pro6000-clean": ("kimi-k2.5-nvfp4", pro6000, kimi, PRO6000),
    "pro6000-disk-small": ("kimi-k2.5-nvfp4", disk_small, kimi, PRO6000),
    "pro6000-stranger": ("kimi-k2.5-nvfp4", stranger, kimi, PRO6000),
    "pro6000-mig": ("kimi-k2.5-nvfp4", mig, kimi, PRO6000),
    "gb10": (str(QWEN), lambda: small("nvidia-smi-gb10.csv", cuda="13.0"), qwen, SMALL),
    "h200": (str(QWEN), lambda: small("nvidia-smi-h200-idle.csv", cuda="13.0", reserved_bytes=616 * MIB), qwen, SMALL),
    "h200-measured": (str(MEASURED), lambda: measured("idle"), measured_model, H200),
    "h200-measured-serving": (str(MEASURED), lambda: measured("serving"), measured_model, H200),
    "no-gpu": (str(QWEN), lambda: small(None), qwen, SMALL),
}


CLEANUPS = {
    "pro6000-first-day": ("--stop", "vllm-glm5.service"),
    "pro6000-stopped": (),
    "pro6000-serving": ("--stop", "glm-5-gguf"),
    "pro6000-disk-small": (),
    "pro6000-stranger": (),
}
"""Recorded hosts with a clean slate of their own, and what is named there."""


def facts_of(name: str) -> Facts:
    """One recorded host, whole."""
    _, host, model, configuration = RECORDED[name]
    return Facts(host=host(), model=model(), engine=engine(), read_s=0.8, configuration=configuration)


def plan_text(name: str, *options: str) -> str:
    """What the command prints for a recorded host, its exit code on the last line."""
    return _command_text("plan", RECORDED[name][0], "--facts", str(HOSTS / f"{name}.json"), *options)


def cleanup_text(name: str, *options: str) -> str:
    """What `cleanup` prints for a recorded host, its exit code on the last line."""
    return _command_text("cleanup", *CLEANUPS[name], "--facts", str(HOSTS / f"{name}.json"), *options)


def _command_text(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "160"})
    lines = RELEASE.sub(r"\1-0123456789", result.output).splitlines()
    return "\n".join(line.rstrip() for line in lines) + f"\n\nexit code {result.exit_code}\n"


def picture(name: str) -> str:
    """The plan of a recorded host as a terminal shows it, for the documentation: SVG without anything from another host."""
    facts = Facts.model_validate_json((HOSTS / f"{name}.json").read_text())
    recipe = read_recipe(RECORDED[name][0])
    plan = plan_pivot(recipe, facts.configuration or PRO6000, facts, read_engine(recipe.engine.name))
    console = Console(width=150, record=True, highlight=False, file=io.StringIO())
    show_plan(console, plan)
    return FONTS.sub("", console.export_svg(title=f"modelpivot plan {recipe.name}"))


def main() -> None:
    """Write every host and its plan, and the picture in the documentation."""
    for name in RECORDED:
        (HOSTS / f"{name}.json").write_text(facts_of(name).model_dump_json(indent=1, exclude_defaults=False) + "\n")
        (HOSTS / f"{name}.plan.txt").write_text(plan_text(name))
    for name in CLEANUPS:
        (HOSTS / f"{name}.cleanup.txt").write_text(cleanup_text(name))
    (Path(__file__).parents[1] / "docs" / "images" / "plan.svg").write_text(picture("pro6000-serving"))


if __name__ == "__main__":
    main()
