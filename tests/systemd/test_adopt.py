"""A service that was not made by us: adopted, stopped, brought back by its own name and text; containers refused."""

from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.supervisors.adopt import Seen, adopt_unit, masked_words, read_option, read_served_path
from modelpivot.supervisors.process import read_api_key
from tests.systemd.foreign import FRAGMENT, NAME, TEXT, Foreign
from tests.systemd.units import PYTHON, ROOT, Units


@pytest.fixture
def foreign(units: Units) -> Foreign:
    """Not there yet."""
    return Foreign(units)


def test_adopted_as_it_stands(foreign: Foreign) -> None:
    """Name, port (a variable replaced), stop timeout of a drop-in and files are read; the secret is not in the release; nothing was touched."""
    foreign.put()
    main = foreign.units.sandbox.show(NAME, "MainPID")
    release = foreign.adopt()
    assert (release.name, release.origin, release.deadlines.stop_s) == (NAME, "adopted", 3)
    assert (release.endpoint.port, release.endpoint.served_name) == (8000, "glm-5")
    assert release.start.environment == {"PORT": "8000", "HF_TOKEN": "***"}
    assert foreign.adopt().id == release.id
    foreign.units.wait_answers(release)
    status = foreign.units.status(release)
    assert status.main and str(status.main.pid) == main == foreign.units.sandbox.show(NAME, "MainPID")


def test_stopped_and_brought_back_by_its_own_text(foreign: Foreign) -> None:
    """Stop and start go by the unit's own name, and its files are never changed."""
    foreign.put()
    release = foreign.adopt()
    foreign.units.stop(release)
    assert foreign.units.processes(release) == []
    foreign.units.start(release)
    foreign.units.wait_answers(release)
    assert foreign.units.sandbox.read(FRAGMENT) == TEXT
    assert foreign.units.sandbox.shell("ls /etc/systemd/system/modelpivot-* 2>/dev/null || true") == ""


def test_what_its_kill_mode_spares_is_ended(foreign: Foreign) -> None:
    """H4: KillMode=process leaves the engine's child alive at a stop; it is found in the unit's control group and ended."""
    foreign.put(TEXT.replace("--name glm-5", "--name glm-5 --fault child"))
    release = foreign.adopt()
    foreign.units.wait_answers(release)
    processes = foreign.units.processes(release)
    assert len(processes) == 2
    foreign.units.stop(release, timeout_s=1)
    assert not any(foreign.units.is_alive(process) for process in processes)


def test_files_that_are_gone_are_put_back(foreign: Foreign) -> None:
    """Somebody removed the unit meanwhile: it returns with fragment and drop-in as they stood."""
    foreign.put()
    release = foreign.adopt()
    foreign.units.stop(release)
    foreign.units.sandbox.shell(f"systemctl disable {NAME}; rm -r {FRAGMENT} {FRAGMENT}.d; systemctl daemon-reload")
    foreign.units.start(release)
    foreign.units.wait_answers(release)
    assert foreign.units.sandbox.read(FRAGMENT) == TEXT
    assert foreign.units.sandbox.show(NAME, "TimeoutStopUSec") == "3s"


def test_text_changed_by_its_owner_stays(foreign: Foreign) -> None:
    """An owner's change of the unit is not undone: it runs as its owner wants it now, read anew."""
    foreign.put()
    release = foreign.adopt()
    foreign.units.stop(release)
    foreign.units.sandbox.write(FRAGMENT, TEXT.replace("patched", "mended"))
    foreign.units.start(release)
    foreign.units.wait_answers(release)
    assert "mended" in foreign.units.sandbox.read(FRAGMENT)
    assert foreign.units.sandbox.show(NAME, "Description") == "GLM-5 on a mended engine"


def test_log_in_a_file_of_its_own(foreign: Foreign) -> None:
    """A unit that writes to a file: that file is its log, after its stop too."""
    foreign.put(TEXT.replace("KillMode", "StandardOutput=append:/var/log/glm5.log\nStandardError=inherit\nKillMode"))
    release = foreign.adopt()
    foreign.units.wait_answers(release)
    foreign.units.stop(release)
    foreign.units.start(release)
    foreign.units.wait_answers(release)
    assert foreign.units.sandbox.call(foreign.units.supervisor.log_path, release) == Path("/var/log/glm5.log")
    assert "Application startup complete" in foreign.units.read_log(release)


