"""A first recipe for a model, from its config, its card, the rules and the host. Pure; every value has its reason."""

import re
from typing import NamedTuple

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Gpus, HostFacts, ModelCard, ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.gpu import Gpu
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import EngineChoice, Recipe, Scalar, Serve, Source
from modelpivot.models.workload import Floor, Workload
from modelpivot.plans.engine_words import parse_words
from modelpivot.plans.families import family_of
from modelpivot.plans.fit import judge_fit
from modelpivot.plans.fit_weights import sum_files
from modelpivot.plans.ground import Ground, holds
from modelpivot.plans.kv import declared_kv
from modelpivot.plans.rule_table import RULES

SIZES = (1, 2, 4, 8)
CARD_BYTES = 80 * 10**9
"""A card's memory where this host has none to go by."""
Args = dict[str, Scalar | list[str]]


class First(NamedTuple):
    """A recipe and why."""

    recipe: Recipe
    reasons: dict[str, str]


def first_recipe(source: Source, model: ModelFacts, host: HostFacts, engine: Engine, *, gpus: int | None = None) -> First:
    """A recipe that plans. What rules and fit decide (KV type, NCCL, the longest context) is left to the plan, so that it holds on any host."""
    config = ModelConfig() if isinstance(model.summary, Unread) else model.summary
    card = ModelCard() if isinstance(model.card, Unread) else model.card
    reasons: dict[str, str] = {}
    count = _choose_gpus(model, config, host, engine, card, gpus, reasons)
    args = {**_division(count, reasons), **_remote_code(config, card, reasons), **_parsers(source, config, card, reasons)}
    args |= _advised(source, config, count, host, args, reasons) | _cpu(engine, reasons)
    name = re.sub(r"[^a-z0-9._-]+", "-", source.repo.rpartition("/")[2].lower()).strip("-._")[:63]
    reasons["engine.name"] = _say_engine(engine, card)
    reasons["serve.args"] = reasons.get("serve.args", "max-model-len is left to the plan: the longest that fits the host")
    return First(
        Recipe(
            name=name,
            description=_describe(source, config),
            model=_pinned(source, model, config, reasons),
            engine=EngineChoice(name=engine.name),
            serve=Serve(served_name=name, gpus=count, args=args),
            workloads=[Workload(name="single", prompts=20, input_tokens=1024, output_tokens=256)],
            floors=[Floor(workload="single")],
        ),
        reasons,
    )


def _choose_gpus(
    model: ModelFacts, config: ModelConfig, host: HostFacts, engine: Engine, card: ModelCard, asked: int | None, reasons: dict[str, str]
) -> int:
    if engine.device == "cpu":
        return 0
    if asked is not None:
        reasons["serve.gpus"] = "asked for"
        return asked
    weights = _weights(model)
    cards = host.gpus.gpus if isinstance(host.gpus, Gpus) else []
    if isinstance(weights, Unread):
        reasons["serve.gpus"] = "the weights are not known: set it"
        return card.tensor_parallel or 1
    return _by_fit(config, weights, cards, card, reasons) if cards else _by_size(weights, card, reasons)


def _by_fit(config: ModelConfig, weights: ModelWeights, cards: list[Gpu], card: ModelCard, reasons: dict[str, str]) -> int:
    """The fewest of this host's cards that hold the model's whole context; else the most that the heads allow."""
    heads = config.attention.heads if config.attention else 1
    longest = 0
    for size in [each for each in SIZES if each <= len(cards) and heads % each == 0]:
        fit = judge_fit(config, weights, cards[:size], {"tensor-parallel-size": size}, declared_kv=declared_kv(config, []))
        if not isinstance(fit, Unread) and fit.limit and fit.longest >= fit.limit:
            reasons["serve.gpus"] = f"the fewest of this host's {len(cards)} that hold {fit.limit} tokens" + _advises(card, size)
            return size
        longest = size
    reasons["serve.gpus"] = f"this host has {len(cards)}; the whole context fits on none of their divisions" + _advises(card, longest)
    return longest or 1


def _by_size(weights: ModelWeights, card: ModelCard, reasons: dict[str, str]) -> int:
    """No card here to go by: by the card of the model, else by weights and a fifth more on cards of 80 GB."""
    if card.tensor_parallel:
        reasons["serve.gpus"] = "the model's card serves with so many; this host has none to go by"
        return card.tensor_parallel
    reasons["serve.gpus"] = "weights and a fifth more on cards of 80 GB; this host has none to go by"
    return next((size for size in SIZES if size * CARD_BYTES >= 1.2 * weights.size_bytes), SIZES[-1])


