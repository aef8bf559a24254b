"""Room beside what serves: GPUs that nobody uses, or memory for an engine on the processors, and a port. Pure."""

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts, Gpu, GpuProcess, Gpus
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe
from modelpivot.models.size import say_bytes
from modelpivot.plans.devices import gpus_needed, held_by_strangers, is_mig
from modelpivot.plans.wait import FREE_GPU_BYTES

ENGINE_BYTES = 3_000_000_000
"""Host memory of an engine beside its weights and cache."""
CACHE_VARIABLE = "VLLM_CPU_KVCACHE_SPACE"
ELSEWHERE = "test in a window (MODELPIVOT_WINDOW, --capacity window), or the probe model (--model probe)"


def free_gpus(facts: Facts) -> list[Gpu]:
    """Whole ones on which no process holds memory worth the name, what serves included. What is not known is not free."""
    gpus = facts.host.gpus
    if not isinstance(gpus, Gpus):
        return []
    return [gpu for gpu in sorted(gpus.gpus, key=lambda gpu: gpu.index) if _is_free(gpu, gpus.processes)]


def _is_free(gpu: Gpu, processes: list[GpuProcess]) -> bool:
    is_empty = isinstance(gpu.used_bytes, int) and gpu.used_bytes < FREE_GPU_BYTES
    return is_empty and not is_mig(gpu) and not held_by_strangers([gpu], processes, own_pids=[])


def place_beside(recipe: Recipe, engine: Engine, facts: Facts) -> Recipe:
    """The recipe on the GPUs that are free; as it is on the processors, or where there are too few."""
    needed, free = gpus_needed(recipe, engine), free_gpus(facts)
    if not needed or len(free) < needed:
        return recipe
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(str(gpu.index) for gpu in free[:needed])}
    return recipe.model_copy(update={"serve": recipe.serve.model_copy(update={"env": recipe.serve.env | visible})})


def spare_port(recipe: Recipe, host: HostConfig, facts: Facts) -> int:
    """The first port behind the service's own on which nobody listens; the own one, which then blocks, where that is not known."""
    own, listeners = host.port or recipe.serve.port, facts.host.listeners
    taken = {own} if isinstance(listeners, Unread) else {own, *(it.port for it in listeners)}
    return next((port for port in range(own + 1, min(own + 1000, 65536)) if port not in taken), own)


def spare_blockers(recipe: Recipe, engine: Engine, facts: Facts, *, has_weights: bool) -> list[Blocker]:
    """What is missing for a second engine."""
    needed = gpus_needed(recipe, engine)
    if not needed:
        return _memory_blockers(recipe, facts, has_weights=has_weights)
    if isinstance(facts.host.gpus, Unread):
        return []
    free = free_gpus(facts)
    if len(free) >= needed:
        return []
    found = f"{len(free)} of {len(facts.host.gpus.gpus)} free"
    return [Blocker(code="NO_SPARE_GPUS", what="GPUs beside what serves", expected=f"{needed} free", found=found, remedy=ELSEWHERE)]


def bytes_needed(recipe: Recipe, facts: Facts, *, has_weights: bool) -> int:
    """Of host memory, by an engine on the processors."""
    manifest, gibibytes = facts.model.manifest, recipe.serve.env.get(CACHE_VARIABLE, "")
    weights = 0 if isinstance(manifest, Unread) or not has_weights else manifest.bytes_total
    return ENGINE_BYTES + weights + (int(gibibytes) * 2**30 if gibibytes.isdecimal() else 0)


def _memory_blockers(recipe: Recipe, facts: Facts, *, has_weights: bool) -> list[Blocker]:
    needed, available = bytes_needed(recipe, facts, has_weights=has_weights), facts.host.memory_bytes
    if not isinstance(available, Unread) and available >= needed:
        return []
    found = str(available) if isinstance(available, Unread) else say_bytes(available)
    return [Blocker(code="NO_SPARE_MEMORY", what="memory beside what serves", expected=say_bytes(needed), found=found, remedy=ELSEWHERE)]
