"""What may be done for a start while another release serves. Pure."""

from collections.abc import Mapping, Sequence

from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes

LEFT_FREE = 0.1
"""Share of the available memory that preparing a start leaves alone."""
WORKER_BYTES = 1_000_000_000
"""Host memory of each further process that waits at a device of its own."""
APART = ("--data-parallel", "-dp", "--nn", "-n", "--node-r", "-r", "--headl", "--conf", "--api-server-count", "--uds")
"""Beginnings of the words of an engine whose processes are not all children of the one that we start, that listens elsewhere, or that may say so
in a file. Also as an engine takes them that has been given less than the whole word."""
APART_VARIABLES = ("VLLM_DP_SIZE", "VLLM_WORKER_MULTIPROC_METHOD", "VLLM_USE_RUST_FRONTEND", "VLLM_RUST_FRONTEND_PATH")
"""Variables that say the same, or that its children are to be made in another way than to be spawned."""


def may_wait_at_device(argv: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether every process that takes a device is a child of the start, so that all wait for one gate."""
    words = [word.replace("_", "-").partition("=") for word in argv]
    is_apart = any(_is_apart(name) or "ray" in (name, value) for name, _, value in words)
    return not is_apart and all(variables.get(name, "spawn") == "spawn" for name in APART_VARIABLES)


def _is_apart(word: str) -> bool:
    return any(word == start if len(start) == 2 else word.startswith(start) for start in APART)


def waiting_bytes(release: Release) -> int:
    """Host memory that a release takes at its gate."""
    return release.gate.memory_bytes + WORKER_BYTES * max(0, release.gpus - 1) if release.gate else 0


def refuse_gate(to: Release, frm: Release, *, is_up: bool, available: int | Unread) -> str:
    """Why the engine must not be started up to its gate now; empty: it may."""
    assert to.gate is not None
    if frm.id == to.id:
        return "it is the release that serves"
    if is_up:
        return "it runs already"
    if isinstance(available, Unread):
        return f"the available memory is {available}"
    if waiting_bytes(to) > available * (1 - LEFT_FREE):
        return f"waiting takes {say_bytes(waiting_bytes(to))} of memory and {say_bytes(available)} are available"
    return ""


def refuse_reading(to: Release, *, needed: int, kept: int, available: int | Unread) -> str:
    """Why the weights must not be read into memory now; empty: they may. `kept`: bytes of the old release's weights, whose pages are to stay."""
    if isinstance(available, Unread):
        return f"the available memory is {available}"
    if needed + kept + waiting_bytes(to) > available * (1 - LEFT_FREE):
        others = f" beside {say_bytes(kept)} of the old release's" if kept else ""
        return f"they take {say_bytes(needed)}{others} and {say_bytes(available)} of memory are available"
    return ""


def judge_warm(*, is_serving: bool, is_reading: bool, is_coming: bool) -> bool | None:
    """True when nothing more is to be waited for: the weights are read, and the engine is at its gate or will not come; or nobody is served any more."""
    return None if is_serving and (is_reading or is_coming) else True
