"""Whether the GPUs are there, readable, large enough and held by nobody else. Pure; a CPU engine asks nothing."""

from collections.abc import Sequence
from math import prod

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts, Gpu, GpuProcess, Gpus
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe
from modelpivot.models.size import say_bytes

TENSOR = "tensor-parallel-size"
BESIDE_TENSOR = ("pipeline-parallel-size", "data-parallel-size")
PARALLEL_FLAGS = (TENSOR, *BESIDE_TENSOR)
STRANGER_BYTES = 2**30
"""A stranger that holds less on a GPU (a monitor, a display) leaves the model its share."""


def gpus_needed(recipe: Recipe, engine: Engine) -> int:
    """GPUs that must be there: the recipe's count, or what its parallel sizes multiply to when that is more."""
    return 0 if engine.device == "cpu" else max(recipe.serve.gpus, _multiply(recipe, PARALLEL_FLAGS))


def gpus_a_tensor(recipe: Recipe, engine: Engine) -> int | None:
    """Over how many GPUs each layer is divided where the recipe does not say: all that are needed, less what its pipeline and its replicas take.

    None: the GPUs do not divide evenly among those.
    """
    needed, beside = gpus_needed(recipe, engine), _multiply(recipe, BESIDE_TENSOR)
    return None if needed % beside else needed // beside


def _multiply(recipe: Recipe, flags: Sequence[str]) -> int:
    """A size that the recipe does not say is 1."""
    sizes = [recipe.serve.args.get(flag) for flag in flags]
    return prod(size for size in sizes if isinstance(size, int) and size > 0)


def device_blockers(recipe: Recipe, engine: Engine, facts: Facts) -> list[Blocker]:
    """Everything about the GPUs that stands in the way."""
    needed = gpus_needed(recipe, engine)
    return [*_undivided(recipe, engine), *_of_the_host(recipe, needed, facts)] if needed else []


def _undivided(recipe: Recipe, engine: Engine) -> list[Blocker]:
    if TENSOR in recipe.serve.args or gpus_a_tensor(recipe, engine) is not None:
        return []
    said = " and ".join(f"{flag} {recipe.serve.args[flag]}" for flag in BESIDE_TENSOR if flag in recipe.serve.args)
    expected = f"a multiple of {_multiply(recipe, BESIDE_TENSOR)}: {said}, and {TENSOR} is left out"
    remedy = f"set gpus to one, or write {TENSOR} too"
    return [_blocker("GPUS_UNDIVIDED", "gpus of the recipe", expected, str(recipe.serve.gpus), remedy)]


def _of_the_host(recipe: Recipe, needed: int, facts: Facts) -> list[Blocker]:
    gpus = facts.host.gpus
    if isinstance(gpus, Unread):
        return [_blocker("GPUS_UNREAD", "GPUs of this host", f"{needed} that answer", str(gpus), "mend the driver, then plan again")]
    chosen = chosen_gpus(gpus, recipe, needed)
    if len(chosen) < needed:
        return [_too_few(needed, chosen, gpus)]
    return [
        *(_mig(gpu) for gpu in chosen if is_mig(gpu)),
        *(blocker for gpu in chosen for blocker in _memory_unread(gpu)),
        *_too_little_memory(chosen, facts),
        *held_by_strangers(chosen, gpus.processes, facts.host.own_pids),
    ]


def chosen_gpus(gpus: Gpus, recipe: Recipe, needed: int) -> list[Gpu]:
    """Those that the engine will take: named by CUDA_VISIBLE_DEVICES in the recipe, else the first by index."""
    return visible_gpus(gpus, recipe.serve.env.get("CUDA_VISIBLE_DEVICES"))[:needed]


def visible_gpus(gpus: Gpus, names: str | None) -> list[Gpu]:
    """By index; those that CUDA_VISIBLE_DEVICES names, all without it."""
    ordered = sorted(gpus.gpus, key=lambda gpu: gpu.index)
    if not names:
        return ordered
    words = [word.strip() for word in names.split(",")]
    return [gpu for gpu in ordered if str(gpu.index) in words or any(word and gpu.uuid.startswith(word) for word in words)]


