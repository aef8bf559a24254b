"""The probe model of an upgrade test: the model's own architecture, quantization and kernels, few layers of it, with random weights. Pure.

It takes one GPU where the model takes eight, and finds most of what a new engine breaks: imports, architectures, quantization, kernels, flags. What
answers are worth it cannot tell.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from modelpivot.models.benchmark import PROBE_SUFFIX
from modelpivot.models.recipe import Patch, Probe, Recipe, Scalar, Source
from modelpivot.plans.devices import PARALLEL_FLAGS

PROBE_REASON = "the probe model has"
"""How the reason of its own patches begins: these are part of it, and no remedy for an engine."""
FEWEST_LAYERS = 2
MOST_TOKENS = 4096
EXCUSED = ("TENSOR_PARALLEL_UNEVEN", "MODEL_TOO_LARGE", "CONTEXT_TOO_LONG", "GPU_MEMORY_SMALL")
"""Blockers that are about all layers of the model."""
PROBES = [Probe(kind="answer", not_degenerate=False), Probe(kind="repeat")]
"""Random weights answer anything, and perhaps one word again and again."""


class ProbeModel(NamedTuple):
    """A recipe that serves it, and what it is in words."""

    recipe: Recipe
    model: str


def make_probe(recipe: Recipe, config: Mapping[str, JsonValue]) -> ProbeModel:
    """The recipe's own probe model where it names one, else the first layers of its model."""
    if recipe.probe_model:
        return ProbeModel(_named(recipe, model=recipe.probe_model), f"probe model {recipe.probe_model.repo}")
    block, pointer = _layers_block(config)
    layers, kept = block.get("num_hidden_layers"), layers_needed(block)
    patches = _shorten(block, pointer, layers, kept) if isinstance(layers, int) and kept < layers else []
    said = f"{kept} of {layers} layers" if patches else "all layers"
    return ProbeModel(_small(recipe, patches), f"probe model: {said} of {recipe.model.repo}, random weights")


def layers_needed(block: Mapping[str, JsonValue]) -> int:
    """So many of the first layers that every kind of layer is among them."""
    needed = FEWEST_LAYERS
    dense, every = block.get("first_k_dense_replace"), block.get("full_attention_interval")
    needed = max(needed, dense + 1 if isinstance(dense, int) else 0, every if isinstance(every, int) else 0)
    for kinds in _lists_of_layers(block).values():
        needed = max(needed, *(kinds.index(kind) + 1 for kind in kinds))
    return needed


def _layers_block(config: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], str]:
    """The block that counts the layers, and the pointer to it: the text model's inside a multimodal one."""
    inner = config.get("text_config")
    return (inner, "/text_config") if isinstance(inner, dict) and "num_hidden_layers" in inner else (config, "")


def _lists_of_layers(block: Mapping[str, JsonValue]) -> dict[str, list[JsonValue]]:
    """What says something of each layer by itself, such as `layer_types`."""
    count = block.get("num_hidden_layers")
    return {name: value for name, value in block.items() if isinstance(value, list) and len(value) == count and count > FEWEST_LAYERS}


def _shorten(block: Mapping[str, JsonValue], pointer: str, layers: int, kept: int) -> list[Patch]:
    why = f"{PROBE_REASON} {kept} of {layers} layers"
    lists = {name: (value, value[:kept]) for name, value in _lists_of_layers(block).items()}
    changes: dict[str, tuple[JsonValue, JsonValue]] = {"num_hidden_layers": (layers, kept), **lists}
    return [Patch(pointer=f"{pointer}/{name}", expected=before, new=after, why=why) for name, (before, after) in changes.items()]


def _small(recipe: Recipe, patches: list[Patch]) -> Recipe:
    """On one device, without its weights, with probes that random weights can pass."""
    serve = recipe.serve
    asked = serve.args.get("max-model-len")
    length = min(asked, MOST_TOKENS) if isinstance(asked, int) else MOST_TOKENS
    kept = {name: value for name, value in serve.args.items() if name not in PARALLEL_FLAGS}
    args: dict[str, Scalar | list[str]] = {**kept, "max-model-len": length, "load-format": "dummy"}
    small = serve.model_copy(update={"args": args, "gpus": min(serve.gpus, 1)})
    return _named(recipe).model_copy(update={"serve": small, "patches": [*recipe.patches, *patches], "probes": PROBES})


def _named(recipe: Recipe, model: Source | None = None) -> Recipe:
    """Under a name of its own, so that its releases and results are never taken for the model's; floors are the model's alone."""
    return recipe.model_copy(update={"name": f"{recipe.name[:55]}{PROBE_SUFFIX}", "model": model or recipe.model, "floors": []})
