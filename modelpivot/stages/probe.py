"""Ask a release that just became ready its recipe's questions, and hold its log-probabilities against its own record. Called by the switch.

<state>/releases/<id>/probe.json    the record: log-probabilities of each prompt, from the first proof that asked it
"""

import contextlib
from pathlib import Path

from pydantic import JsonValue

from modelpivot.errors import SwitchFailed
from modelpivot.facts.endpoint import Completion, Reply, complete
from modelpivot.facts.start_log import read_start_log
from modelpivot.files import read_model, write_model
from modelpivot.models.benchmark import Check
from modelpivot.models.counted import counted
from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Probe
from modelpivot.models.release import Release
from modelpivot.plans.probe import judge_answer, judge_logprobs, judge_repeat
from modelpivot.stages.hand import Aside, Hand
from modelpivot.supervisors.process import read_api_key


class Recorded(Frozen):
    """Log-probabilities of one prompt's answer."""

    prompt: str
    max_tokens: int
    tokens: list[str]
    logprobs: list[float]


class ProbeRecord(Frozen):
    """What a release answered when it was first asked and proved."""

    answers: list[Recorded]


def probe(hand: Hand, release: Release) -> None:
    """Ask every probe, `probe_s` seconds for all; SwitchFailed names the first that says no. A proof leaves in the record what is not there."""
    with hand.step("probe", release):
        asked = Aside(lambda: ask_probes(release, hand.state.release(release.id).probe_record))

        def judge(fact: tuple[bool, str | None], waited_s: float) -> str | None:
            is_alive, answer = fact
            if not is_alive and answer is None:
                raise _died(hand, release)
            return answer

        answer = hand.wait(
            lambda: (hand.supervisor.status(release).state == "running", asked.read()),
            judge,
            step="probe",
            what=f"answers of {release.id}",
            deadline_s=release.deadlines.probe_s,
        )
        checks: list[JsonValue] = [check.model_dump(mode="json") for check in say_checks(release, answer)]
        hand.tell("probe", "log", f"{counted(len(release.probes), 'probe')}: {answer}", release=release.id, checks=checks)
        if answer != PASSED:
            raise SwitchFailed(
                answer, step="probe", hint="the model answers, and not as it should: look at the patches and the KV cache type"
            )


def say_checks(release: Release, answer: str) -> list[Check]:
    """What the probing of a release comes to in the report; the first probe that says no ends it, and is the only one told."""
    if answer != PASSED:
        return [Check(name=f"probes of {release.id}", passed=False, expected="every answer as the recipe asks", found=answer)]
    return [
        Check(name=f"probe {probe.kind} of {release.id}", passed=True, expected=EXPECTED[probe.kind], found=EXPECTED[probe.kind])
        for probe in release.probes
    ]


def _died(hand: Hand, release: Release) -> SwitchFailed:
    cause = read_start_log(hand.supervisor.log_path(release)).cause
    return SwitchFailed("the engine ended while it was probed", step="probe", cause=cause)


PASSED = "passed"
EXPECTED = {"answer": "an answer", "repeat": "the same answer twice", "logprobs": "finite log-probabilities, equal to the release's record"}


def ask_probes(release: Release, record_path: Path) -> str:
    """PASSED, or a sentence on the first probe that says no."""
    key, record = read_api_key(release), read_model(record_path, ProbeRecord)
    made: list[Recorded] = []
    for question in release.probes:
        problem = _ask(release, question, key, record, made)
        if problem:
            return problem
    _keep(record_path, record, [one for one in made if _find(record, one) is None])
    return PASSED


def _keep(path: Path, record: ProbeRecord | None, new: list[Recorded]) -> None:
    """Add to the record what nothing in it answers; nothing to do without any."""
    if new:
        with contextlib.suppress(OSError):  # on a full disk the way back must not fail for it: the next proof adds what is missing
            write_model(path, ProbeRecord(answers=[*(record.answers if record else []), *new]))


def _ask(release: Release, question: Probe, key: str | None, record: ProbeRecord | None, made: list[Recorded]) -> str:
    """Empty when the probe passed."""
    answer = _complete(release, question, key)
    if isinstance(answer, Reply):
        return f"probe {question.kind}: expected an answer to {question.prompt!r}, found {answer}"
    if question.kind == "answer":
        return judge_answer(question, answer.text, answer.tokens, answer.completion_tokens)
    if question.kind == "repeat":
        again = _complete(release, question, key)
        return str(again) if isinstance(again, Reply) else judge_repeat(question, answer.text, again.text)
    problem = judge_logprobs(question, answer.tokens, answer.logprobs, _find(record, question))
    if not problem:
        logprobs = [value for value in answer.logprobs if value is not None]
        made.append(Recorded(prompt=question.prompt, max_tokens=question.max_tokens, tokens=list(answer.tokens), logprobs=logprobs))
    return problem


def _complete(release: Release, question: Probe, key: str | None) -> Completion | Reply:
    timeout_s = release.deadlines.probe_s
    return complete(
        release.endpoint,
        question.prompt,
        max_tokens=question.max_tokens,
        key=key,
        timeout_s=timeout_s,
        has_logprobs=question.kind != "repeat",
    )


def _find(record: ProbeRecord | None, question: Probe | Recorded) -> tuple[list[str], list[float]] | None:
    for known in record.answers if record else ():
        if known.prompt == question.prompt and known.max_tokens == question.max_tokens:
            return known.tokens, known.logprobs
    return None