def _advises(card: ModelCard, size: int) -> str:
    return f" (the card advises {card.tensor_parallel})" if card.tensor_parallel and card.tensor_parallel != size else ""


def _division(gpus: int, reasons: dict[str, str]) -> Args:
    if gpus < 2:
        return {}
    reasons["serve.args.tensor-parallel-size"] = "all of these GPUs"
    return {"tensor-parallel-size": gpus}


def _remote_code(config: ModelConfig, card: ModelCard, reasons: dict[str, str]) -> Args:
    """On only where the card itself serves so; else written as off, so that a person sees the question."""
    if not config.has_remote_code:
        return {}
    is_advised = "--trust-remote-code" in card.flags
    said = (
        "the card serves so; runs at the pinned commit only"
        if is_advised
        else "the repository brings code: turn on if the engine does not know the model"
    )
    reasons["serve.args.trust-remote-code"] = said
    return {"trust-remote-code": is_advised}


def _parsers(source: Source, config: ModelConfig, card: ModelCard, reasons: dict[str, str]) -> Args:
    """By the card's example, else by the family."""
    flags = parse_words(card.flags).flags
    family = family_of(source.repo, *config.architectures, config.text_model_type, config.model_type)
    by_family = {"tool-call-parser": family.tool_call, "reasoning-parser": family.reasoning} if family else {}
    args: Args = {}
    for name in ("tool-call-parser", "reasoning-parser"):
        on_card = flags.get(name)
        value = on_card if isinstance(on_card, str) else by_family.get(name)
        if value:
            args[name] = value
            reasons[f"serve.args.{name}"] = "the card serves with it" if value == on_card else f"family {family.name if family else ''}"
    if "tool-call-parser" in args:
        args["enable-auto-tool-choice"] = True
        reasons["serve.args.enable-auto-tool-choice"] = "tool calls without being named in the request"
    return args


def _advised(source: Source, config: ModelConfig, gpus: int, host: HostFacts, args: Args, reasons: dict[str, str]) -> Args:
    """What rules advise for a first recipe."""
    cards = host.gpus.gpus[:gpus] if isinstance(host.gpus, Gpus) else []
    recipe = Recipe(name="first", model=source, engine=EngineChoice(name="vllm"), serve=Serve(served_name="first", args=args))
    ground = Ground(recipe, config, cards, host.links, "", None)
    found: Args = {}
    for rule in [rule for rule in RULES if holds(rule.when, ground)]:
        for means in [each for each in rule.means if each.kind == "advise" and each.name not in args]:
            found[means.name] = means.value
            reasons[f"serve.args.{means.name}"] = f"rule {rule.id}: {rule.why}"
    return found


def _cpu(engine: Engine, reasons: dict[str, str]) -> Args:
    if engine.device != "cpu":
        return {}
    reasons["serve.args.enforce-eager"] = "no compiler needed"
    return {"enforce-eager": True, "max-model-len": 4096}


def _pinned(source: Source, model: ModelFacts, config: ModelConfig, reasons: dict[str, str]) -> Source:
    """Code that runs is pinned; anything else follows its branch and is resolved at every plan."""
    if isinstance(model.manifest, Unread) or not config.has_remote_code:
        return source
    reasons["model.revision"] = "pinned: the repository brings code of its own"
    return source.model_copy(update={"revision": model.manifest.commit})


def _weights(model: ModelFacts) -> ModelWeights | Unread:
    if not isinstance(model.weights, Unread) or isinstance(model.manifest, Unread):
        return model.weights
    return sum_files(file.size for file in model.manifest.files if file.path.endswith((".safetensors", ".gguf", ".bin")))


def _describe(source: Source, config: ModelConfig) -> str:
    parts = [source.repo, config.quantization, config.kind if config.attention else ""]
    return ", ".join(filter(None, parts))


def _say_engine(engine: Engine, card: ModelCard) -> str:
    asked = f"; the card asks for vLLM {card.engine_version}" if card.engine_version else ""
    return f"tested here: {', '.join(engine.tested)}{asked}"
