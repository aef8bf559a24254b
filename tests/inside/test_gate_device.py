"""The gate in front of an engine's devices: it runs on up to there, takes neither device nor port, and goes on in the same processes."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from modelpivot.models.cutover import ProcessId
from modelpivot.models.engine import Gate
from modelpivot.models.release import Release
from modelpivot.stages.gated import GatedStart, Told
from modelpivot.supervisors.process import send_signal
from tests.switching import SwitchHost, switch_host, wait_until

__all__ = ["switch_host"]

PART = """import os, pathlib

class Device:
    def take(self, folder, name):
        (pathlib.Path(folder) / f"taken-{name}").write_text(str(os.getpid()))
"""
PROGRAM = """import multiprocessing, os, pathlib, socket, sys, time

def child(folder, name, hijacker):
    import part
    (pathlib.Path(folder) / f"began-{name}").write_text(f"{os.getpid()}")
    if hijacker:
        multiprocessing.set_executable(hijacker)
        spawn(folder, f"{name}-own", "")
    part.Device().take(folder, name)
    (pathlib.Path(folder) / f"nice-{name}").write_text(str(os.nice(0)))
    time.sleep(3600)

def spawn(folder, name, hijacker):
    process = multiprocessing.get_context("spawn").Process(target=child, args=(folder, name, hijacker))
    process.start()
    return process

def main(folder, port, fault, hijacker):
    if fault == "die":
        raise ValueError("no such model")
    server = socket.socket()
    server.bind(("127.0.0.1", int(port)))
    talk = socket.socket(socket.AF_UNIX)
    talk.bind(os.environ["TMPDIR"] + "/talk")
    talk.listen()
    for name in ("one", "two"):
        spawn(folder, name, hijacker)
    while not (pathlib.Path(folder) / "taken-two").exists():
        time.sleep(0.01)
    server.listen()
    time.sleep(3600)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""
DEVICE = "part:Device.take"


class Launched:
    """A small engine with two processes that take a device, behind a gate; another engine holds its port."""

    def __init__(self, host: SwitchHost, *, device: str = DEVICE, part: str = PART, fault: str = "none", hijacker: str = "") -> None:
        self.folder = host.root / "program"
        self.folder.mkdir()
        (self.folder / "part.py").write_text(part)
        (self.folder / "program.py").write_text(PROGRAM)
        self.scratch = host.root / "scratch"
        self.scratch.mkdir()
        self.serving = socket.create_server(("127.0.0.1", 0), reuse_port=False)
        port = self.serving.getsockname()[1]
        made = host.release("one", port=port, gate=Gate(preload=["part"], warm_children=True, device=device, memory_bytes=1))
        argv = [sys.executable, "-m", "program", str(self.folder), str(port), fault, hijacker]
        start = made.start.model_copy(
            update={
                "argv": argv,
                "working_directory": self.folder,
                "environment": {"PYTHONPATH": str(self.folder), "TMPDIR": str(self.scratch)},
            }
        )
        self.release: Release = host.write(made.model_copy(update={"start": start}))
        self.supervisor = host.supervisor
        self.gated = GatedStart(host.supervisor, self.release, host.state.release("one").gate)
        self.log = host.supervisor.log_path(self.release)

    def come_to_gate(self) -> Told:
        """What it told there."""
        self.gated.begin()
        return wait_until(lambda: self.gated.read().told, what=f"the gate ({self.log})")

    def main(self) -> ProcessId:
        """Its main process."""
        main = self.supervisor.status(self.release).main
        assert main is not None
        return main

    def has(self, what: str) -> bool:
        """Whether that was written."""
        return (self.folder / what).exists()

    def wait_for_pid(self, what: str) -> int:
        """The process that writes this."""
        return int(self.wait_for(what))

    def wait_for(self, what: str) -> str:
        """The text in it, once there is one."""
        path = self.folder / what
        return wait_until(lambda: path.read_text() if path.exists() else "", what=what)

    def taken(self) -> list[str]:
        """Which processes have their device."""
        return sorted(path.name for path in self.folder.glob("taken-*"))


