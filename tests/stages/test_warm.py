"""A start that is prepared while the old release serves: through the gate, or plain by itself when anything is wrong with the gate."""

import os
import signal
from pathlib import Path

import pytest

from modelpivot.models.cutover import Cutover, ProcessId
from modelpivot.models.engine import Gate
from modelpivot.models.gpu import GpuProcess, Gpus
from modelpivot.models.recipe import Deadlines, Hooks
from modelpivot.models.release import Release
from modelpivot.stages import warm
from modelpivot.stages.gated import Told
from modelpivot.stages.recover import recover
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import ask_decision, read_cutover
from modelpivot.state.releases import read_book
from modelpivot.state.runs import read_events
from modelpivot.supervisors.process import send_signal
from tests.switching import DEADLINES, SwitchHost, answers, is_gone, wait_until

HASTY = Deadlines.model_validate(DEADLINES.model_dump() | {"warm_s": 1.5})
HANGS = "import time; time.sleep(3600)"
GO = "go"


def drained_until(host: SwitchHost) -> Hooks:
    """A drain that lasts until the test has seen what it wants to see of the time before the stop."""
    return Hooks(drain=[f"until [ -e {host.root / GO} ]; do sleep 0.05; done"])


def gated(
    host: SwitchHost,
    *,
    part: str = "",
    gate: Gate | None = None,
    name: str = "new",
    fault: str = "none",
    args: tuple[str, ...] = (),
    deadlines: Deadlines = DEADLINES,
) -> Release:
    """A release whose engine imports `part` on its way to the gate."""
    folder = host.root / f"parts-{name}"
    folder.mkdir()
    (folder / "part.py").write_text(part)
    made = host.release(name, gate=gate or Gate(preload=["part"], memory_bytes=1), fault=fault, args=args, deadlines=deadlines)
    argv = [made.start.argv[0], *made.start.argv[3:]]  # without -I and -S: the part must be found
    start = made.start.model_copy(update={"argv": argv, "environment": {**made.start.environment, "PYTHONPATH": str(folder)}})
    return host.write(made.model_copy(update={"start": start}))


def told(host: SwitchHost, cutover: Cutover) -> str:
    """All that the switch said."""
    events, _ = read_events(host.state.run(cutover.run_id))
    return "\n".join(event.message for event in events)


def assert_new_serves_alone(host: SwitchHost, closed: Cutover, new: Release) -> None:
    assert closed.outcome == "promoted", closed
    assert answers(new)
    assert len(host.engines()) == 1
    assert not host.state.release(new.id).gate.exists()


def wait_for_gate(host: SwitchHost, release: Release) -> ProcessId:
    """The engine's process, waiting."""
    wait_until(lambda: (host.state.release(release.id).gate / "told.json").exists(), what="the gate", interval_s=0.005)
    main = host.supervisor.status(release).main
    assert main is not None
    return main


def test_the_engine_that_waited_is_the_one_that_serves(switch_host: SwitchHost) -> None:
    """It came to its gate before the old one was stopped, held no port there, and is the same process afterwards."""
    old, new = switch_host.serve(switch_host.release("old", hooks=drained_until(switch_host))), gated(switch_host)
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old, confirm="automatic")
    waiting = wait_for_gate(switch_host, new)
    assert answers(old)
    (switch_host.root / GO).touch()
    closed = follow_switch(context, cutover, until=is_closed)
    assert_new_serves_alone(switch_host, closed, new)
    assert switch_host.supervisor.status(new).main == waiting
    assert [step.name for step in closed.steps] == ["warm", "drain", "stop old", "prove free", "serve", "ready", "probe"]


