"""A host's first pivot with this program: the service that serves is adopted as it stands, pivoted away from, and gone back to. By the real commands."""

import time

import pytest

from modelpivot.facts.everything import read_host_facts
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.plans.foreign import ForeignEngine, find_foreign_engines
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book, read_release
from tests.lab.sandbox import Sandbox
from tests.systemd.foreign import DROP_IN, FRAGMENT, NAME, TEXT, Foreign
from tests.systemd.units import ROOT, Units


@pytest.fixture
def foreign(units: Units) -> Foreign:
    """Not there yet."""
    return Foreign(units)


@pytest.fixture
def own(own_machine: Sandbox) -> Foreign:
    """The same on a machine of the test's own."""
    return Foreign(Units(own_machine))


def serve_and_adopt(foreign: Foreign, text: str = TEXT, *words: str) -> Release:
    """The unit serves and is adopted by the command."""
    foreign.put(text)
    foreign.wait_answers()
    return Release.model_validate(foreign.command("adopt", NAME, *words))


def switch_to(foreign: Foreign, old: Release, new: Release) -> None:
    """A switch that is promoted."""
    closed = foreign.units.wait_phase(foreign.units.begin_switch(old, new), "closed")
    assert closed.outcome == "promoted", closed


def read_files(foreign: Foreign) -> list[str]:
    """The unit's text as it lies on disk."""
    return [foreign.units.sandbox.read(path) for path in (FRAGMENT, DROP_IN)]


def test_adopted_is_current_and_proved_and_untouched(foreign: Foreign) -> None:
    """Served name and port are measured; the release is current and proved; the service keeps its process and its files."""
    foreign.put()
    foreign.wait_answers()
    before, main = read_files(foreign), foreign.units.sandbox.show(NAME, "MainPID")
    release = Release.model_validate(foreign.command("adopt", NAME))
    assert (release.endpoint.served_name, release.endpoint.port, release.gpus) == ("glm-5", 8000, 0)
    book = foreign.units.sandbox.call(read_book, foreign.units.state)
    assert (book.current, book.previous, book.proved) == (release.id, None, [release.id])
    assert (read_files(foreign), foreign.units.sandbox.show(NAME, "MainPID")) == (before, main)
    status = foreign.command("status")
    assert (status["current"], status["answers"]) == (release.id, True)
    assert foreign.command("history")["runs"][0]["outcome"] == "adopted"


def find_engines(config: HostConfig) -> list[ForeignEngine]:
    """Inside: what preflight and plan know of services that are not ours."""
    return find_foreign_engines(read_host_facts(config, StatePaths(config.state_dir), until=time.monotonic() + 30))


def test_preflight_finds_it_until_it_is_adopted(foreign: Foreign) -> None:
    """The facts name the unit behind the port; once it is adopted it is the current release and no foreign engine any more."""
    foreign.put()
    foreign.wait_answers()
    [engine] = foreign.units.sandbox.call(find_engines, foreign.units.config)
    assert (engine.unit, [str(pid) for pid in engine.pids]) == (NAME, [foreign.units.sandbox.show(NAME, "MainPID")])
    foreign.command("adopt", NAME)
    assert foreign.units.sandbox.call(find_engines, foreign.units.config) == []


def test_adopted_again_changes_nothing(foreign: Foreign) -> None:
    """The same unit a second time is the same release, and the book stays; a text changed meanwhile makes another one, with nothing before it."""
    release = serve_and_adopt(foreign)
    assert foreign.command("adopt", NAME)["id"] == release.id
    foreign.units.sandbox.write(FRAGMENT, TEXT.replace("patched", "mended"))
    foreign.units.sandbox.shell("systemctl daemon-reload")
    again = foreign.command("adopt", NAME)["id"]
    book = foreign.units.sandbox.call(read_book, foreign.units.state)
    assert again != release.id
    assert (book.current, book.previous) == (again, None)


def test_pivot_away_and_rollback(own: Foreign) -> None:
    """The whole way: adopted, pivoted away from (stopped and disabled), a power cut, and `rollback` brings it back by its own text."""
    old, new = serve_and_adopt(own), own.units.release("new")
    before = read_files(own)
    switch_to(own, old, new)
    own.units.assert_serves(new, old)
    own.units.sandbox.reboot()
    own.units.assert_serves(new, old)
    assert own.command("rollback")["outcome"] == "promoted"
    own.units.assert_serves(old, new)
    assert read_files(own) == before


def test_power_cut_goes_back_to_it(own: Foreign) -> None:
    """A power cut while the new release is unconfirmed: after the boot the adopted one serves, started by systemd by its own name."""
    old, new = serve_and_adopt(own), own.units.release("new")
    cutover = own.units.begin_switch(old, new, confirm="asked")
    own.units.wait_phase(cutover, "unconfirmed")
    own.units.sandbox.reboot()
    assert own.units.wait_phase(cutover, "closed").outcome == "returned"
    own.units.assert_serves(old, new)


