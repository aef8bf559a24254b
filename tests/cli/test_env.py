"""env plan, list, export, restore through the real command: real uv, a private index, one JSON object, exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from modelpivot.models.engine_change import EngineChange
from tests.private_index import PrivateIndex, private_index

ENGINES = {
    "small": {
        "distribution": "small-engine",
        "module": "small_engine",
        "tested": ["1.0"],
        "requirements": ["small-engine=={version}"],
        "serve": [],
    }
}
PARTNER = ["numpy", "torch", "transformers"]


@dataclass
class Shell:
    """Commands on a host in a folder."""

    root: Path
    index: PrivateIndex

    def run(self, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        own = {
            f"MODELPIVOT_{name}": str(self.root / name.lower())
            for name in ("STATE_DIR", "WEIGHTS_ROOT", "ENVIRONMENTS_ROOT", "DEPLOYMENTS")
        }
        pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": self.index.url, "UV_CACHE_DIR": str(self.root / "cache")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "MODELPIVOT_"))}
        argv = [sys.executable, "-m", "modelpivot", *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, env={**kept, **own, **pip, **variables}, timeout=120, check=False)

    def plan(self, *words: str | Path, code: int = 0, **variables: str) -> EngineChange:
        """`env plan --json`."""
        ended = self.run("env", "plan", *words, "--json", **variables)
        assert ended.returncode == code, ended.stderr
        return EngineChange.model_validate_json(ended.stdout)

    def json(self, *words: str | Path, **variables: str) -> Any:
        """A command's one object."""
        ended = self.run(*words, "--json", **variables)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def make_live(self, *pins: str) -> Path:
        """An environment made by hand, as hosts have them."""
        path = self.root / "live"
        variables = {"UV_CACHE_DIR": str(self.root / "cache"), "UV_DEFAULT_INDEX": self.index.url, "PATH": os.environ["PATH"]}
        uv = Path(sys.executable).with_name("uv")
        for words in (["venv", "--python", sys.executable, str(path)], ["pip", "install", "--python", f"{path}/bin/python", *pins]):
            subprocess.run([str(uv), "-q", *words], check=True, env=variables)
        return path


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A host with an engine `small-engine` 1.0 and 2.0 in a private index."""
    (tmp_path / "deployments/recipes").mkdir(parents=True)
    (tmp_path / "deployments/engines.yaml").write_text(yaml.safe_dump(ENGINES))
    with private_index(tmp_path / "index") as served:
        served.add("small_engine", "1.0", requires=PARTNER)
        served.add("small_engine", "2.0", requires=["numpy<2.3", "torch<2.9", "transformers"])
        for name, versions in {"numpy": ["2.2.6", "2.4.2"], "torch": ["2.8.0", "2.9.1"], "transformers": ["5.1.0"]}.items():
            for version in versions:
                served.add(name, version)
        yield Shell(tmp_path, served)


def test_the_change_list_of_an_upgrade_is_shown_and_gated(shell: Shell) -> None:
    """E1, by a real resolver on a host that lets pre-releases in: numpy down is asked about, torch down and a snapshot block."""
    live = shell.make_live("small-engine==1.0")
    shell.index.add("transformers", "5.2.0.dev0")
    made = shell.plan("small-engine==2.0", "--environment", live, code=3, UV_PRERELEASE="allow")
    assert {change.name: (change.before, change.after, change.answer) for change in made.changes} == {
        "numpy": ("2.4.2", "2.2.6", "consent"),
        "small-engine": ("1.0", "2.0", "pass"),
        "torch": ("2.9.1", "2.8.0", "block"),
        "transformers": ("5.1.0", "5.2.0.dev0", "block"),
    }
    assert [blocker.what.rpartition("packages that ")[2][:14] for blocker in made.blockers] == ["go down althou", "become develop"]


def test_nothing_is_made_by_planning(shell: Shell) -> None:
    """The environments root is not even there afterwards, and the live environment has the same files."""
    live = shell.make_live("small-engine==1.0")
    before = sorted(live.rglob("*"))
    made = shell.plan("small-engine==2.0", "--environment", live, code=3)
    assert {change.name: change.answer for change in made.changes} == {"small-engine": "pass", "numpy": "consent", "torch": "block"}
    assert sorted(live.rglob("*")) == before
    assert not (shell.root / "environments_root").exists()


def test_people_read_a_table(shell: Shell) -> None:
    """Package, now, then, class, policy; what blocks stands first."""
    ended = shell.run("env", "plan", "small-engine==2.0", "--environment", shell.make_live("small-engine==1.0"))
    assert ended.returncode == 3
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("✗") and "torch 2.9.1 -> 2.8.0" in lines[0]
    assert any(line.split()[:3] == ["numpy", "2.4.2", "2.2.6"] and "downgrade" in line for line in lines)
    assert "blocked: 3 packages change" in lines[-1]


def test_no_change_is_no_failure(shell: Shell) -> None:
    """The same version again."""
    made = shell.plan("small-engine==1.0", "--environment", shell.make_live("small-engine==1.0"))
    assert (made.verdict, made.changes) == ("no_change", [])


def test_patched_files_are_named(shell: Shell) -> None:
    """The live engine was patched in place: asked about, with the file."""
    live = shell.make_live("small-engine==1.0")
    module = next(live.glob("lib/python3*/site-packages/small_engine/__init__.py"))
    module.write_text("patched = 1\n")
    made = shell.plan("small-engine==1.0", "--environment", live)
    assert made.altered == ["small_engine/__init__.py"]
    assert [question.id for question in made.questions] == ["patched-environment"]


def test_no_wheel_is_a_failure_but_for_a_nightly(shell: Shell) -> None:
    """A version that nobody has: exit 3. A nightly that is not there tonight: told, exit 0. No network: exit 6."""
    assert shell.plan("small-engine==9.9", code=3).verdict == "no_wheel"
    shell.index.add("odd", "1.0", tag="cp311-cp311-win_amd64")
    assert shell.plan("odd", "--nightly", MODELPIVOT_NIGHTLY_INDEX=shell.index.url).verdict == "no_wheel"
    assert shell.plan("small-engine==1.0", code=6, PIP_INDEX_URL="http://127.0.0.1:9/simple").verdict == "unreachable"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["env", "plan"], "--recipe"),
        (["env", "plan", "git+https://127.0.0.1/x"], "name @ git+"),
        (["env", "plan", "small-engine", "--environment", "/proc"], "expected a virtual environment"),
        (["env", "plan", "./absent-1.0-py3-none-any.whl"], "no such wheel"),
    ],
)
def test_wrong_words_are_exit_2(shell: Shell, words: list[str], said: str) -> None:
    """What was given, and what is expected."""
    ended = shell.run(*words)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_a_local_wheel_is_planned_by_its_path(shell: Shell) -> None:
    """The engine of engines.yaml that it is."""
    live = shell.make_live("small-engine==1.0")
    wheel = shell.index.add("small_engine", "1.0+mine", requires=PARTNER)
    made = shell.plan(wheel, "--environment", live)
    assert [(change.after, change.classes) for change in made.changes] == [("1.0+mine", ["engine", "build"])]


def test_environments_are_listed_exported_and_restored(shell: Shell) -> None:
    """Installed by a recipe, packed by name, made again on a host without any index."""
    recipe = {"name": "small", "model": {"repo": "acme/none"}, "engine": {"name": "small"}, "serve": {"served_name": "small"}}
    (shell.root / "deployments/recipes/small.yaml").write_text(yaml.safe_dump(recipe))
    assert shell.json("install", "small", MODELPIVOT_HUB_ENDPOINT="http://127.0.0.1:9")["new"]
    (listed,) = shell.json("env", "list")["environments"]
    assert (listed["engine_version"], listed["packages"], listed["is_proved"], listed["releases"]) == ("1.0", 4, True, [])
    assert listed["shared_bytes"] > 0
    exported = shell.json("env", "export", listed["name"], "--to", shell.root / "export")
    assert exported["packages"] == 4
    away = {
        "MODELPIVOT_ENVIRONMENTS_ROOT": str(shell.root / "away"),
        "UV_CACHE_DIR": str(shell.root / "c2"),
        "PIP_INDEX_URL": "http://127.0.0.1:9",
    }
    restored = shell.json("env", "restore", shell.root / "export", **away)
    assert restored["path"] == str(shell.root / "away" / listed["name"])
    assert shell.run("env", "list", **away).stdout.count("proved") == 1
