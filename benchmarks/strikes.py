"""The cuts of cuts.py: at which moment of a switch, and who is killed, or comes, then."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.ways import Bench
from modelpivot.models.cutover import Cutover, Phase, ProcessId
from modelpivot.models.release import Release
from modelpivot.state.cutovers import ask_decision
from modelpivot.supervisors.process import send_signal
from modelpivot.waiting import wait_for

REACHED_S = 900.0
HELD_MIB, HELD_S = 102_400, 60
STRANGER = """
import sys, time, torch
while True:
    try:
        held = torch.empty(int(sys.argv[1]) * 2**20, dtype=torch.uint8, device="cuda")
        break
    except torch.OutOfMemoryError:
        time.sleep(0.05)
torch.cuda.synchronize()
time.sleep(float(sys.argv[2]))
"""
STRANGERS: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Cut:
    """A moment of a switch, and what happens then."""

    name: str
    phase: Phase
    after_s: float
    """Seconds after the phase began."""
    strike: Callable[["Struck"], None]
    confirm: Literal["asked", "automatic"] = "asked"
    free_s: float = 120.0
    """The deadline for a free place."""
    needs_gpu: bool = False


@dataclass(frozen=True)
class Struck:
    """Whom a cut can meet."""

    bench: Bench
    cutover: Cutover
    new: Release


def kill_switch(struck: Struck) -> None:
    """The process that carries the switch out."""
    assert struck.cutover.switch
    send_signal(struck.cutover.switch, signal.SIGKILL)


def kill_server(struck: Struck) -> None:
    """The new release's main process, and not its children: on a GPU those hold the memory."""
    main = struck.bench.supervisor.status(struck.new).main
    assert main
    send_signal(main, signal.SIGKILL)


def kill_both(struck: Struck) -> None:
    """The switch, and the engine that it started, without its children."""
    kill_switch(struck)
    kill_server(struck)


def kill_children(struck: Struck) -> None:
    """The new release's other processes, as soon as there are any: the engine's core is one of them."""
    supervisor = struck.bench.supervisor
    main = supervisor.status(struck.new).main

    def read() -> list[ProcessId]:
        return [process for process in supervisor.processes(struck.new) if process != main]

    for process in wait_for(read, lambda found, _: found or None, what="its children", deadline_s=REACHED_S, interval_s=0.05):
        send_signal(process, signal.SIGKILL)


def ask_back(struck: Struck) -> None:
    """As a person does, or a gate that says no."""
    ask_decision(struck.bench.context.state, "return", reason="asked")


def hold_memory(struck: Struck) -> None:
    """A stranger takes GPU memory as soon as the old engine has left it, and goes after a time."""
    python = str(struck.new.environment_dir / "bin/python") if struck.new.environment_dir else sys.executable
    argv = [python, "-c", STRANGER, str(HELD_MIB), str(HELD_S)]
    STRANGERS.append(subprocess.Popen(argv, env=os.environ | struck.new.start.environment))


CUTS = [
    Cut("the switch, as the old engine is told to stop", "stopping", 0.05, kill_switch),
    Cut("the switch, as the new engine starts", "starting", 0.0, kill_switch),
    Cut("the switch, while the new engine loads", "readying", 4.0, kill_switch),
    Cut("the new engine's main process, while it loads", "readying", 4.0, kill_server),
    Cut("its children, while it loads", "readying", 4.0, kill_children),
    Cut("the switch, in the probe", "probing", 0.0, kill_switch),
    Cut("the switch and the new engine's main process, unconfirmed", "unconfirmed", 1.0, kill_both),
    Cut("nobody; the way back is asked for", "unconfirmed", 1.0, ask_back),
    Cut(
        "nobody; a stranger takes 100 GiB in between for a minute, and is waited for",
        "stopping",
        0.0,
        hold_memory,
        "automatic",
        needs_gpu=True,
    ),
    Cut("nobody; the same, and it is not waited for", "stopping", 0.0, hold_memory, "automatic", 5.0, needs_gpu=True),
]
