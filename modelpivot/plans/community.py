"""A recipe as vLLM's community publishes it (vllm-project/recipes, one YAML a model) taken over as one of ours. Pure; never fails on a file that
names its model: what is not taken over is listed by its key.

Order, the later word counts: base, variant, hardware, strategy, features.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from modelpivot.errors import UsageError
from modelpivot.models.json_text import read_json
from modelpivot.models.recipe import OWN_FLAGS, REPO, EngineChoice, Recipe, Serve, Source
from modelpivot.models.workload import Floor, Workload
from modelpivot.plans.community_layers import (
    STRATEGIES,
    Gathered,
    divide,
    mapping,
    take_features,
    take_overrides,
    take_strategy,
    take_variant,
    word,
)

FOR_PEOPLE = ("meta", "guide", "omni", "kv_offload_support", "kv_cache_strategy_hardware", "compatible_strategies", "opt_in_features")
BLOCKS = ("model", "variants", "features", "hardware_overrides", "hardware_opt_in_features", "strategy_overrides")
TAKEN_OF_MODEL = ("model_id", "min_vllm_version", "base_args", "base_env")
TAKEN_OF_VARIANT = ("model_id", "extra_args", "extra_env", "args", "env", "tp", "vram_minimum_gb", "description", "hardware_overrides")
INSTALLS = re.compile(r"(?:uv )?pip install((?: (?:-U|--upgrade|--pre))*) ((?:[A-Za-z0-9][\w.\-\[\],=<>!~]* ?)+)")


class Imported(NamedTuple):
    """One of ours, why each value is there, and what was left."""

    recipe: Recipe
    reasons: dict[str, str]
    not_taken: list[str]


def import_recipe(
    document: object,
    stem: str,
    *,
    variant: str | None = None,
    hardware: str | None = None,
    strategy: str | None = None,
    gpus: int | None = None,
    tested: Sequence[str] = (),
) -> Imported:
    """The recipe of one variant. UsageError when the file names no model, or no such variant or strategy."""
    whole = mapping(document)
    model, variants = mapping(whole.get("model")), mapping(whole.get("variants"))
    name, chosen = _choose_variant(variants, variant)
    repo = word(chosen.get("model_id")) or word(model.get("model_id")) or word(whole.get("model_id"))
    if not REPO.fullmatch(repo) or ".." in repo:
        raise UsageError(
            f"model.model_id: expected org/name, found {repo or 'none'!r}", hint="a recipe of vllm-project/recipes names its model there"
        )
    strategy = _choose_strategy(whole, strategy)
    gathered = Gathered({}, {}, {}, [])
    gathered.take(model.get("base_args"), model.get("base_env"), "model.base", "model.base_args")
    take_variant(gathered, name, chosen, hardware)
    take_overrides(gathered, mapping(whole.get("hardware_overrides")), hardware, "hardware_overrides")
    take_strategy(gathered, mapping(whole.get("strategy_overrides")), strategy)
    take_features(gathered, whole, name, hardware)
    count = divide(gathered, chosen, strategy, gpus)
    recipe = Recipe(
        name=_recipe_name(stem, name),
        description=word(mapping(whole.get("meta")).get("description"))[:200].replace("\n", " ") or f"{repo}, from a community recipe",
        model=Source(repo=repo),
        engine=_engine(gathered, whole, model, tested),
        serve=_serve(gathered, repo, count),
        workloads=[Workload(name="single", prompts=20, input_tokens=1024, output_tokens=256)],
        floors=[Floor(workload="single")],
    )
    gathered.left.extend(_leftovers(whole, model, name, chosen))
    return Imported(recipe, gathered.reasons, list(dict.fromkeys(gathered.left)))


def _choose_variant(variants: Mapping[str, Any], asked: str | None) -> tuple[str, Mapping[str, Any]]:
    if asked is not None and asked not in variants:
        raise UsageError(f"--variant {asked}: no such variant; there are: {', '.join(map(str, variants)) or 'none'}")
    name = asked or ("default" if "default" in variants else next(iter(variants), "default"))
    return str(name), mapping(variants.get(name))


def _choose_strategy(whole: Mapping[str, Any], asked: str | None) -> str:
    """One of a single host: these are all that a pivot of one host knows."""
    if asked is not None and asked not in STRATEGIES:
        raise UsageError(f"--strategy {asked}: expected one of a single host ({', '.join(STRATEGIES)})")
    named = whole.get("compatible_strategies")
    known = [each for each in named if isinstance(each, str) and each in STRATEGIES] if isinstance(named, list) else []
    return asked or ("single_node_tp" if "single_node_tp" in known or not known else str(known[0]))


def _serve(gathered: Gathered, repo: str, gpus: int) -> Serve:
    """Flags that have a field of their own go there; a template that lies in the engine's sources, an address or a key do not come along."""
    flags = gathered.flags
    served = flags.pop("served-model-name", None)
    port = flags.pop("port", 8000)
    for name in [each for each in flags if each in OWN_FLAGS]:
        gathered.left.append(f"--{name} {flags.pop(name)}: the recipe's field {OWN_FLAGS[name]} says it")
    if (draft := _draft_model(flags.get("speculative-config"))) and draft != repo:
        gathered.left.append(
            f"--speculative-config {flags.pop('speculative-config')}: needs {draft} too, and a pivot brings one repository"
        )
    template = flags.get("chat-template")
    if isinstance(template, str) and "/" in template:
        gathered.left.append(f"--chat-template {flags.pop('chat-template')}: a path outside the model's repository")
    known = {f"serve.args.{name}" for name in flags} | {f"serve.env.{name}" for name in gathered.env} | {"serve.gpus"}
    for key in [each for each in gathered.reasons if each.startswith("serve.") and each not in known]:
        del gathered.reasons[key]
    return Serve(
        served_name=str(served[0] if isinstance(served, list) else served) if served else repo,
        port=port if isinstance(port, int) and 0 < port < 65536 else 8000,
        gpus=gpus,
        args=flags,
        env=gathered.env,
    )


