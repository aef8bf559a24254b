"""Judges of what a model answered to a probe."""

import math

import pytest

from modelpivot.models.recipe import Probe
from modelpivot.plans.probe import is_degenerate, judge_answer, judge_logprobs, judge_repeat

ANSWER, REPEAT, LOGPROBS = Probe(kind="answer"), Probe(kind="repeat"), Probe(kind="logprobs", tolerance=0.05)
RECORD = (["a", "b", "c"], [-1.0, -2.0, -3.0])


def test_any_answer_will_do() -> None:
    """Without an expectation any answer passes: random weights say noise."""
    assert judge_answer(ANSWER, " xq zz", ["x", "q", " z", "z"], 4) == ""


def test_no_token_is_no_answer() -> None:
    """An answer without a token fails (E10)."""
    assert "found none" in judge_answer(ANSWER, "", [], 0)


@pytest.mark.parametrize(("text", "tokens"), [("!!!!", ["!"] * 4), ("!!!!!!", []), (" no no no no", [" no"] * 4)])
def test_one_token_over_and_over(text: str, tokens: list[str]) -> None:
    """One token repeated is rubbish, unless the probe allows it (E10)."""
    assert is_degenerate(text, tokens)
    assert "repeated" in judge_answer(ANSWER, text, tokens, 4)
    assert judge_answer(Probe(kind="answer", not_degenerate=False), text, tokens, 4) == ""


def test_short_answers_say_nothing() -> None:
    """Three tokens alike are no repetition yet."""
    assert not is_degenerate("aaa", ["a"] * 3)


def test_expectation() -> None:
    """The expected pattern must stand in the answer; what came instead is shown."""
    paris = Probe(kind="answer", prompt="The capital of France is", expect=r"\bParis\b")
    assert judge_answer(paris, " Paris.", [" Paris", "."], 2) == ""
    assert "found ' London.'" in judge_answer(paris, " London.", [" London", "."], 2)


def test_repeat() -> None:
    """Two different answers at temperature 0 fail."""
    assert judge_repeat(REPEAT, "x", "x") == ""
    assert "twice" in judge_repeat(REPEAT, "x", "y")


def test_first_proof_needs_no_record() -> None:
    """Without a record finite values pass."""
    assert judge_logprobs(LOGPROBS, RECORD[0], RECORD[1], None) == ""


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_not_finite(value: float | None) -> None:
    """A value that is no number fails, with a record or without."""
    assert "finite" in judge_logprobs(LOGPROBS, ["a"], [value], None)
    assert "finite" in judge_logprobs(LOGPROBS, ["a"], [value], (["a"], [-1.0]))


def test_no_values() -> None:
    """An engine that returns no log-probabilities fails the probe."""
    assert "found none" in judge_logprobs(LOGPROBS, [], [], None)


def test_as_recorded() -> None:
    """Differences within the tolerance pass, larger ones name token, expected and found."""
    assert judge_logprobs(LOGPROBS, RECORD[0], [-1.04, -2.0, -3.0], RECORD) == ""
    problem = judge_logprobs(LOGPROBS, RECORD[0], [-1.0, -2.5, -3.0], RECORD)
    assert "token 1" in problem
    assert "-2.0000" in problem
    assert "-2.5000" in problem


def test_after_a_tie_nothing_is_compared() -> None:
    """Where two tokens of equal probability changed places, what follows belongs to another text."""
    assert judge_logprobs(LOGPROBS, ["a", "x", "y"], [-1.0, -2.01, -9.0], RECORD) == ""


def test_other_token_with_another_value() -> None:
    """Another token with another probability is no tie."""
    assert judge_logprobs(LOGPROBS, ["x", "b", "c"], [-0.1, -2.0, -3.0], RECORD) != ""


@pytest.mark.parametrize(
    ("value", "old_value", "passes"), [(-0.72, -0.7, True), (-0.68, -0.71, True), (-0.64, -0.66, False), (-0.1, -0.12, False)]
)
def test_only_what_is_as_probable_changes_places(value: float, old_value: float, passes: bool) -> None:
    """Another token of the same probability is a tie only where two of it have room: one that is sure of itself has no equal."""
    problem = judge_logprobs(LOGPROBS, ["x", "b"], [value, -2.0], (["a", "b"], [old_value, -2.0]))
    assert (problem == "", "expected 'a', found 'x'" in problem) == (passes, not passes)


def test_the_default_lets_one_step_of_a_bfloat16_logit_pass() -> None:
    """Seen on an H200: the same weights, the same text, another batch; 0.0624 apart. Another model is whole units away."""
    probe, record = Probe(kind="logprobs"), (["a", "b"], [-1.0, -5.6861])
    assert judge_logprobs(probe, ["a", "b"], [-1.0, -5.6237], record) == ""
    assert "token 1" in judge_logprobs(probe, ["a", "b"], [-1.0, -4.6], record)
