"""The recipes of `demo --fail`: the demo recipe with one wish that the new model cannot fulfil. Nothing in the product knows of them."""

import yaml

from modelpivot.demo.places import DemoPlaces
from modelpivot.files import write_atomic
from modelpivot.models.recipe import Probe, Recipe
from modelpivot.models.workload import Floor

POINTS = ("ready", "probe", "bench")
TOO_LARGE_CACHE_GIB = "1000000"
"""More than an address space holds. Flags that the engine itself refuses do not do: the check of the engine finds them before the switch."""
IMPOSSIBLE_SPEED = 1e9


def break_recipe(recipe: Recipe, point: str) -> Recipe:
    """ready: a KV cache that no machine holds, at which the engine dies as it starts; probe: an answer that random weights
    never give; bench: a floor that no machine reaches."""
    if point == "ready":
        serve = recipe.serve.model_copy(update={"env": {**recipe.serve.env, "VLLM_CPU_KVCACHE_SPACE": TOO_LARGE_CACHE_GIB}})
        changes: dict[str, object] = {"serve": serve}
    elif point == "probe":
        changes = {"probes": [*recipe.probes, Probe(kind="answer", prompt="Four legs good,", expect="^ two legs bad!$")]}
    else:
        changes = {"floors": [Floor(workload=recipe.workloads[0].name, output_tokens_per_s=IMPOSSIBLE_SPEED)]}
    return recipe.model_copy(update={"name": f"{recipe.name}-fail-{point}", **changes})


def write_broken_recipe(places: DemoPlaces, recipe: Recipe, point: str) -> str:
    """Write the recipe and return its path."""
    broken = break_recipe(recipe, point)
    path = places.recipes / f"{broken.name}.yaml"
    write_atomic(path, yaml.safe_dump(broken.model_dump(mode="json"), sort_keys=False))
    return str(path)
