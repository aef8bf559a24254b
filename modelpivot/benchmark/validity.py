"""Whether the engine's own counters let a measurement stand. Pure; every reason is one sentence."""

from modelpivot.models.benchmark import Measurement, ServerLoad
from modelpivot.models.workload import Workload

CACHED_MARGIN = 0.1
"""Share of prompt tokens beyond the warm-ups' that may come from the prefix cache without a shared prefix: words that happen to repeat."""
COUNTED_MARGIN = 0.02
"""Share by which engine and client may disagree over the number of generated tokens."""


def judge_load(measurement: Measurement, workload: Workload, load: ServerLoad) -> list[str]:
    """Strangers on the engine, prompts it had seen before, another number of tokens than the client says: each makes the figures void."""
    return [*_strangers(load), *_cached(workload, load), *_miscounted(measurement, workload, load)]


def warn_of_load(load: ServerLoad | None) -> list[str]:
    """What a reader of valid figures has to know."""
    if load is None:
        return ["the engine has no /metrics: whether others asked it meanwhile is not known"]
    return [f"{load.preemptions} preemptions: the KV cache was too small for this concurrency"] if load.preemptions else []


def _strangers(load: ServerLoad) -> list[str]:
    said = f"requests of others while it was measured: expected 0, found {load.foreign_requests}"
    return (
        [f"{said} (the engine finished {load.requests}, {load.own_requests} of them asked by us to watch it)"]
        if load.foreign_requests
        else []
    )


def _cached(workload: Workload, load: ServerLoad) -> list[str]:
    if workload.prefix_tokens or load.prefix_hit_rate is None:
        return []
    most = workload.warm_ups / (workload.prompts + workload.warm_ups) + CACHED_MARGIN
    if load.prefix_hit_rate <= most:
        return []
    return [f"prompts that the engine had seen before: expected at most {most:.0%} of their tokens, found {load.prefix_hit_rate:.0%}"]


def _miscounted(measurement: Measurement, workload: Workload, load: ServerLoad) -> list[str]:
    is_whole = measurement.successes == measurement.requests and not load.own_requests and not load.foreign_requests
    if not is_whole or not workload.ignore_eos or load.generation_tokens is None:
        return []
    expected = measurement.output_tokens + workload.warm_ups * workload.output_tokens
    if abs(load.generation_tokens - expected) <= COUNTED_MARGIN * expected:
        return []
    return [f"generated tokens: the client counted {expected} with its warm-ups, the engine {load.generation_tokens}"]
