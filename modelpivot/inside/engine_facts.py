"""What an engine knows, as one JSON object on the last line. Run by the engine's own Python: `engine_facts.py MODULE DISTRIBUTION`.

Importing is half the point: an environment that looks installed and cannot import its compiled parts ends here with a traceback.
"""

import importlib
import json
import pkgutil
import sys
from importlib import metadata
from pathlib import Path

COMPILED = ("_C", "_moe_C", "_C_stable_libtorch", "_moe_C_stable_libtorch")
"""vLLM's compiled parts; which of them a build has differs, one at least must be there."""

CPU_VARIANTS = "_C"
"""What the names of the CPU build's parts begin with: one file for each instruction set (`_C`, `_C_AVX2`, `_C_AVX512`), and the engine takes its own."""


def import_first(*names):
    """The first module that is there: names move between versions."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def import_compiled(package):
    """Names of the compiled parts that are loaded now. A part for another processor is not tried: it would end the process (SIGILL)."""
    platform = importlib.import_module("vllm.platforms").current_platform
    if platform.is_cpu() and hasattr(platform, "import_kernels"):
        return import_for_this_processor(package, platform)
    present = sorted(name for _, name, _ in pkgutil.iter_modules(package.__path__) if name in COMPILED)
    if not present:
        raise ModuleNotFoundError(f"{package.__name__} has none of its compiled parts {', '.join(COMPILED)}")
    for name in present:
        importlib.import_module(f"{package.__name__}.{name}")
    return present


def import_for_this_processor(package, platform):
    platform.import_kernels()
    folder = Path(package.__path__[0]).resolve()
    loaded = sorted(name for name in read_mapped(folder) if name.startswith(CPU_VARIANTS))
    if not loaded:
        raise ImportError(f"{package.__name__} loaded none of the compiled parts in {folder}; why, it says above")
    return loaded


def read_mapped(folder):
    """Libraries of `folder` that this process has mapped, by module name. The engine swallows the import's error, and a part may come under
    another name than its file's: the memory map tells what is really there."""
    mapped = {Path(line.split(maxsplit=5)[5]) for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    return {path.name.split(".")[0] for path in mapped if path.parent == folder and path.suffix == ".so"}


def ask_vllm(package):
    registry = importlib.import_module("vllm.model_executor.models.registry").ModelRegistry
    tools = import_first("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers").ToolParserManager
    reasoning = importlib.import_module("vllm.reasoning").ReasoningParserManager
    quantization = importlib.import_module("vllm.model_executor.layers.quantization")
    return {
        "compiled": import_compiled(package),
        "architectures": sorted(registry.get_supported_archs()),
        "tool_parsers": sorted(tools.list_registered()),
        "reasoning_parsers": sorted(reasoning.list_registered()),
        "quantizations": sorted(quantization.QUANTIZATION_METHODS),
    }


def count_gpus():
    """GPUs that NVML shows (no CUDA context is made by asking it); None: this environment has no NVML, or the machine has none."""
    try:
        nvml = import_first("vllm.third_party.pynvml", "pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 NVML has an exception class for every way to be absent
        return None
    try:
        return nvml.nvmlDeviceGetCount()
    finally:
        nvml.nvmlShutdown()


def has_cuda_context():
    """Whether anything imported so far made a CUDA context; None: no torch was imported."""
    torch = sys.modules.get("torch")
    return None if torch is None else bool(torch.cuda.is_initialized())


def main(module, distribution):
    package = importlib.import_module(module)
    answers = ask_vllm(package) if module == "vllm" else {}
    looked = {"gpus": count_gpus(), "cuda_context": has_cuda_context()}
    print(json.dumps({"version": metadata.version(distribution), **answers, **looked}))


if __name__ == "__main__":
    main(*sys.argv[1:])