def held_by_strangers(gpus: Sequence[Gpu], processes: Sequence[GpuProcess], own_pids: Sequence[int]) -> list[Blocker]:
    """One blocker a GPU on which somebody else holds memory, or on which memory is held by nobody that this host shows."""
    blockers = []
    for gpu in gpus:
        on_gpu = [process for process in processes if process.gpu_uuid == gpu.uuid]
        strangers = [process for process in on_gpu if process.pid not in own_pids]
        if _is_much(strangers):
            found = ", ".join(f"process {process.pid} ({process.name}) with {_say(process.used_bytes)}" for process in strangers)
            blockers.append(_held(gpu, found, "end it, or move it to another GPU; it is not touched by a pivot"))
        elif not on_gpu and isinstance(gpu.used_bytes, int) and gpu.used_bytes >= STRANGER_BYTES:
            found = f"{say_bytes(gpu.used_bytes)} in use and no process to be seen"
            blockers.append(_held(gpu, found, "look for it in containers and other namespaces; if there is none, the GPU needs a reset"))
    return blockers


def _is_much(strangers: Sequence[GpuProcess]) -> bool:
    sizes = [process.used_bytes for process in strangers]
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) < len(sizes) or sum(known) >= STRANGER_BYTES


def _held(gpu: Gpu, found: str, remedy: str) -> Blocker:
    return _blocker("GPU_HELD", f"memory of GPU {gpu.index}", "held by the current release alone, or by nobody", found, remedy)


def _too_few(needed: int, chosen: Sequence[Gpu], gpus: Gpus) -> Blocker:
    found = f"{len(gpus.gpus)} on this host" + (f", {len(chosen)} named by CUDA_VISIBLE_DEVICES" if len(chosen) < len(gpus.gpus) else "")
    return _blocker("GPUS_MISSING", "GPUs of this host", f"{needed}", found, "lower tensor-parallel-size and gpus, or use another host")


def is_mig(gpu: Gpu) -> bool:
    """Whether it is split, so that no engine gets the whole of it."""
    return isinstance(gpu.mig, str) and gpu.mig.lower() == "enabled"


def _mig(gpu: Gpu) -> Blocker:
    return _blocker(
        "GPU_MIG", f"GPU {gpu.index} ({gpu.name})", "a whole GPU", "split by MIG", f"nvidia-smi -i {gpu.index} -mig 0, then reset it"
    )


def _memory_unread(gpu: Gpu) -> list[Blocker]:
    words = {"total memory": gpu.total_bytes, "memory in use": gpu.used_bytes}
    return [
        _blocker(
            "GPU_MEMORY_UNREAD", f"{what} of GPU {gpu.index} ({gpu.name})", "a number", str(value), "read it with a driver that tells it"
        )
        for what, value in words.items()
        if isinstance(value, Unread)
    ]


def _too_little_memory(gpus: Sequence[Gpu], facts: Facts) -> list[Blocker]:
    """The weights alone must fit, whatever the engine adds; what the context takes is not judged here."""
    manifest = facts.model.manifest
    totals = [gpu.total_bytes for gpu in gpus if isinstance(gpu.total_bytes, int)]
    if isinstance(manifest, Unread) or len(totals) < len(gpus) or manifest.bytes_total <= sum(totals):
        return []
    return [
        _blocker(
            "GPU_MEMORY_SMALL",
            f"memory of {len(gpus)} GPUs",
            f"more than the weights' {say_bytes(manifest.bytes_total)}",
            say_bytes(sum(totals)),
            "use more or larger GPUs, or a smaller quantization",
        )
    ]


def _say(size: int | Unread) -> str:
    return str(size) if isinstance(size, Unread) else say_bytes(size)


def _blocker(code: str, what: str, expected: str, found: str, remedy: str) -> Blocker:
    return Blocker(code=code, what=what, expected=expected, found=found, remedy=remedy)