def test_it_has_the_environment_of_a_plain_start(switch_host: SwitchHost) -> None:
    """Variables and working folder behind the gate are those of the release."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host)
    assert_new_serves_alone(switch_host, switch_host.switch(old, new), new)
    (pid,) = switch_host.engines()
    environment = set(Path(f"/proc/{pid}/environ").read_text().split("\0"))
    assert {"MODELPIVOT_UNIT=new", "PYTHONUNBUFFERED=1"} <= environment
    assert Path(f"/proc/{pid}/cwd").readlink() == new.start.working_directory


@pytest.mark.parametrize("part", ["raise SystemExit(3)", "raise ImportError('broken')", HANGS], ids=["dies", "fails", "hangs"])
def test_a_gate_that_is_never_reached(switch_host: SwitchHost, part: str) -> None:
    """An engine that dies while it imports, or does not come to its gate in time, is started plain, and the switch succeeds."""
    old = switch_host.serve(switch_host.release("old"))
    new = gated(switch_host, part=part, deadlines=HASTY if part == HANGS else DEADLINES)
    closed = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, closed, new)
    assert "will be started plain: the engine did not come to its gate" in told(switch_host, closed)
    assert ("it ended: ImportError: broken" in told(switch_host, closed)) == ("broken" in part)


def test_death_at_the_gate(switch_host: SwitchHost) -> None:
    """An engine that dies while it waits is started plain when its turn comes."""
    old, new = switch_host.serve(switch_host.release("old", hooks=drained_until(switch_host))), gated(switch_host)
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old, confirm="automatic")
    waiting = wait_for_gate(switch_host, new)
    switch_host.wait_for_phase("draining")
    send_signal(waiting, signal.SIGKILL)
    wait_until(lambda: is_gone(waiting), what="its death")
    (switch_host.root / GO).touch()
    closed = follow_switch(context, cutover, until=is_closed)
    assert_new_serves_alone(switch_host, closed, new)
    assert switch_host.supervisor.status(new).main != waiting


def test_early_death_behind_the_gate(switch_host: SwitchHost) -> None:
    """An engine that dies behind its gate before it loads anything is started once more, plain; from then on it is only started plain."""
    times = switch_host.root / "times"
    times.write_text("1")
    old = switch_host.serve(switch_host.release("old"))
    new = gated(switch_host, fault="die_at_start", args=("--fault-times", str(times)))
    closed = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, closed, new)
    assert "KeyError" in switch_host.state.release("new").plain.read_text()
    assert switch_host.switch(new, old).outcome == "promoted"
    again = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, again, new)
    assert "will be started plain: behind its gate it failed" in told(switch_host, again)


def test_failure_that_is_not_the_gates(switch_host: SwitchHost) -> None:
    """A new engine that fails plain as well goes back, and its gate is held innocent."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host, fault="die_at_start")
    closed = switch_host.switch(old, new)
    assert closed.outcome == "returned"
    assert answers(old)
    assert len(switch_host.engines()) == 1
    assert not switch_host.state.release("new").plain.exists()


def test_late_failure_goes_back_at_once(switch_host: SwitchHost) -> None:
    """An engine that came up behind its gate and answers rubbish is not loaded a second time while nothing serves."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host, fault="garbage")
    closed = switch_host.switch(old, new)
    assert closed.outcome == "returned"
    assert [step.name for step in closed.steps if step.release == "new"].count("serve") == 1
    assert "one token repeated" in switch_host.state.release("new").plain.read_text()


@pytest.mark.parametrize("part", ["", HANGS], ids=["at the gate", "importing"])
def test_asked_to_return_while_it_waits(switch_host: SwitchHost, part: str) -> None:
    """The old release was never away, and what waited is gone."""
    old = switch_host.serve(switch_host.release("old", hooks=Hooks(drain=["sleep 30"])))
    new, before = gated(switch_host, part=part), switch_host.engines()
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    switch_host.wait_for_phase("warming" if part else "draining")
    ask_decision(switch_host.state, "return", reason="changed my mind")
    closed = follow_switch(context, cutover, until=is_closed)
    assert (closed.outcome, closed.reason, closed.lost.lost_requests) == ("returned", "changed my mind", 0)
    assert switch_host.engines() == before
    assert switch_host.supervisor.processes(new) == []


def test_switch_killed_while_the_engine_waits(switch_host: SwitchHost) -> None:
    """What waits ends by itself, with nobody's help, and the old release still answers; recovering finds nothing to undo but the drain."""
    old = switch_host.serve(switch_host.release("old", hooks=Hooks(drain=["sleep 30"])))
    new, before = gated(switch_host), switch_host.engines()
    runner = switch_host.start_runner(old, new, "stay")
    waiting = wait_for_gate(switch_host, new)
    cutover = switch_host.wait_for_phase("draining")
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    switch_host.kill_switch(cutover)
    wait_until(lambda: is_gone(waiting), what="the end of what waited")
    assert answers(old)
    closed = recover(switch_host.context())
    assert closed is not None
    assert closed.outcome == "returned"
    assert switch_host.engines() == before
    assert switch_host.supervisor.processes(new) == []