def test_key_is_kept_apart(foreign: Foreign) -> None:
    """The key of its command line goes to a private file of the release, and into no other one that others may read."""
    foreign.units.sandbox.write("/pool/glm5.gguf", "weights")
    foreign.put(
        f"[Service]\nExecStart={PYTHON} -c 'import time; time.sleep(3600)' --model /pool/glm5.gguf --served-model-name glm-5 --api-key sk-1\n"
    )
    release = foreign.adopt()
    assert foreign.units.sandbox.call(read_api_key, release) == "sk-1"
    assert (
        foreign.units.sandbox.shell(f"stat -c %a {ROOT}/releases/{release.id}/*.json {ROOT}/releases/{release.id}/api_key")
        == "600\n644\n600"
    )
    assert "sk-1" not in foreign.units.sandbox.read(ROOT / "releases" / release.id / "release.json")
    assert (release.weights_dir, release.repo) == (Path("/pool/glm5.gguf"), "/pool/glm5.gguf")


@pytest.mark.parametrize(
    ("start", "tool"),
    [
        ("/usr/local/sbin/docker run --rm --name glm5 vllm/vllm-openai", "docker"),
        ("/usr/local/sbin/podman start -a glm5", "podman"),
        ("/bin/sh -c 'cd /srv && docker compose -f glm5.yaml up'", "docker"),
        ("/usr/local/sbin/test-run-glm5", "docker"),
    ],
)
def test_containers_are_refused(foreign: Foreign, start: str, tool: str) -> None:
    """A unit that runs docker or podman, itself, through a shell or through a script, is refused with the tool's name, and goes on running."""
    fake = "#!/bin/sh\n# a fake: no container tool is here\nexec sleep infinity\n"
    for name in ("docker", "podman"):
        foreign.units.sandbox.write(f"/usr/local/sbin/{name}", fake, mode=0o755)
    foreign.units.sandbox.write("/usr/local/sbin/test-run-glm5", "#!/bin/sh\nexec docker run --gpus all vllm/vllm-openai\n", mode=0o755)
    foreign.put(f"[Service]\nExecStart={start}\n")
    with pytest.raises(PreconditionError, match=f"through {tool}"):
        foreign.adopt()
    assert foreign.units.sandbox.show(NAME, "ActiveState") == "active"
    assert foreign.units.sandbox.shell(f"ls {ROOT} 2>/dev/null || true") == ""


def test_unknown_stopped_and_own_units_are_refused(foreign: Foreign) -> None:
    """No such unit, one that does not run, and one of ours: refused, each in its own words."""
    with pytest.raises(PreconditionError, match="not-found"):
        foreign.adopt()
    foreign.put()
    foreign.units.sandbox.shell(f"systemctl stop {NAME}")
    with pytest.raises(PreconditionError, match="no running main process"):
        foreign.adopt()
    ours = foreign.units.release("new")
    foreign.units.start(ours)
    with pytest.raises(PreconditionError, match="one of ours"):
        foreign.units.sandbox.call(adopt_unit, foreign.units.state, "modelpivot-new.service", Seen())


def test_switch_from_a_foreign_unit_and_back(foreign: Foreign) -> None:
    """The brief's pivot: the foreign unit is stopped for the new release, and returns by its own name when that dies; the boot unit runs before it."""
    foreign.put()
    old = foreign.units.serve(foreign.adopt())
    new = foreign.units.release("new", fault="die_at_start")
    closed = foreign.units.wait_phase(foreign.units.begin_switch(old, new), "closed")
    assert closed.outcome == "returned"
    foreign.units.assert_serves(old, new)
    assert NAME in foreign.units.sandbox.show("modelpivot-recover.service", "Before").split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["vllm", "serve", "/pool/m", "--port", "8001", "--host=0.0.0.0"], ("/pool/m", "8001", "0.0.0.0", None)),
        (
            ["python", "-m", "vllm.entrypoints.openai.api_server", "--model=/pool/m", "--served_model_name", "a", "b"],
            ("/pool/m", None, None, "a"),
        ),
        (["vllm", "serve", "--port=8002", "--model", "org/m"], ("org/m", "8002", None, None)),
        (["run.sh"], (None, None, None, None)),
    ],
)
def test_command_lines_are_read(words: list[str], expected: tuple[str | None, ...]) -> None:
    """Model, port, address and served name as vLLM's command line gives them, in all its spellings."""
    model = read_option(words, "model") or read_served_path(words)
    assert (model, read_option(words, "port"), read_option(words, "host"), read_option(words, "served-model-name")) == expected


def test_words_are_shown_without_the_key() -> None:
    """The API key is masked in both spellings, and nothing else is."""
    words = ["serve", "--api-key", "sk-1", "--port", "8000", "--api_key=sk-2"]
    assert masked_words(words) == ["serve", "--api-key", "***", "--port", "8000", "--api-key=***"]
