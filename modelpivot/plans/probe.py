"""Judges of what a model answered to a probe: pure. An empty text says it passed, anything else why it did not."""

import math
import re
from collections.abc import Sequence

from modelpivot.models.recipe import Probe

ENOUGH_TOKENS = 4
"""Fewer tokens say nothing about repetition."""


def judge_answer(probe: Probe, text: str, tokens: Sequence[str], completion_tokens: int) -> str:
    """An answer came, is what was expected, and is not one token over and over."""
    if completion_tokens == 0:
        return f"expected an answer to {probe.prompt!r}, found none"
    if probe.expect is not None and not re.search(probe.expect, text):
        return f"expected {probe.expect!r} in the answer to {probe.prompt!r}, found {text[:200]!r}"
    if probe.not_degenerate and is_degenerate(text, tokens):
        return f"expected a sentence as answer to {probe.prompt!r}, found one token repeated: {text[:80]!r}"
    return ""


def is_degenerate(text: str, tokens: Sequence[str]) -> bool:
    """True when the answer is one token repeated, or one character where the tokens are not known (`!!!!`)."""
    pieces = list(tokens) if tokens else list(text.strip())
    return len(pieces) >= ENOUGH_TOKENS and len(set(pieces)) == 1


def judge_repeat(probe: Probe, first: str, second: str) -> str:
    """The same twice at temperature 0."""
    if first == second:
        return ""
    return f"expected the same answer twice to {probe.prompt!r}, found {first[:80]!r} and {second[:80]!r}"


def judge_logprobs(
    probe: Probe, tokens: Sequence[str], logprobs: Sequence[float | None], record: tuple[Sequence[str], Sequence[float]] | None
) -> str:
    """Log-probabilities are there, finite, and as in the release's own record; without a record they only have to be finite.

    Tokens are held against the record as far as the two agree, since two tokens of almost equal probability may change places. Of two that are
    equal within the tolerance none has more than 1 / (1 + exp(-tolerance)) for itself: their probabilities add up to 1 at most.
    """
    if not logprobs:
        return f"expected log-probabilities for {probe.prompt!r}, found none"
    if any(value is None or not math.isfinite(value) for value in logprobs):
        return f"expected finite log-probabilities for {probe.prompt!r}, found {list(logprobs)[:8]}"
    return _compare(probe, tokens, [value for value in logprobs if value is not None], *record) if record else ""


def _compare(
    probe: Probe, tokens: Sequence[str], logprobs: Sequence[float], old_tokens: Sequence[str], old_logprobs: Sequence[float]
) -> str:
    for number, (token, value, old_token, old_value) in enumerate(zip(tokens, logprobs, old_tokens, old_logprobs, strict=False)):
        if abs(value - old_value) > probe.tolerance:
            return (
                f"token {number} for {probe.prompt!r}: expected log-probability {old_value:.4f} within {probe.tolerance:g}, "
                f"found {value:.4f} ({old_token!r}, {token!r})"
            )
        if token != old_token:
            return "" if max(value, old_value) <= -math.log1p(math.exp(-probe.tolerance)) else _say_certain(probe, number, token, old_token)
    return ""


def _say_certain(probe: Probe, number: int, token: str, old_token: str) -> str:
    return f"token {number} for {probe.prompt!r}: expected {old_token!r}, found {token!r}, and no two tokens were as probable there"