def test_switch_killed_while_the_engine_imports(switch_host: SwitchHost) -> None:
    """An import that hangs outlives its switch and is ended by the recovery, which touches nothing that serves."""
    old = switch_host.serve(switch_host.release("old"))
    new, before = gated(switch_host, part=HANGS), switch_host.engines()
    runner = switch_host.start_runner(old, new, "stay")
    cutover = switch_host.wait_for_phase("warming")
    wait_until(lambda: switch_host.supervisor.processes(new), what="the engine that imports")
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()
    switch_host.kill_switch(cutover)
    closed = recover(switch_host.context())
    assert closed is not None
    assert closed.outcome == "not_started"
    assert read_cutover(switch_host.state) is None
    assert read_book(switch_host.state).current == "old"
    assert switch_host.engines() == before
    assert switch_host.supervisor.processes(new) == []


@pytest.mark.parametrize(
    ("gate", "why"),
    [
        (Gate(preload=["part"], memory_bytes=10**18), "of memory"),
        (Gate(preload=["torch"], memory_bytes=1), "GPU context"),
    ],
    ids=["memory", "gpu"],
)
def test_a_gate_that_would_cost_the_old_engine(switch_host: SwitchHost, gate: Gate, why: str) -> None:
    """Without memory for a process that waits, or with one that takes a GPU before its turn, the start is plain."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host, gate=gate)
    fake_torch = "class cuda:\n    is_initialized = staticmethod(lambda: True)\n"
    (switch_host.root / "parts-new" / "torch.py").write_text(fake_torch)
    closed = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, closed, new)
    assert f"{why}" in told(switch_host, closed)
    assert "will be started plain" in told(switch_host, closed)


@pytest.mark.parametrize("is_own", [True, False])
def test_an_engine_that_the_driver_sees_on_a_gpu_must_not_wait(
    switch_host: SwitchHost, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    """Whatever it says of itself, where the driver names one of its processes; one that is not its own is the old release's. The driver's list is made up."""
    new = switch_host.serve(switch_host.release("new").model_copy(update={"gpus": 1}))
    main = switch_host.supervisor.status(new).main
    assert main is not None
    seen = GpuProcess(gpu_uuid="GPU-0", pid=main.pid if is_own else os.getpid(), name="python", used_bytes=500_000_000)
    monkeypatch.setattr(warm, "read_gpus", lambda: Gpus(processes=[seen]))
    told = Told(seconds=9, cuda=False, warm_children=True, was_nice=True, at_device=True)
    assert warm.refuse_told(switch_host.supervisor, new, told) == (f"its process {main.pid} is on a GPU already" if is_own else "")


PORT_TAKEN_ONCE = """
import pathlib, socket
bind, mark = socket.socket.bind, pathlib.Path(__file__).with_name("taken-once")

def taken(own, address):
    if not mark.exists():
        mark.touch()
        raise OSError(98, "Address already in use")
    bind(own, address)

socket.socket.bind = taken
"""


def test_a_port_that_was_taken_is_not_held_against_the_gate(switch_host: SwitchHost) -> None:
    """Behind its gate an engine finds a port taken, once: the old one is back, and at the next switch the new one may wait at its gate again."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host, part=PORT_TAKEN_ONCE)
    closed = switch_host.switch(old, new)
    assert closed.outcome == "returned" and "Address already in use" in closed.cause[-1], closed
    again = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, again, new)
    assert "waits at its gate" in told(switch_host, again)


def test_a_dead_old_release_is_not_kept_waiting_for(switch_host: SwitchHost) -> None:
    """Where nothing answers any more there is no time to gain: the new engine is started at once."""
    old, new = switch_host.serve(switch_host.release("old")), gated(switch_host)
    main = switch_host.supervisor.status(old).main
    assert main is not None
    send_signal(main, signal.SIGKILL)
    wait_until(lambda: switch_host.supervisor.status(old).state == "failed", what="its death")
    closed = switch_host.switch(old, new)
    assert_new_serves_alone(switch_host, closed, new)
    assert "warm" not in [step.name for step in closed.steps]


def test_weights_are_read_before_the_stop(switch_host: SwitchHost) -> None:
    """Weights that were on the disk alone are in memory when the old release is stopped."""
    view = switch_host.root / "view"
    (view / "deep").mkdir(parents=True)
    shards = [view / "a.safetensors", view / "deep" / "b.gguf"]
    for shard in shards:
        shard.write_bytes(os.urandom(3_000_000))
    (view / "notes.txt").write_bytes(b"x")
    for shard in shards:
        drop_pages(shard)
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    new = switch_host.write(new.model_copy(update={"view_dir": view}))
    closed = switch_host.switch(old, new)
    assert closed.outcome == "promoted"
    assert "warm" in [step.name for step in closed.steps]
    assert switch_host.state.run(closed.run_id).log("page-cache").read_text().strip() == "6000000"


def drop_pages(path: Path) -> None:
    """Take a file out of the page cache."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)
