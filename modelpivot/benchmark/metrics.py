"""The engine's own counters, from its `/metrics`. Reading changes nothing.

# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="length",model_name="demo"} 20.0
vllm:num_requests_running{engine="0",model_name="demo"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="demo"} 0.013
"""

import math
import re

import httpx

from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.release import Endpoint

LINE = re.compile(r"^vllm:([a-z0-9_]+)(?:\{[^}]*\})? (\S+)", re.MULTILINE)
HIGHEST = ("kv_cache_usage_perc", "gpu_cache_usage_perc")
"""Of several engines the highest counts, not the sum; the second is the older name."""
TIMEOUT_S = 10.0


class EngineCounters(Frozen):
    """One reading. Counters only grow while the engine runs; None: this engine does not have it."""

    finished: int
    running: int
    waiting: int
    preemptions: int | None = None
    prompt_tokens: int | None = None
    generation_tokens: int | None = None
    prefix_queries: int | None = None
    prefix_hits: int | None = None
    kv_use: float | None = None
    """0..1."""


def read_counters(endpoint: Endpoint) -> EngineCounters | Unread:
    """The counters now; Unread: no answer, or not the counters of such an engine."""
    url = f"{endpoint.base_url}/metrics"
    try:
        answer = httpx.get(url, timeout=TIMEOUT_S)
    except httpx.HTTPError as error:
        return Unread(unread=f"{url}: {type(error).__name__}: {error}")
    return parse_counters(answer.text) if answer.status_code == 200 else Unread(unread=f"{url}: HTTP {answer.status_code}")


def parse_counters(text: str) -> EngineCounters | Unread:
    """The counters of all engines and labels together."""
    found: dict[str, float] = {}
    for name, word in LINE.findall(text):
        value = _number(word)
        if value is not None:
            before = found.get(name, 0.0)
            found[name] = max(before, value) if name in HIGHEST else before + value
    if missing := {"request_success_total", "num_requests_running", "num_requests_waiting"} - found.keys():
        return Unread(unread=f"/metrics without {', '.join(f'vllm:{name}' for name in sorted(missing))}")

    def whole(*names: str) -> int | None:
        return next((int(found[name]) for name in names if name in found), None)

    return EngineCounters(
        finished=int(found["request_success_total"]),
        running=int(found["num_requests_running"]),
        waiting=int(found["num_requests_waiting"]),
        preemptions=whole("num_preemptions_total"),
        prompt_tokens=whole("prompt_tokens_total"),
        generation_tokens=whole("generation_tokens_total"),
        prefix_queries=whole("prefix_cache_queries_total", "gpu_prefix_cache_queries_total"),
        prefix_hits=whole("prefix_cache_hits_total", "gpu_prefix_cache_hits_total"),
        kv_use=next((found[name] for name in HIGHEST if name in found), None),
    )


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