def _draft_model(value: object) -> str:
    """The other repository that a speculative method loads; empty: none."""
    try:
        document = read_json(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return word(mapping(document).get("model"))


def _engine(gathered: Gathered, whole: Mapping[str, Any], model: Mapping[str, Any], tested: Sequence[str]) -> EngineChoice:
    requirements = _requirements(gathered, whole.get("dependencies"))
    asked = word(model.get("min_vllm_version"))
    try:
        is_newer = bool(asked and tested) and Version(asked) > Version(tested[0])
    except InvalidVersion:
        gathered.left.append(f"model.min_vllm_version: {asked} is no version")
        return EngineChoice(name="vllm", extra_requirements=requirements)
    if is_newer:
        gathered.reasons["engine.version"] = (
            f"model.min_vllm_version; newer than the tested {tested[0]}, so the plan asks (untested-engine)"
        )
        return EngineChoice(name="vllm", version=asked, extra_requirements=requirements)
    if asked:
        gathered.reasons["engine.name"] = f"model.min_vllm_version {asked} is met by the tested {tested[0] if tested else 'version'}"
    return EngineChoice(name="vllm", extra_requirements=requirements)


def _requirements(gathered: Gathered, dependencies: object) -> list[str]:
    """Plain `pip install NAME` lines become requirements; sources, wheels and shell do not."""
    found: list[str] = []
    for number, entry in enumerate(dependencies if isinstance(dependencies, list) else []):
        block = mapping(entry)
        command = " ".join(word(block.get("command")).split())
        match = INSTALLS.fullmatch(command)
        brand = block.get("brand")
        if match and not block.get("optional") and (brand is None or "NVIDIA" in str(brand)):
            found += [word for word in match[2].split() if not word.startswith("vllm")]
        else:
            gathered.left.append(f"dependencies[{number}]: {command[:120] or word(block.get('note')) or 'no command'}")
    return list(dict.fromkeys(found))


def _leftovers(whole: Mapping[str, Any], model: Mapping[str, Any], name: str, chosen: Mapping[str, Any]) -> list[str]:
    """Keys that no step above reads."""
    read = (*BLOCKS, "dependencies", *FOR_PEOPLE)
    left = [f"{key}: expected names and values, found {type(whole[key]).__name__}" for key in BLOCKS if not _is_block(whole.get(key))]
    left += [f"{key}: for people, or for a site" for key in whole if key in FOR_PEOPLE and key not in ("opt_in_features",)]
    left += [f"{key}: no part of a recipe here" for key in whole if key not in read]
    left += [f"model.{key}: no part of a recipe here" for key in model if key not in TAKEN_OF_MODEL]
    left += [f"variants.{name}.{key}: no part of a recipe here" for key in chosen if key not in TAKEN_OF_VARIANT]
    return left + [f"variants.{key}: another variant (--variant takes it)" for key in mapping(whole.get("variants")) if key != name]


def _is_block(value: object) -> bool:
    return value is None or isinstance(value, Mapping)


def _recipe_name(stem: str, variant: str) -> str:
    words = stem if variant == "default" else f"{stem}-{variant}"
    plain = re.sub(r"[^a-z0-9._-]+", "-", words.lower()).strip("-._")[:63]
    return plain if plain[:1].isalnum() else f"model-{plain}"[:63].rstrip("-._")
