"""What the engine counts beside the client: read from real output, and from a small server that says what an engine would."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from modelpivot.benchmark.metrics import EngineCounters, parse_counters, read_counters
from modelpivot.benchmark.watch import Watch
from modelpivot.models.benchmark import ServerLoad
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Endpoint
from modelpivot.state.asked import ask_counted
from tests.ports import free_port

CAPTURES = Path(__file__).parents[1] / "captures"


class FakeEngine:
    """A fake engine that has counters only."""

    def __init__(self) -> None:
        self.finished, self.running = 100, 0
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                body = fake.say().encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = Endpoint(bind="127.0.0.1", port=self.server.server_port, served_name="fake")
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def say(self) -> str:
        """Its `/metrics`."""
        return (
            f'vllm:request_success_total{{finished_reason="length"}} {self.finished - 1}.0\n'
            f'vllm:request_success_total{{finished_reason="stop"}} 1.0\n'
            f"vllm:num_requests_running {self.running}.0\nvllm:num_requests_waiting 0.0\n"
        )


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    """One that has answered a hundred requests."""
    fake = FakeEngine()
    yield fake
    fake.server.shutdown()


def end(watch: Watch, asked_for: int) -> ServerLoad:
    """The load, which must be known."""
    load, gpus = watch.end(asked_for)
    assert load is not None
    assert gpus == []
    return load


@pytest.mark.parametrize("name", ["vllm-0.32-cpu-metrics.txt", "vllm-0.26-h200-metrics.txt"])
def test_a_real_engines_counters(name: str) -> None:
    """Two versions after a benchmark: requests of all endings, gauges, and both halves of the prefix cache."""
    counters = parse_counters((CAPTURES / name).read_text())
    assert isinstance(counters, EngineCounters)
    assert (counters.running, counters.waiting, counters.preemptions) == (0, 0, 0)
    assert counters.finished > 0
    assert counters.prompt_tokens is not None
    assert counters.generation_tokens is not None
    assert counters.prefix_queries is not None
    assert counters.prefix_hits is not None
    assert counters.kv_use is not None


def test_engines_of_one_server_count_together() -> None:
    """Requests add up over data-parallel engines; of the KV caches the fullest counts."""
    text = "".join(
        f'vllm:request_success_total{{engine="{number}",finished_reason="stop"}} 5.0\n'
        f'vllm:num_requests_running{{engine="{number}"}} {number}\nvllm:num_requests_waiting{{engine="{number}"}} 2\n'
        f'vllm:kv_cache_usage_perc{{engine="{number}"}} 0.{number + 1}\n'
        for number in range(2)
    )
    counters = parse_counters(text)
    assert isinstance(counters, EngineCounters)
    assert (counters.finished, counters.running, counters.waiting, counters.kv_use) == (10, 1, 4, 0.2)
    assert counters.preemptions is None


@pytest.mark.parametrize("text", ["", "python_gc_objects_collected_total 1.0\n", "vllm:num_requests_running 1.0\n", "<html>"])
def test_what_has_no_such_counters_is_unread(text: str) -> None:
    """With the names of those that are missing: unknown is no zero."""
    read = parse_counters(text)
    assert isinstance(read, Unread)
    assert "vllm:request_success_total" in read.unread


def test_nobody_there_is_unread() -> None:
    """A refused connection is a reason, no exception."""
    assert isinstance(read_counters(Endpoint(bind="127.0.0.1", port=free_port(), served_name="x")), Unread)


def test_the_benchmarks_own_requests_are_no_strangers(engine: FakeEngine) -> None:
    """Twenty prompts and two warm-ups: the engine finished just those."""
    watch = Watch(engine.endpoint, None)
    engine.finished += 22
    load = end(watch, 22)
    assert (load.requests, load.foreign_requests, load.own_requests) == (22, 0, 0)


def test_one_request_of_somebody_else_is_seen(engine: FakeEngine) -> None:
    """One more than was asked for."""
    watch = Watch(engine.endpoint, None)
    engine.finished += 23
    assert end(watch, 22).foreign_requests == 1


def test_a_long_request_of_somebody_else_is_seen_before_it_ends(engine: FakeEngine) -> None:
    """It runs all the time and finishes never."""
    engine.running = 1
    watch = Watch(engine.endpoint, None)
    engine.finished += 22
    assert end(watch, 22).foreign_requests > 0


def test_what_we_ask_ourselves_is_counted_and_no_stranger(engine: FakeEngine, tmp_path: Path) -> None:
    """Three requests of a client that watches the service, between two readings; one before them counts for nothing."""

    def ask() -> str:
        engine.finished += 1
        return ""

    asked = tmp_path / "asked"
    ask_counted(asked, ask)
    watch = Watch(engine.endpoint, asked)
    engine.finished += 22
    for _ in range(3):
        ask_counted(asked, ask)
    load = end(watch, 22)
    assert (load.requests, load.own_requests, load.foreign_requests) == (25, 3, 0)


def test_an_engine_that_was_started_again_says_nothing(engine: FakeEngine) -> None:
    """Its counters begin anew: what happened between is not known."""
    watch = Watch(engine.endpoint, None)
    engine.finished = 5
    assert watch.end(22)[0] is None
