"""The launcher in front of an engine: imports, waits, and then is the engine's own process; its spawned children come from a warm server."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.models.cutover import ProcessId
from modelpivot.models.engine import Gate
from modelpivot.models.release import Release
from modelpivot.stages.gated import GatedStart, gated_argv
from tests.switching import SwitchHost, is_gone, switch_host, wait_until

__all__ = ["switch_host"]

PART = """import os
IMPORTED_BY = os.getpid()
"""
PROGRAM = """import json, multiprocessing, os, sys

def child(answers, depth):
    import part
    answers.put({"own": os.getpid(), "imported_by": part.IMPORTED_BY, "late": os.environ.get("SET_LATE"), "nice": os.nice(0), "argv": sys.argv[1:]})
    if depth:
        spawn(answers, depth - 1)

def spawn(answers, depth):
    process = multiprocessing.get_context("spawn").Process(target=child, args=(answers, depth))
    process.start()
    process.join()
    assert process.exitcode == 0

def main(out, wrapper):
    import part
    if wrapper:
        multiprocessing.set_executable(wrapper)
    os.environ["SET_LATE"] = "yes"
    answers = multiprocessing.get_context("spawn").SimpleQueue()
    spawn(answers, 1)
    children = [answers.get(), answers.get()]
    with open(out + ".draft", "w") as file:
        json.dump({"own": os.getpid(), "imported_by": part.IMPORTED_BY, "children": children, "nice": os.nice(0), "path": sys.path[0]}, file)
    os.rename(out + ".draft", out)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


class Launched:
    """A small program behind a gate."""

    def __init__(self, host: SwitchHost, *, warm_children: bool, part: str = PART, wrapper: str = "") -> None:
        folder = host.root / "program"
        folder.mkdir()
        (folder / "part.py").write_text(part)
        (folder / "program.py").write_text(PROGRAM)
        self.out = host.root / "out.json"
        made = host.release("one", gate=Gate(preload=["part"], warm_children=warm_children, memory_bytes=1))
        argv = [sys.executable, "-m", "program", str(self.out), wrapper]
        start = made.start.model_copy(update={"argv": argv, "working_directory": folder, "environment": {"PYTHONPATH": str(folder)}})
        self.release: Release = host.write(made.model_copy(update={"start": start}))
        self.supervisor = host.supervisor
        self.gated = GatedStart(host.supervisor, self.release, host.state.release("one").gate)
        self.log = host.supervisor.log_path(self.release)

    def come_to_gate(self) -> ProcessId:
        """Its main process, waiting."""
        self.gated.begin()
        wait_until(lambda: self.gated.read().told is not None, what=f"the gate ({self.log})")
        main = self.supervisor.status(self.release).main
        assert main is not None
        return main

    def answer(self) -> Any:
        """What the program wrote at its end."""
        return wait_until(lambda: json.loads(self.out.read_text()) if self.out.exists() else None, what=f"its answer ({self.log})")


@pytest.fixture
def wrapper(tmp_path: Path) -> Path:
    """An interpreter that somebody put in front of the real one, as an engine does to bind its workers to memory."""
    path = tmp_path / "wrapper"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


def test_nothing_of_the_program_runs_before_the_gate_opens(switch_host: SwitchHost) -> None:
    """At the gate the modules are imported and the program has not begun; opened, it goes on in the same process with its own words and folder."""
    launched = Launched(switch_host, warm_children=False)
    main = launched.come_to_gate()
    assert not launched.out.exists()
    assert launched.gated.open()
    answer = launched.answer()
    assert answer["own"] == answer["imported_by"] == main.pid
    assert answer["path"] == str(switch_host.root / "program")
    assert not switch_host.state.release("one").gate.exists()


