"""The CUDA that wheels are built for against the one that the driver offers. Pure."""

from modelpivot.models.cuda import driver_cuda, is_cpu_build, parse_cuda, wanted_cuda
from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpus
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe


def variant_blockers(recipe: Recipe, facts: Facts, engine: Engine) -> list[Blocker]:
    """The wheels' CUDA against what the driver offers: another major than it runs, or no CUDA at all for an engine that needs GPUs."""
    resolution, offered = facts.engine.resolution, offered_cuda(facts.host.gpus)
    if isinstance(resolution, Unread) or engine.device != "cuda" or not recipe.serve.gpus:
        return []
    if is_cpu_build(resolution.pins):
        return [_variant("a build for CUDA", "torch for the CPU (+cpu)", "state torch_backend in the recipe, or mend the package index")]
    wanted = wanted_cuda(resolution.pins)
    if wanted is None or offered is None or wanted[0] <= offered[0]:
        return []
    remedy = f"a newer driver, or torch_backend: driver in the recipe, or an engine version built for CUDA {offered[0]}"
    return [_variant(f"at most CUDA {_dotted(offered)}, which the driver offers", f"a build for CUDA {_dotted(wanted)}", remedy)]


def variant_warnings(facts: Facts, engine: Engine) -> list[str]:
    """A newer minor than the driver's own: it runs, but code that is compiled at run time (PTX) does not."""
    resolution, offered = facts.engine.resolution, offered_cuda(facts.host.gpus)
    wanted = None if isinstance(resolution, Unread) or engine.device != "cuda" else wanted_cuda(resolution.pins)
    if wanted is None or offered is None or wanted[0] != offered[0] or wanted <= offered:
        return []
    return [
        f"the wheels are built for CUDA {_dotted(wanted)} and the driver offers {_dotted(offered)}: kernels compiled at run time may not load"
    ]


def offered_cuda(gpus: Gpus | Unread) -> tuple[int, int] | None:
    """The newest CUDA that every GPU's driver offers; None: not known."""
    found = [] if isinstance(gpus, Unread) else [parse_cuda(str(gpu.cuda)) or driver_cuda(str(gpu.driver)) for gpu in gpus.gpus]
    return min((cuda for cuda in found if cuda), default=None)


def _variant(expected: str, found: str, remedy: str) -> Blocker:
    return Blocker(code="CUDA_VARIANT", what="CUDA of the engine's packages", expected=expected, found=found, remedy=remedy)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
