"""What of a start can be done while another release serves: its weights read into memory, its engine up to the gate. Called by the switch, on both
ways.

Whatever fails here costs nothing but speed: the start is then a plain one, and finds its weights on the disk.
"""

import math
import os
import sys
from dataclasses import dataclass

from modelpivot.errors import PivotError, SwitchFailed
from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.memory import read_available_memory
from modelpivot.facts.start_log import read_last_lines, read_start_log
from modelpivot.lifeline import Child
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.gpu import Gpus
from modelpivot.models.release import Release
from modelpivot.operations import page_cache
from modelpivot.operations.page_cache import weight_bytes
from modelpivot.plans.warm import judge_warm, refuse_gate, refuse_reading
from modelpivot.stages.gated import GatedStart, GateFact, Told
from modelpivot.stages.hand import Hand
from modelpivot.supervisors.protocol import Supervisor

STEP = "warm"


def warm(hand: Hand, frm: Release | None, to: Release, *, within_s: float = math.inf) -> None:
    """Both at once, `warm_s` for both, and `within_s`. `hand.gated` is the engine at its gate afterwards, if it came there.

    Nothing to do while nothing serves, since there is no time to gain, or for a start that has neither; over as soon as nothing serves any more.
    """
    if frm is None or hand.supervisor.status(frm).state != "running":
        return
    reader, gated = start_reading(hand, frm, to), start_gated(hand, frm, to)
    if reader is None and gated is None:
        return
    try:
        with hand.step(STEP, to):
            _wait(hand, frm, to, Prepared(reader, gated), min(within_s, to.deadlines.warm_s))
    except BaseException:
        if gated is not None:
            gated.close()
        raise
    finally:
        if reader is not None:
            reader.end(grace_s=0)
    if gated is not None:
        _take_or_leave(hand, to, gated)


def start_gated(hand: Hand, frm: Release, to: Release) -> GatedStart | None:
    """The engine on its way to the gate; None: it is started plain later, and why is told."""
    if to.gate is None:
        return None
    why = refuse_gate(to, frm, is_up=hand.supervisor.status(to).state == "running", available=read_available_memory())
    plain = hand.state.release(to.id).plain
    why = why or (plain.read_text().strip() if plain.exists() else "")
    gated = GatedStart(hand.supervisor, to, hand.state.release(to.id).gate)
    try:
        if not why:
            gated.begin()
    except (PivotError, OSError) as error:
        why = str(getattr(error, "message", error))
    if why:
        hand.tell(STEP, "log", f"{to.id} will be started plain: {why}", release=to.id)
    return None if why else gated


def start_reading(hand: Hand, frm: Release, to: Release) -> Child | None:
    """A process that reads the weights; None: there are none, or memory does not hold them beside what is there."""
    needed = weight_bytes(to.view_dir)
    if not needed:
        return None
    kept = weight_bytes(frm.view_dir) if frm.view_dir != to.view_dir else 0
    if why := refuse_reading(to, needed=needed, kept=kept, available=read_available_memory()):
        hand.tell(STEP, "log", f"the weights are not read before the stop: {why}", release=to.id)
        return None
    log = hand.state.run(hand.cutover.run_id).log("page-cache")
    try:
        return Child([sys.executable, "-I", "-S", page_cache.__file__, str(to.view_dir)], env=dict(os.environ), log=log)
    except OSError as error:
        hand.tell(STEP, "log", f"the weights are not read before the stop: {error}", release=to.id)
        return None


@dataclass(frozen=True)
class Prepared:
    """What goes on beside what serves."""

    reader: Child | None
    gated: GatedStart | None


class WarmFact(Frozen):
    """One look at both, and at what serves meanwhile."""

    is_serving: bool
    is_reading: bool
    gate: GateFact | None

    def __str__(self) -> str:
        return f"weights {'are being read' if self.is_reading else 'are read'}, engine: {self.gate or 'to be started plain'}"


def _wait(hand: Hand, frm: Release, to: Release, prepared: Prepared, deadline_s: float) -> None:
    def read() -> WarmFact:
        reader, gated = prepared.reader, prepared.gated
        return WarmFact(
            is_serving=hand.supervisor.status(frm).state == "running",
            is_reading=reader is not None and reader.poll() is None,
            gate=gated.read() if gated else None,
        )

    def judge(fact: WarmFact, waited_s: float) -> bool | None:
        is_coming = fact.gate is not None and fact.gate.is_alive and fact.gate.told is None
        return judge_warm(is_serving=fact.is_serving, is_reading=fact.is_reading, is_coming=is_coming)

    try:
        hand.wait(read, judge, step=STEP, what=f"{to.id} to be ready for its start", deadline_s=deadline_s)
    except SwitchFailed as error:
        hand.tell(STEP, "warning", error.message, release=to.id)


def _take_or_leave(hand: Hand, to: Release, gated: GatedStart) -> None:
    """Keep an engine that waits at its gate as it should; end any other."""
    fact = gated.read()
    why = refuse_told(hand.supervisor, to, fact.told) if fact.is_alive and fact.told else _say_missing(hand, to, fact)
    if not why:
        hand.gated = gated
        hand.tell(STEP, "log", f"{to.id} waits at its gate, {fact.told}", release=to.id)
        return
    gated.close()
    hand.supervisor.stop(to, timeout_s=to.deadlines.stop_s)
    hand.tell(STEP, "warning", f"{to.id} will be started plain: {why}", release=to.id)


def refuse_told(supervisor: Supervisor, to: Release, told: Told) -> str:
    """Why it must not wait: by its own word, or by the driver's, which also knows of what holds a GPU without torch."""
    if told.cuda:
        return "it holds a GPU context already"
    gpus = read_gpus() if to.gpus else Gpus()
    own = {process.pid for process in supervisor.processes(to)}
    held = [] if isinstance(gpus, Unread) else [process.pid for process in gpus.processes if process.pid in own]
    return f"its process {held[0]} is on a GPU already" if held else ""


def _say_missing(hand: Hand, to: Release, fact: GateFact) -> str:
    """That it did not come, and the engine's own words when it ended: they tell what the plain start will meet too."""
    log = hand.supervisor.log_path(to)
    words = [] if fact.is_alive else (read_start_log(log).cause or read_last_lines(log, 1))[-1:]
    return ": ".join(["the engine did not come to its gate", str(fact), *words])