@pytest.fixture
def hijacker(tmp_path: Path) -> str:
    """An interpreter that somebody put in front of the real one."""
    path = tmp_path / "hijacker"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_it_runs_up_to_its_device_and_on_behind_the_gate(switch_host: SwitchHost) -> None:
    """Both of its processes are there before, take their devices behind, and are the same; the port changes hands behind too."""
    launched = Launched(switch_host)
    told = launched.come_to_gate()
    assert (told.at_device, told.cuda, told.warm_children) == (True, False, True)
    before = [launched.wait_for_pid(what) for what in ("began-one", "began-two")]
    main = launched.main()
    assert launched.taken() == []
    launched.serving.close()
    assert launched.gated.open()
    after = [launched.wait_for_pid(what) for what in ("taken-one", "taken-two")]
    assert (after, launched.main()) == (before, main)
    wait_until(lambda: can_connect(launched.release.endpoint.port), what="its own port")


def can_connect(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_what_waits_ends_with_the_gate(switch_host: SwitchHost) -> None:
    """Closed: every process of it is gone, nothing was taken, and of its sockets and folders none stays."""
    launched = Launched(switch_host)
    launched.come_to_gate()
    assert "talk" in scratch(launched)
    launched.gated.close()
    assert_all_gone(launched)
    assert scratch(launched) == []


def scratch(launched: Launched) -> list[str]:
    """What lies where it puts what is for one start only."""
    return sorted(path.name for path in launched.scratch.iterdir())


def test_what_waits_ends_with_the_engines_process(switch_host: SwitchHost) -> None:
    """Its main process killed at the gate: those that wait at their devices do not take them."""
    launched = Launched(switch_host)
    launched.come_to_gate()
    send_signal(launched.main(), signal.SIGKILL)
    assert_all_gone(launched)


def assert_all_gone(launched: Launched) -> None:
    wait_until(lambda: not launched.supervisor.processes(launched.release), what="the end of what waited")
    assert launched.taken() == []


def test_a_start_that_fails_in_front_of_the_gate_is_seen(switch_host: SwitchHost) -> None:
    """It never comes to the gate, and its own words are in its log."""
    launched = Launched(switch_host, fault="die")
    launched.gated.begin()
    fact = wait_until(lambda: None if (fact := launched.gated.read()).is_alive else fact, what="its end")
    assert fact.told is None
    assert "no such model" in launched.log.read_text()


def test_a_port_that_somebody_took_ends_the_start(switch_host: SwitchHost) -> None:
    """Behind the gate it cannot have its port: it ends, says why, and takes no device."""
    launched = Launched(switch_host)
    launched.come_to_gate()
    assert launched.gated.open()
    assert_all_gone(launched)
    assert "Address already in use" in launched.log.read_text()


def test_another_interpreter_is_spawned_behind_the_gate(switch_host: SwitchHost, hijacker: str) -> None:
    """A child that comes through an interpreter of somebody's own would wait nowhere: it is not started before the gate opens."""
    launched = Launched(switch_host, hijacker=hijacker)
    assert launched.come_to_gate().at_device
    launched.serving.close()
    assert not launched.has("began-one-own")
    launched.gated.open()
    wait_until(lambda: launched.taken() == ["taken-one", "taken-one-own", "taken-two", "taken-two-own"], what="all devices")


@pytest.mark.parametrize("device", ["part:Device.grasp", "part:Other.take", "nowhere:Device.take"])
def test_a_device_that_is_not_there_leaves_the_gate_in_front_of_all(switch_host: SwitchHost, device: str) -> None:
    """Of a version that keeps it elsewhere nothing runs before the gate opens."""
    launched = Launched(switch_host, device=device)
    assert not launched.come_to_gate().at_device
    assert list(launched.folder.glob("began-*")) == []
    launched.serving.close()
    launched.gated.open()
    wait_until(lambda: launched.taken() == ["taken-one", "taken-two"], what="both devices")


FAKE_TORCH = """
import sys, types
if sys.argv[0].endswith("gate_children.py"):
    sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))
"""


def test_a_context_that_is_held_in_front_of_the_gate_is_told(switch_host: SwitchHost) -> None:
    """By a child, though its main process holds none: the switch will not let it wait."""
    assert Launched(switch_host, part=PART + FAKE_TORCH).come_to_gate().cuda


def test_priority_is_its_own_behind_the_gate(switch_host: SwitchHost) -> None:
    """Of every process that was started in front of it."""
    if os.geteuid():
        pytest.skip("only root may raise a priority")
    launched, own = Launched(switch_host), os.getpriority(os.PRIO_PROCESS, 0)
    assert launched.come_to_gate().was_nice
    assert os.getpriority(os.PRIO_PROCESS, launched.wait_for_pid("began-one")) > own
    launched.serving.close()
    launched.gated.open()
    assert [int(launched.wait_for(what)) for what in ("nice-one", "nice-two")] == [own, own]