def test_spawned_children_are_warm(switch_host: SwitchHost) -> None:
    """Children, and theirs, find imported what the server imported, and have the variables of who spawned them."""
    launched = Launched(switch_host, warm_children=True)
    main = launched.come_to_gate()
    told = launched.gated.read().told
    assert told is not None
    assert told.warm_children
    launched.gated.open()
    answer = launched.answer()
    importers = {child["imported_by"] for child in answer["children"]}
    assert len(importers) == 1
    assert not importers & {main.pid, *(child["own"] for child in answer["children"])}
    assert [child["late"] for child in answer["children"]] == ["yes", "yes"]
    assert [child["argv"] for child in answer["children"]] == [[str(launched.out), ""]] * 2
    wait_until(lambda: not launched.supervisor.processes(launched.release), what="the server's end with its program")


def test_children_are_spawned_as_ever_without_a_server(switch_host: SwitchHost) -> None:
    """An engine whose children may not be warm has each of them import for itself."""
    launched = Launched(switch_host, warm_children=False)
    launched.come_to_gate()
    launched.gated.open()
    assert all(child["imported_by"] == child["own"] for child in launched.answer()["children"])


def test_a_hijacked_interpreter_is_spawned_as_ever(switch_host: SwitchHost, wrapper: Path) -> None:
    """Where the program put another interpreter in front, its children come through that one."""
    launched = Launched(switch_host, warm_children=True, wrapper=str(wrapper))
    launched.come_to_gate()
    launched.gated.open()
    first = launched.answer()["children"][0]
    assert first["imported_by"] == first["own"]


def test_a_server_that_dies_costs_nothing_but_warmth(switch_host: SwitchHost) -> None:
    """A server that cannot import what the engine itself could leaves children spawned as ever."""
    text = f"{PART}\nimport sys\nif sys.argv[0].endswith('gate_children.py'):\n    os._exit(1)\n"
    launched = Launched(switch_host, warm_children=True, part=text)
    launched.come_to_gate()
    told = launched.gated.read().told
    assert told is not None
    assert not told.warm_children
    launched.gated.open()
    assert all(child["imported_by"] == child["own"] for child in launched.answer()["children"])


@pytest.mark.parametrize("is_warm", [True, False])
def test_a_gate_that_closes_ends_what_waits(switch_host: SwitchHost, is_warm: bool) -> None:
    """Nobody needs to end it: when the last end of the FIFO is gone, so is everything that waited."""
    launched = Launched(switch_host, warm_children=is_warm)
    main = launched.come_to_gate()
    launched.gated.close()
    wait_until(lambda: is_gone(main) and not launched.supervisor.processes(launched.release), what="the end of what waited")
    assert not launched.out.exists()
    assert not launched.gated.open()


def test_priority_is_low_at_the_gate_and_its_own_behind(switch_host: SwitchHost) -> None:
    """What waits is nice to what serves; behind the gate it is not (tried where it may be raised again: as root)."""
    if os.geteuid():
        pytest.skip("only root may raise a priority")
    launched = Launched(switch_host, warm_children=True)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    main = launched.come_to_gate()
    assert os.getpriority(os.PRIO_PROCESS, main.pid) > before
    launched.gated.open()
    answer = launched.answer()
    assert {answer["nice"], *(child["nice"] for child in answer["children"])} == {before}


def test_options_of_the_interpreter_stay_in_front(switch_host: SwitchHost) -> None:
    """-I and -X stand before the launcher; a module or file and its words behind it; a command of text has no gate."""
    made, folder = switch_host.release("one"), Path("/f")

    def behind(words: list[str]) -> list[str]:
        argv = gated_argv(made.model_copy(update={"start": made.start.model_copy(update={"argv": ["py", *words]})}), folder)
        return [word for word in argv if not word.endswith("gate.py")]

    assert behind(["-I", "-X", "utf8", "-m", "a.b", "--c"]) == ["py", "-I", "-X", "utf8", "/f", "--", "-m", "a.b", "--c"]
    assert behind(["a.py", "-m"]) == ["py", "/f", "--", "a.py", "-m"]
    with pytest.raises(PreconditionError, match="neither a module nor a file"):
        behind(["-c", "print()"])
