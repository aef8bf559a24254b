"""What the plan decides where a recipe leaves it open: division among GPUs, rules, the longest context. Pure; the recipe's own word goes first."""

from typing import NamedTuple

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts, Gpu, Gpus
from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Unread
from modelpivot.models.model_config import ModelConfig
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import Recipe, Scalar
from modelpivot.models.rule import AppliedRule, Rule
from modelpivot.plans.advice import other_divisions, other_kv_types
from modelpivot.plans.devices import BESIDE_TENSOR, TENSOR, chosen_gpus, gpus_a_tensor, gpus_needed
from modelpivot.plans.fit import judge_fit
from modelpivot.plans.fit_weights import sum_files
from modelpivot.plans.ground import Ground
from modelpivot.plans.kv import asked_kv, declared_kv
from modelpivot.plans.rule_table import RULES
from modelpivot.plans.rules import apply_rules

ROUND_TOKENS = 1024
WEIGHT_SUFFIXES = (".safetensors", ".gguf", ".bin", ".pt", ".pth")


class Decided(NamedTuple):
    """A recipe with nothing left open, and why each value is what it is."""

    recipe: Recipe
    fit: Fit | Unread | None
    applied: list[AppliedRule]
    reasons: dict[str, str]
    """`--flag` or VARIABLE -> reason."""
    warnings: list[str]
    blocks: list[tuple[Rule, str]]


def decide(recipe: Recipe, facts: Facts, engine: Engine) -> Decided:
    """All decisions. A CPU engine has none to make; without GPUs or config.json that can be read, only what needs neither is decided."""
    if engine.device == "cpu":
        return Decided(recipe, None, [], {}, [], [])
    if isinstance(facts.host.gpus, Unread):
        return Decided(recipe, facts.host.gpus, [], {}, [], [])
    recipe, reasons = _divide(recipe, engine, facts)
    gpus = chosen_gpus(facts.host.gpus, recipe, gpus_needed(recipe, engine))
    config = facts.model.summary
    if isinstance(config, Unread):
        return Decided(recipe, config, [], reasons, [], [])
    outcome = apply_rules(RULES, Ground(recipe, config, gpus, facts.host.links, _version(facts), _asked_bits(recipe, config)))
    decided = Decided(outcome.recipe, None, outcome.applied, {**reasons, **outcome.reasons}, outcome.warnings, outcome.blocks)
    return _fit_context(decided, config, facts, gpus)


def known_weights(facts: Facts) -> ModelWeights | Unread:
    """Exact where the headers were read, else by the sizes of the files."""
    weights, manifest = facts.model.weights, facts.model.manifest
    if not isinstance(weights, Unread) or isinstance(manifest, Unread):
        return weights
    return sum_files(file.size for file in manifest.files if file.path.endswith(WEIGHT_SUFFIXES))


def _divide(recipe: Recipe, engine: Engine, facts: Facts) -> tuple[Recipe, dict[str, str]]:
    """All GPUs that the recipe names, divided by tensor where it says nothing of how; beside a pipeline or replicas, what those leave to each."""
    serve = recipe.serve
    needed, size = gpus_needed(recipe, engine), gpus_a_tensor(recipe, engine)
    if size is not None and size > 1 and TENSOR not in serve.args:
        args: dict[str, Scalar | list[str]] = {TENSOR: size, **serve.args}
        beside = [f"{flag} {serve.args[flag]}" for flag in BESIDE_TENSOR if flag in serve.args]
        reason = f"the recipe gives the model {needed} GPUs" + "".join(f", with {said}" for said in beside)
        return _with_args(recipe, args, gpus=needed), {f"--{TENSOR}": reason}
    card = facts.model.card
    asked = serve.args.get(TENSOR)
    if isinstance(card, Unread) or card.tensor_parallel is None or card.tensor_parallel == asked or asked is None:
        return _with_args(recipe, serve.args, gpus=needed), {}
    return _with_args(recipe, serve.args, gpus=needed), {f"--{TENSOR}": f"the recipe sets it (the card advises {card.tensor_parallel})"}


def _with_args(recipe: Recipe, args: dict[str, Scalar | list[str]], *, gpus: int) -> Recipe:
    return recipe.model_copy(update={"serve": recipe.serve.model_copy(update={"args": args, "gpus": gpus})})


def _fit_context(decided: Decided, config: ModelConfig, facts: Facts, gpus: list[Gpu]) -> Decided:
    weights = known_weights(facts)
    if isinstance(weights, Unread):
        return decided._replace(fit=weights)
    recipe = decided.recipe
    declared = declared_kv(config, recipe.patches)
    is_exact = not isinstance(facts.model.weights, Unread)
    fit = judge_fit(config, weights, gpus, recipe.serve.args, declared_kv=declared, is_exact=is_exact)
    if isinstance(fit, Unread):
        return decided._replace(fit=fit)
    every = facts.host.gpus.gpus if isinstance(facts.host.gpus, Gpus) else []
    divisions = other_divisions(fit, config, weights, every, recipe.serve.args, declared)
    speaking = next((rule.id for rule in decided.applied if any(rule.id in patch.why for patch in recipe.patches)), "")
    advice = [*divisions.values(), *other_kv_types(fit, config, weights, gpus, recipe, speaking)]
    reasons = _with_division(decided.reasons, facts, divisions)
    return _choose_length(decided._replace(fit=fit.model_copy(update={"advice": advice}), reasons=reasons), fit)


def _with_division(reasons: dict[str, str], facts: Facts, divisions: dict[int, str]) -> dict[str, str]:
    """With what the card advises, where it would not fit."""
    card, flag = facts.model.card, f"--{TENSOR}"
    said = "" if isinstance(card, Unread) else divisions.get(card.tensor_parallel or 0, "")
    return {**reasons, flag: f"{reasons[flag]}: {said}"} if flag in reasons and "does not fit" in said else reasons


def _choose_length(decided: Decided, fit: Fit) -> Decided:
    """Without a word of the recipe: the model's own length where it fits, else the longest that surely does."""
    serve = decided.recipe.serve
    if fit.asked is not None or fit.limit is None or fit.longest <= 0 or "max-model-len" in serve.args or fit.longest >= fit.limit:
        return decided
    length = fit.longest // ROUND_TOKENS * ROUND_TOKENS or fit.longest
    reason = f"the longest that surely fits: the model has {fit.limit}, the pool holds {fit.tokens} tokens in {fit.kv_type}"
    args = {**serve.args, "max-model-len": length}
    return decided._replace(
        recipe=_with_args(decided.recipe, args, gpus=serve.gpus), reasons={**decided.reasons, "--max-model-len": reason}
    )


def _version(facts: Facts) -> str:
    resolution = facts.engine.resolution
    return "" if isinstance(resolution, Unread) else resolution.engine_version


def _asked_bits(recipe: Recipe, config: ModelConfig) -> int | None:
    """Bits of the cache, in float: by flag, else by any place of the checkpoint."""
    flag = str(recipe.serve.args.get("kv-cache-dtype") or "auto")
    word = asked_kv(config, recipe.patches) if flag == "auto" else flag
    return 8 if word.startswith("fp8") else 4 if word.startswith("nvfp4") else None
