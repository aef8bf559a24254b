"""Judges for the waits of a switch: pure, over facts that were read. None: wait on; an answer ends the wait; an error ends it badly."""

import re
from collections.abc import Sequence
from typing import Literal

from modelpivot.errors import SwitchFailed
from modelpivot.models.facts import Gpus
from modelpivot.models.frozen import Unread
from modelpivot.models.readiness import FreeFact, StartFact

ERROR_LINE = re.compile(r"^[\w.]*(Error|Exception)\b")
FREE_GPU_BYTES = 1_500_000_000
"""A GPU that uses less is free: the driver alone holds some hundred MB, an engine many GB."""


def judge_free(fact: FreeFact, waited_s: float) -> Literal[True] | None:
    """True when no process of the unit is left, nobody holds the port and the GPUs are free."""
    return None if name_obstacles(fact) else True


def name_obstacles(fact: FreeFact) -> list[str]:
    """What stands in the way, a sentence each, the next move included."""
    found = [f"process {pid} of the stopped release is still there" for pid in fact.leftovers]
    if isinstance(fact.holders, Unread):
        found.append(f"who listens on port {fact.port} is {fact.holders}")
    else:
        found += [
            f"port {fact.port} is held by {f'process {holder.pid} ({holder.command})' if holder.pid else 'a process of another user'}: "
            "end it, or serve on another port"
            for holder in fact.holders
        ]
    return found + _name_busy_gpus(fact.gpus)


def _name_busy_gpus(gpus: Gpus | Unread) -> list[str]:
    if isinstance(gpus, Unread):
        return [f"the memory of the GPUs is {gpus}"]
    found = []
    for gpu in gpus.gpus:
        users = [f"{process.pid} ({process.name})" for process in gpus.processes if process.gpu_uuid == gpu.uuid]
        if isinstance(gpu.used_bytes, Unread):
            found.append(f"the memory in use on GPU {gpu.index} is {gpu.used_bytes}")
        elif gpu.used_bytes >= FREE_GPU_BYTES:
            held = f"held by {', '.join(users)}" if users else "held by no process: the GPU needs a reset"
            found.append(f"{gpu.used_bytes / 1e9:.1f} GB ({gpu.used_bytes / 2**30:.1f} GiB) of GPU {gpu.index} are in use, {held}")
    return found


def judge_start(fact: StartFact, *, ready_s: float) -> Literal[True] | None:
    """True when it generates. SwitchFailed when it is dead, or made no progress for `ready_s` seconds."""
    if not fact.is_alive:
        words = name_cause(fact.phase.cause)
        raise SwitchFailed(f"the engine ended while it started, in phase {fact.phase}{words}", step="ready", cause=fact.phase.cause)
    if fact.ready.is_ready:
        return True
    if fact.quiet_s >= ready_s:
        raise SwitchFailed(
            f"the engine made no progress for {fact.quiet_s:.0f} s (phase {fact.phase}; {fact.ready})",
            step="ready",
            cause=fact.phase.cause,
            hint=_advise(fact),
        )
    return None


def name_cause(cause: Sequence[str]) -> str:
    """The one line of a cause that names the error, as an end of a sentence; empty without a cause."""
    line = next((line for line in cause if ERROR_LINE.match(line)), cause[0] if cause else "")
    return f": {line.strip()[:200]}" if line else ""


def _advise(fact: StartFact) -> str:
    if fact.phase.word == "engine":
        return "it hangs where the GPUs find each other: on a PCIe-only host try NCCL_P2P_LEVEL=SYS or NCCL_P2P_DISABLE=1 in the recipe"
    if fact.ready.missing == "generation":
        return "it listens and generates nothing: read the engine's log"
    return "read the engine's log; where it loads slowly without a word, raise deadlines.ready_s in the recipe"
