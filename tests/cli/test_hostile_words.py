"""Wrong words and wrong variables: each ends with its sentence and exit code, and nothing but the named file is ever written."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve()
COMMUNITY = "model:\n  model_id: acme/Big\n  base_args: [--max-model-len, '4096']\n"


READ_ONLY_STATE = (
    "unshare",
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    'mount --bind state state && mount -o remount,ro,bind state && exec "$@"',
    "-",
)
"""Starts a command that sees its state on a read-only mount. Needs root."""


def run(tmp_path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, with a state of its own."""
    return run_under((), tmp_path, *words, **variables)


def run_under(under: tuple[str, ...], tmp_path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The same, started by a command."""
    own = {"MODELPIVOT_STATE_DIR": str(tmp_path / "state"), "MODELPIVOT_WEIGHTS_ROOT": str(tmp_path / "weights")}
    environ = {**os.environ, **own, **variables}
    return subprocess.run(
        [*under, sys.executable, "-m", "modelpivot", *words], env=environ, capture_output=True, text=True, cwd=tmp_path, check=False
    )


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"HF_ENDPOINT": "hub.local"}, "hub_endpoint"),
        ({"MODELPIVOT_HUB_ENDPOINT": "http://127.0.0.1:99999"}, "hub_endpoint"),
        ({"MODELPIVOT_HUB_ENDPOINT": "http://[::1"}, "hub_endpoint"),
        ({"MODELPIVOT_HOOKS": "["}, "hooks"),
        ({"MODELPIVOT_PORT": "70000"}, "port"),
        ({"MODELPIVOT_STATE_DIR": "/tmp/\udcff"}, "state_dir"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, variables: dict[str, str], said: str) -> None:
    """Exit 2 with the field; with --json one object on standard output."""
    done = run(tmp_path, "fetch", "acme/tiny", "there", "--json", **variables)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "UsageError")
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_token_that_no_request_can_carry_is_told_and_not_shown(tmp_path: Path) -> None:
    """It is the token that is wrong, not the network."""
    done = run(tmp_path, "fetch", "acme/tiny", "there", HF_TOKEN="hf_secret\nhf_other")
    assert done.returncode == 2
    assert "token" in done.stderr and "hf_secret" not in done.stderr + done.stdout


def test_an_empty_variable_says_nothing_and_a_relative_root_is_made_absolute(tmp_path: Path) -> None:
    """The default counts, not the folder we stand in; what children of another folder read is the same place."""
    script = "from modelpivot.settings import read_host_config as r; h = r(); print(h.state_dir, h.weights_root)"
    environ = {**os.environ, "MODELPIVOT_STATE_DIR": "", "MODELPIVOT_WEIGHTS_ROOT": "weights", "PYTHONPATH": str(HERE.parents[2])}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["/var/lib/modelpivot", str(tmp_path / "weights")]


def test_a_recipe_goes_through_links_and_into_pipes(tmp_path: Path) -> None:
    """The name that a person gave is written to, never replaced by a file where something else stood."""
    source, linked, pipe = tmp_path / "big.yaml", tmp_path / "linked.yaml", tmp_path / "pipe"
    source.write_text(COMMUNITY)
    linked.symlink_to("real.yaml")
    os.mkfifo(pipe)
    assert run(tmp_path, "recipe", "import", str(source), "-o", str(linked)).returncode == 0
    assert linked.is_symlink() and "max-model-len: 4096" in (tmp_path / "real.yaml").read_text()
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert run(tmp_path, "recipe", "import", str(source), "-o", str(pipe)).returncode == 0
    assert "max-model-len: 4096" in reader.communicate()[0] and stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("target", ["folder", "x" * 300, "/proc/nothing"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, target: str) -> None:
    """A folder, a name that is too long, a place that takes no files: exit 3, the name, no traceback."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "big.yaml").write_text(COMMUNITY)
    done = run(tmp_path, "recipe", "import", "big.yaml", "-o", target)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert Path(target).name in done.stderr


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[1]", b"[" * 100_000, b""])
def test_facts_that_are_none_are_refused(tmp_path: Path, content: bytes) -> None:
    """Exit 2 with the file's name."""
    (tmp_path / "facts.json").write_bytes(content)
    done = run(tmp_path, "plan", "demo", "--facts", "facts.json", "--json")
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (2, 2)
    assert "facts.json" in done.stderr


def test_an_origin_that_is_no_address_is_refused(tmp_path: Path) -> None:
    """Before anything is asked."""
    for origin in ("ftp://copy", "http://[::1", "http://:80"):
        done = run(tmp_path, "fetch", "acme/tiny", "there", "--from", origin)
        assert done.returncode == 2 and "--from" in done.stderr


INTERRUPTED_WHILE_IMPORTING = """
import sys
from modelpivot.cli import main
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv = ["modelpivot", "facts", "--json"]
main()
"""


def test_ctrl_c_while_the_command_starts_is_an_ending_of_its_own(tmp_path: Path) -> None:
    """The first half second is imports; an impatient Ctrl-C there is exit 130 and one object, no traceback."""
    environ = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}
    argv = [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (130, "Interrupted")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "2>&-", "<&- >&- 2>&-", "| true"])