def test_weights_in_one_file(foreign: Foreign) -> None:
    """A GGUF is one file, not a folder: the unit is gone back to all the same; once the file is gone, that is said and nothing is touched."""
    foreign.units.sandbox.write("/pool/glm5.gguf", "weights")
    old = serve_and_adopt(foreign, TEXT.replace("--name glm-5", "--name glm-5 --model /pool/glm5.gguf"))
    new = foreign.units.release("new")
    assert str(old.weights_dir) == "/pool/glm5.gguf"
    switch_to(foreign, old, new)
    foreign.units.sandbox.shell("mv /pool/glm5.gguf /pool/away")
    assert "/pool/glm5.gguf is gone" in foreign.command("rollback", expected=3)["message"]
    foreign.units.assert_serves(new, old)
    foreign.units.sandbox.shell("mv /pool/away /pool/glm5.gguf")
    foreign.command("rollback")
    foreign.units.assert_serves(old, new)


def test_port_that_no_command_line_tells(foreign: Foreign) -> None:
    """The port is hidden in a script: it is the one on which the unit's own processes listen."""
    program = TEXT.split("ExecStart=")[1].splitlines()[0].replace("${PORT}", "8123")
    foreign.units.sandbox.write("/usr/local/bin/test-serve", f"#!/bin/sh\nexec {program}\n", mode=0o755)
    foreign.put("[Service]\nExecStart=/usr/local/bin/test-serve\n[Install]\nWantedBy=multi-user.target\n")
    foreign.units.wait(lambda: ":8123 " in foreign.units.sandbox.shell("ss -Hltn; true"), what="port 8123")
    release = foreign.command("adopt", NAME)
    assert (release["endpoint"]["port"], release["endpoint"]["served_name"]) == (8123, "glm-5")


@pytest.mark.parametrize(
    ("fault", "words", "told"),
    [
        ("lie", (), "generation"),
        ("none", ("--served-name", "other"), "expected other in /v1/models"),
        ("none", ("--port", "22"), "listen on port 22, found [8000]"),
    ],
)
def test_what_does_not_serve_is_not_adopted(foreign: Foreign, fault: str, words: tuple[str, ...], told: str) -> None:
    """A release to go back to is a proved one: without a generated answer nothing is written, and what is missing is said."""
    foreign.put(TEXT.replace("--name glm-5", f"--name glm-5 --fault {fault}"))
    foreign.units.wait(lambda: ":8000 " in foreign.units.sandbox.shell("ss -Hltn; true"), what="port 8000")
    assert told in foreign.command("adopt", NAME, *words, expected=3)["message"]
    assert foreign.units.sandbox.shell(f"ls {ROOT}") == "lock.guard\nruns\nspare"


def test_rubbish_is_adopted_as_it_stands(foreign: Foreign) -> None:
    """The brief's old model answers incoherently: it is adopted with a warning, and its return does not fail for that."""
    old = serve_and_adopt(foreign, TEXT.replace("--name glm-5", "--name glm-5 --fault garbage"))
    assert [probe.not_degenerate for probe in old.probes] == [False]
    new = foreign.units.release("new", fault="die_at_start")
    closed = foreign.units.wait_phase(foreign.units.begin_switch(old, new), "closed")
    assert closed.outcome == "returned"
    assert [(step.name, step.release) for step in closed.steps if step.result == "failed"] == [("ready", new.id)]
    foreign.units.assert_serves(old, new)


def test_a_host_has_one_current_release(foreign: Foreign) -> None:
    """A release of ours serves: another service is a stranger and is not adopted; once ours is down, it may be."""
    ours = foreign.units.serve(foreign.units.release("new"))
    foreign.put(TEXT.replace("PORT=8000", "PORT=8001"))
    assert "new is the current release" in foreign.command("adopt", NAME, expected=3)["message"]
    foreign.units.stop(ours)
    foreign.units.wait(lambda: ":8001 " in foreign.units.sandbox.shell("ss -Hltn; true"), what="port 8001")
    release = foreign.command("adopt", NAME)
    book = foreign.units.sandbox.call(read_book, StatePaths(ROOT))
    assert (book.current, book.previous) == (release["id"], "new")


def test_release_of_an_adoption_is_whole(foreign: Foreign) -> None:
    """What is read back from the state is what the command told; no secret is in it."""
    release = serve_and_adopt(foreign)
    assert foreign.units.sandbox.call(read_release, foreign.units.state, release.id) == release
    assert "hf_secret" not in release.model_dump_json()
