"""What stands in the way of a fit: weights too large, a context too long, heads that cannot be divided, a parser or method that the engine does not
know. Pure."""

from collections.abc import Sequence

from modelpivot.models.engine import EngineAnswers
from modelpivot.models.facts import Facts
from modelpivot.models.fit import Fit
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Blocker
from modelpivot.models.release import Release
from modelpivot.models.rule import Rule
from modelpivot.models.size import say_bytes
from modelpivot.plans.candidate import judge_candidate


def fit_blockers(fit: Fit | Unread | None, facts: Facts) -> list[Blocker]:
    """Nothing where the fit is not known: what keeps it from being known blocks or warns elsewhere."""
    if fit is None or isinstance(fit, Unread):
        return []
    return [*_uneven(fit, facts), *_too_large(fit), *_too_long(fit)]


def fit_warnings(fit: Fit | Unread | None) -> list[str]:
    """What is not sure."""
    if fit is None:
        return []
    if isinstance(fit, Unread):
        return [f"whether the model fits is not known: {fit.unread}"]
    warnings = [] if fit.is_exact else ["weights are known by the sizes of their files only: the fit is an estimate"]
    if fit.unplaced_bytes > fit.memory_bytes // 100:
        warnings.append(
            f"{say_bytes(fit.unplaced_bytes)} of tensors have unknown names: counted whole on every GPU, so the fit is on the low side"
        )
    if fit.asked is not None and fit.longest < fit.asked <= fit.tokens:
        warnings.append(
            f"max-model-len {fit.asked} fits by estimate ({fit.tokens} tokens) but not by its margin of 1 GiB: {fit.longest} surely fits"
        )
    return warnings


def engine_check_blockers(candidate: Release | None, facts: Facts) -> list[Blocker]:
    """What the target environment, where it is installed already, says no to; asked again of every environment before the switch."""
    answers, config = facts.engine.answers, facts.model.config
    if candidate is None or not isinstance(answers, EngineAnswers) or isinstance(config, Unread):
        return []
    checks = judge_candidate(config, candidate.start.argv, answers, None)
    remedy = "mend the recipe, or name another engine version"
    return [
        Blocker(code="ENGINE_UNKNOWN_NAME", what=check.name, expected=check.expected, found=check.found, remedy=remedy)
        for check in checks
        if not check.passed
    ]


def rule_blockers(blocks: Sequence[tuple[Rule, str]], facts: Facts) -> list[Blocker]:
    """Rules that say no."""
    gpus = facts.host.gpus
    found = "unread" if isinstance(gpus, Unread) else ", ".join(sorted({f"{gpu.name} ({gpu.compute_capability})" for gpu in gpus.gpus}))
    return [
        Blocker(
            code="RULE", what=f"rule {rule.id}: {rule.why}", expected=text, found=found, remedy="use another checkpoint, or another host"
        )
        for rule, text in blocks
    ]


def _uneven(fit: Fit, facts: Facts) -> list[Blocker]:
    config = facts.model.summary
    if isinstance(config, Unread) or config.attention is None or config.attention.heads % fit.parallel.tensor == 0:
        return []
    heads = config.attention.heads
    fitting = ", ".join(str(size) for size in range(1, heads + 1) if heads % size == 0 and size <= 16)
    return [
        Blocker(
            code="TENSOR_PARALLEL_UNEVEN",
            what="tensor-parallel-size",
            expected=f"a divisor of the model's {heads} attention heads ({fitting})",
            found=str(fit.parallel.tensor),
            remedy="take one of these, and pipeline-parallel-size for the rest of the GPUs",
        )
    ]


def _too_large(fit: Fit) -> list[Blocker]:
    if fit.pool_bytes > 0 and (fit.longest > 0 or fit.asked is not None):
        return []
    sure = fit.weights_bytes - fit.unplaced_bytes + fit.activation_bytes
    if fit.unplaced_bytes and sure < fit.memory_bytes * fit.share:
        return []
    needed = fit.weights_bytes + fit.activation_bytes
    return [
        Blocker(
            code="MODEL_TOO_LARGE",
            what=f"memory of each of {fit.parallel.gpus} GPUs",
            expected=f"{say_bytes(needed)} for weights ({say_bytes(fit.weights_bytes)}) and a forward pass, and room for the KV cache",
            found=f"{say_bytes(fit.memory_bytes * fit.share)} ({fit.share:g} of {say_bytes(fit.memory_bytes)})",
            remedy=_advise(fit, "use more or larger GPUs, or a smaller quantization"),
        )
    ]


def _too_long(fit: Fit) -> list[Blocker]:
    if fit.asked is None or fit.pool_bytes <= 0 or fit.asked <= fit.tokens:
        return []
    kind = f"{fit.kv_type}, {fit.bytes_per_token} bytes a token" if fit.bytes_per_token else fit.kv_type
    return [
        Blocker(
            code="CONTEXT_TOO_LONG",
            what=f"max-model-len {fit.asked}",
            expected=f"at most {fit.longest}: the pool of {say_bytes(fit.pool_bytes)} a GPU holds {fit.tokens} tokens ({kind})",
            found=f"{fit.asked}",
            remedy=_advise(fit, f"set max-model-len: {fit.longest} or less, or leave it out"),
        )
    ]


def _advise(fit: Fit, first: str) -> str:
    good = [line for line in fit.advice if " fits: " in line or (line.startswith("KV cache") and "speaks against" not in line)]
    return "; ".join([first, *good[:2]])