@pytest.mark.parametrize("words", ["verify there", "verify there --json", "recipe import big.yaml", "history --json"])
def test_streams_that_take_nothing_break_nothing(tmp_path: Path, words: str, redirection: str) -> None:
    """Closed, full or read by nobody: no traceback, no exit 70; and no file that is opened next takes the number of a closed stream."""
    (tmp_path / "big.yaml").write_text(COMMUNITY)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "config.json").write_text("{}")
    script = f"exec 3>told; {{ {sys.executable} -m modelpivot {words} 2>&3; echo $? >code; }} {redirection}"
    if redirection != "| true":
        script = f"exec 3>told; {sys.executable} -m modelpivot {words} 2>&3 {redirection}; echo $? >code"
    own = {"MODELPIVOT_STATE_DIR": str(tmp_path / "state"), "PYTHONPATH": str(HERE.parents[2])}
    subprocess.run(["bash", "-c", script], env={**os.environ, **own}, cwd=tmp_path, check=True)
    told = (tmp_path / "told").read_text()
    assert int((tmp_path / "code").read_text()) in (0, 1, 3)
    assert "Traceback" not in told and "Exception ignored" not in told
    assert (tmp_path / "there" / "config.json").read_text() == "{}"


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_that_are_no_text_are_told(tmp_path: Path, encoding: str, options: tuple[str, ...]) -> None:
    """A file on disk may have any bytes as its name, and a terminal any alphabet: weights beside the manifest's are named all the same."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "config.json").write_text("{}")
    manifest = {"repo": "a/b", "commit": "0" * 40, "files": [{"path": "config.json", "size": 2, "sha256": None, "git_oid": None}]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (there / os.fsdecode(b"odd-\xff-\xe2\x86\x92.safetensors")).write_bytes(b"x")
    done = run(tmp_path, "verify", "there", "--manifest", "manifest.json", *options, PYTHONIOENCODING=encoding)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "EXTRA_WEIGHTS" in done.stdout and "odd-" in done.stdout
    if options:
        assert json.loads(done.stdout)["verdict"] == "corrupt"


@pytest.mark.parametrize("options", [("--override", "???"), ("--exclude", "a b"), ("--exclude", "../x")])
def test_a_word_that_names_no_package_is_refused(tmp_path: Path, options: tuple[str, str]) -> None:
    """Before an index is asked: exit 2."""
    done = run(tmp_path, "env", "plan", "vllm==0.26.0", *options, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "UsageError")


@pytest.mark.parametrize("backend", ["cuda12.8", "CPU", "", "cu999"])
def test_a_backend_that_is_none_is_refused(tmp_path: Path, backend: str) -> None:
    """Wrong usage, exit 2, whether the form tells it or uv, which knows what there is; the words say what was expected."""
    done = run(tmp_path, "env", "plan", "vllm==0.26.0", "--torch-backend", backend, "--json", UV_OFFLINE="1")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (2, "UsageError")
    assert "torch_backend" in done.stderr and "cu128" in done.stderr


def test_an_export_names_no_folder_outside_the_root(tmp_path: Path) -> None:
    """The environment's folder is named by engine, version and digest of the export: none of them may lead elsewhere."""
    export = tmp_path / "export"
    export.mkdir()
    (export / "requirements.lock").write_text("")
    odd = {"engine": "vllm", "engine_version": "../../../away", "pins": [], "lock_text": "", "digest": "0" * 10, "python": "3.11.7"}
    (export / "resolution.json").write_text(json.dumps(odd))
    done = run(tmp_path, "env", "restore", str(export), MODELPIVOT_ENVIRONMENTS_ROOT=str(tmp_path / "environments"))
    assert done.returncode == 2 and "engine_version" in done.stderr
    assert not (tmp_path / "away").exists()
