"""What rules are asked about, and whether one of them holds. Pure; a condition on what is unread does not hold."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu, GpuLink
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.recipe import Recipe
from modelpivot.models.rule import When


class Ground(NamedTuple):
    """What rules are asked about."""

    recipe: Recipe
    config: ModelConfig
    gpus: Sequence[Gpu]
    links: Sequence[GpuLink] | Unread
    engine_version: str
    kv_bits: int | None
    """That the checkpoint, or a flag over it, asks for; None: nothing, or a shape that nobody here knows."""


def holds(when: When, ground: Ground) -> bool:
    """Whether every condition that is named holds."""
    return all((_fits_gpus(when, ground), _fits_model(when, ground), _fits_rest(when, ground)))


def _fits_gpus(when: When, ground: Ground) -> bool:
    found = [gpu.compute_capability for gpu in ground.gpus]
    known = [word for word in found if isinstance(word, str)]
    if when.capabilities and not any(word in when.capabilities for word in known):
        return False
    if when.capability_below and not any(_version(word) < _version(when.capability_below) for word in known):
        return False
    if when.capability_from and not (known and all(_version(word) >= _version(when.capability_from) for word in known)):
        return False
    return when.is_pcie_only is None or is_pcie_only(ground) == when.is_pcie_only


def is_pcie_only(ground: Ground) -> bool:
    """More than one chosen GPU, their topology known, and no NVLink between any two of them."""
    chosen = {gpu.index for gpu in ground.gpus}
    if isinstance(ground.links, Unread):
        return False
    between = [link for link in ground.links if link.first in chosen and link.second in chosen]
    return bool(between) and not any(link.level.startswith("NV") for link in between)


def _fits_model(when: When, ground: Ground) -> bool:
    config, latent = ground.config, ground.config.attention.latent if ground.config.attention else None
    names = " ".join((config.text_model_type, config.model_type, *config.architectures, ground.recipe.model.repo)).lower()
    return (
        (not when.quantization or re.search(when.quantization, config.quantization.lower()) is not None)
        and (when.kv_bits is None or ground.kv_bits == when.kv_bits)
        and (not when.attention or config.kind in when.attention)
        and (when.is_sparse is None or bool(latent and latent.index_dim) == when.is_sparse)
        and (not when.family or re.search(when.family, names) is not None)
        and (when.has_remote_code is None or config.has_remote_code == when.has_remote_code)
        and (when.has_vision is None or config.has_vision == when.has_vision)
    )


def _fits_rest(when: When, ground: Ground) -> bool:
    args = ground.recipe.serve.args
    if any(args.get(flag) not in (None, False) for flag in when.lacks_flags):
        return False
    if when.is_parallel is not None and (len(ground.gpus) > 1) != when.is_parallel:
        return False
    return fits_version(when.engine_versions, ground.engine_version)


def fits_version(specifiers: str, version: str) -> bool:
    """Whether the engine's version is among them; no specifiers: any is. False for a version that nobody can read."""
    if not specifiers:
        return True
    try:
        return Version(version) in SpecifierSet(specifiers, prereleases=True)
    except InvalidVersion:
        return False


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
