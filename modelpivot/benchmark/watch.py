"""What a client cannot see of a workload: the engine's counters before, meanwhile and after, and the GPUs. Sampled on a thread of its own."""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from modelpivot.benchmark.gpu_load import GpuSample, read_samples, summarize
from modelpivot.benchmark.metrics import EngineCounters, read_counters
from modelpivot.models.benchmark import GpuLoad, ServerLoad
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Endpoint
from modelpivot.state.asked import counted_exactly
from modelpivot.waiting import WaitedTooLong, wait_for

EVERY_S = 1.0
QUIET_S = 30.0
"""Seconds that a request of ours under way is waited for."""
SETTLE_S = 5.0
"""Seconds in which the engine must have counted what it has answered."""


class Reading:
    """The counters at one moment, and how often we ourselves had asked by then."""

    def __init__(self, endpoint: Endpoint, asked: Path | None, *, at_least: int | None = None) -> None:
        """`at_least` requests have finished: the engine counts an answer a moment after it gave it."""
        self.own = 0
        if asked is None:
            self.counters = _settled(endpoint, at_least)
        else:
            with counted_exactly(asked, timeout_s=QUIET_S) as self.own:
                self.counters = _settled(endpoint, at_least)


def _settled(endpoint: Endpoint, at_least: int | None) -> EngineCounters | Unread:
    """The counters once nothing runs and everything expected is counted, or as they are after some seconds."""

    last: list[EngineCounters | Unread] = []

    def read() -> EngineCounters | Unread:
        last[:] = [read_counters(endpoint)]
        return last[0]

    def judge(counters: EngineCounters | Unread, _waited_s: float) -> bool | None:
        if isinstance(counters, Unread):
            return True
        return (counters.running == counters.waiting == 0 and counters.finished >= (at_least or 0)) or None

    with suppress(WaitedTooLong):
        wait_for(read, judge, what="a quiet engine", deadline_s=SETTLE_S, interval_s=0.1)
    return last[0]


class Watch:
    """Begins with a first reading; `end` takes the last one and says what happened between."""

    def __init__(self, endpoint: Endpoint, asked: Path | None, gpus: Callable[[], list[GpuSample]] = read_samples) -> None:
        self._endpoint, self._asked, self._read_gpus = endpoint, asked, gpus
        self._before = Reading(endpoint, asked)
        self._seen: list[EngineCounters] = []
        self._gpus: list[GpuSample] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True, name="watch")
        self._thread.start()

    def end(self, asked_for: int) -> tuple[ServerLoad | None, list[GpuLoad]]:
        """The load, where the benchmark itself asked for so many requests; None: the engine has no counters."""
        self._is_over.set()
        self._thread.join()
        before = self._before.counters
        expected = None if isinstance(before, Unread) else before.finished + asked_for
        after = Reading(self._endpoint, self._asked, at_least=expected)
        return describe_load(self._before, after, self._seen, asked_for), summarize(self._gpus)

    def _sample(self) -> None:
        while not self._is_over.wait(EVERY_S):
            counters = read_counters(self._endpoint)
            if isinstance(counters, EngineCounters):
                self._seen.append(counters)
            self._gpus += self._read_gpus()


def describe_load(before: Reading, after: Reading, seen: list[EngineCounters], asked_for: int) -> ServerLoad | None:
    """What happened between two readings; None: one of them is no reading, or the engine was started again between."""
    first, last = before.counters, after.counters
    if isinstance(first, Unread) or isinstance(last, Unread) or last.finished < first.finished:
        return None
    requests, own = last.finished - first.finished, after.own - before.own
    others = first.running + first.waiting + last.running + last.waiting
    queries, hits = _grown(first.prefix_queries, last.prefix_queries), _grown(first.prefix_hits, last.prefix_hits)
    return ServerLoad(
        requests=requests,
        own_requests=own,
        foreign_requests=max(0, requests - own - asked_for) + others,
        preemptions=_grown(first.preemptions, last.preemptions),
        prompt_tokens=_grown(first.prompt_tokens, last.prompt_tokens),
        generation_tokens=_grown(first.generation_tokens, last.generation_tokens),
        prefix_hit_rate=hits / queries if queries and hits is not None else None,
        peak_kv_use=max((one.kv_use for one in seen if one.kv_use is not None), default=None),
        peak_waiting=max((one.waiting for one in seen), default=None),
        peak_running=max((one.running for one in seen), default=None),
    )


def _grown(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
