"""What may be done for a start while another release serves. Pure."""

from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes

LEFT_FREE = 0.1
"""Share of the available memory that preparing a start leaves alone."""


def refuse_gate(to: Release, frm: Release, *, is_up: bool, available: int | Unread) -> str:
    """Why the engine must not be started up to its gate now; empty: it may."""
    assert to.gate is not None
    if frm.id == to.id:
        return "it is the release that serves"
    if is_up:
        return "it runs already"
    if isinstance(available, Unread):
        return f"the available memory is {available}"
    if to.gate.memory_bytes > available * (1 - LEFT_FREE):
        return f"waiting takes {say_bytes(to.gate.memory_bytes)} of memory and {say_bytes(available)} are available"
    return ""


def refuse_reading(to: Release, *, needed: int, kept: int, available: int | Unread) -> str:
    """Why the weights must not be read into memory now; empty: they may. `kept`: bytes of the old release's weights, whose pages are to stay."""
    if isinstance(available, Unread):
        return f"the available memory is {available}"
    waiting = to.gate.memory_bytes if to.gate else 0
    if needed + kept + waiting > available * (1 - LEFT_FREE):
        others = f" beside {say_bytes(kept)} of the old release's" if kept else ""
        return f"they take {say_bytes(needed)}{others} and {say_bytes(available)} of memory are available"
    return ""


def judge_warm(*, is_reading: bool, is_coming: bool) -> bool | None:
    """True when nothing more is to be waited for: the weights are read, and the engine is at its gate or will not come."""
    return None if is_reading or is_coming else True
