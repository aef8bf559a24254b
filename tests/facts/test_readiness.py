"""The ladder, rung by rung, on a stand-in engine."""

import socket
import threading

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.facts.endpoint import Completion, Reply, ask, complete, parse_completion
from modelpivot.facts.readiness import Ladder, read_ready
from modelpivot.models.readiness import Readiness
from modelpivot.models.release import Endpoint, Release
from tests.switching import SwitchHost, wait_until


def _ready(host: SwitchHost, release: Release) -> Readiness:
    return read_ready(release, None, lambda: host.supervisor.processes(release))


def _up(host: SwitchHost, fault: str) -> Release:
    release = host.release("one", fault=fault)
    host.supervisor.start(release)
    wait_until(lambda: ask(release.endpoint, "/health", timeout_s=2).status == 200, what="/health")
    return release


def test_nobody_listens(switch_host: SwitchHost) -> None:
    """An engine that does not listen yet stands before the port."""
    assert _ready(switch_host, switch_host.release("one")).missing == "port"


def test_stranger_listens(switch_host: SwitchHost) -> None:
    """Somebody else who answers on the port is not the release: E8 and H4 in one."""
    mine, other = switch_host.release("one"), switch_host.release("two")
    switch_host.serve(other)
    ready = _ready(switch_host, mine)
    assert ready.missing == "port"
    assert f"process {switch_host.engines()[0]}" in ready.found


@pytest.mark.parametrize(("fault", "missing"), [("none", None), ("unlisted", "models"), ("lie", "generation"), ("empty", "generation")])
def test_rungs(switch_host: SwitchHost, fault: str, missing: str | None) -> None:
    """Health alone is not ready: the model must be listed, and a token must come (E8)."""
    assert _ready(switch_host, _up(switch_host, fault)).missing == missing


def test_ladder_looks_past_a_hanging_request(switch_host: SwitchHost) -> None:
    """A request that hangs keeps nobody from reading the last answer, and closing the ladder does not wait for it."""
    release = _up(switch_host, "hang_generating")
    ladder = Ladder(lambda: _ready(switch_host, release))
    assert ladder.last.missing == "port"
    assert ladder.last_ready_at is None
    ladder.close()


def test_a_climb_that_fails_is_not_the_last() -> None:
    """A supervisor that does not answer once, a disk that is full for a moment: it is told, and the engine is ready as soon as it can be looked at."""
    failures: list[Exception] = [
        OSError(28, "No space left on device"),
        CommandFailed("systemctl show: still running after 60 s, killed"),
        KeyError("x"),
    ]
    found: list[str] = []

    def climb() -> Readiness:
        found.append(str(ladder.last))
        if failures:
            raise failures.pop(0)
        return Readiness(missing=None)

    go = threading.Event()
    ladder = Ladder(lambda: climb() if go.wait(60) else Readiness(missing="port"), pause_s=0.01)
    go.set()
    wait_until(lambda: ladder.last.is_ready, what="the engine to be seen ready")
    ladder.close()
    assert found[1:4] == [
        "port: it could not be looked at: [Errno 28] No space left on device",
        "port: it could not be looked at: systemctl show: still running after 60 s, killed",
        "port: it could not be looked at: 'x'",
    ]
    assert ladder.last_ready_at is not None


def test_socket_that_never_answers() -> None:
    """An endpoint that takes the connection and says nothing is an answer after the timeout, not a hang."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = Endpoint(bind="127.0.0.1", port=silent.getsockname()[1], served_name="x")
        assert str(ask(endpoint, "/health", timeout_s=0.2)) == "no answer within 0.2 s"


def test_generation_with_logprobs(switch_host: SwitchHost) -> None:
    """A completion carries its tokens and log-probabilities."""
    answer = complete(_up(switch_host, "none").endpoint, "x", max_tokens=3, key=None, timeout_s=60, has_logprobs=True)
    assert isinstance(answer, Completion)
    assert len(answer.tokens) == len(answer.logprobs) == answer.completion_tokens == 3


def test_refused_generation(switch_host: SwitchHost) -> None:
    """A generation that the engine refuses comes back as its reply, status and words."""
    answer = complete(_up(switch_host, "lie").endpoint, "x", max_tokens=3, key=None, timeout_s=60)
    assert isinstance(answer, Reply)
    assert str(answer) == 'HTTP 500: {"error": "EngineDeadError"}'


@pytest.mark.parametrize(
    "body", [None, "text", [], {}, {"choices": []}, {"choices": [], "usage": {"completion_tokens": 1}}, {"choices": [{}]}]
)
def test_no_completion(body: object) -> None:
    """What is no completion is none, whatever its shape."""
    assert parse_completion(body) is None  # type: ignore[arg-type]
