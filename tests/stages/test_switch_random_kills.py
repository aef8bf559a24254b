"""SIGKILL of run and switch at random moments, and of the recovery after it: seeded, so that a failure can be seen again."""

import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from modelpivot.models.cutover import Cutover
from modelpivot.models.recipe import Deadlines
from modelpivot.settings import to_environment
from modelpivot.stages.recover import recover
from modelpivot.state.cutovers import read_cutover
from tests.switching import DEADLINES, SwitchHost, answers, wait_until

SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 30))]
HASTY = Deadlines.model_validate(DEADLINES.model_dump() | {"stop_s": 0.3})
WHOLE_S = 1.6
"""About the time of a whole switch between stand-ins."""


def _wait_for_process(host: SwitchHost) -> Cutover:
    def read() -> Cutover | None:
        cutover = read_cutover(host.state)
        return cutover if cutover and cutover.switch else None

    return wait_until(read, what="the switch process", interval_s=0.001)


def _kill_a_recovery(host: SwitchHost, dead: Cutover, after_s: float) -> None:
    argv = [sys.executable, "-m", "modelpivot.cli.internal", "recover"]
    with subprocess.Popen(argv, env=os.environ | to_environment(host.config)) as recovery:
        threading.Event().wait(after_s)
        cutover = read_cutover(host.state)
        recovery.kill()
    if cutover and cutover.switch != dead.switch:
        host.kill_switch(cutover)


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_a_random_moment(switch_host: SwitchHost, seed: int) -> None:
    """Whenever run, switch and the first recovery die, the next recovery ends with the old release answering, alone."""
    dice = random.Random(seed)
    old = switch_host.serve(switch_host.release("old", fault=dice.choice(["none", "child", "ignore_term"]), deadlines=HASTY))
    new = switch_host.release("new", fault=dice.choice(["none", "garbage", "die_at_start", "child"]), deadlines=HASTY)
    runner = switch_host.start_runner(old, new, "stay")
    cutover = _wait_for_process(switch_host)
    threading.Event().wait(dice.random() * WHOLE_S)
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    switch_host.kill_switch(cutover)
    if read_cutover(switch_host.state) and dice.random() < 0.4:
        _kill_a_recovery(switch_host, cutover, 0.3 + dice.random())
    recover(switch_host.context())  # a process of the recovery before may carry it out: then that is waited for
    wait_until(lambda: read_cutover(switch_host.state) is None, what="the switch to close")
    assert answers(old)
    assert len(switch_host.engines()) == 1
    assert switch_host.supervisor.processes(new) == []
