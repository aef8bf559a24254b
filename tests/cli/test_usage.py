"""Wrong input through the real command: exit 2, file, field, what is allowed, and nothing made on the host."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = """\
name: tiny
model: {repo: demo/new-deepseek}
engine: {name: vllm-cpu}
serve: {served_name: tiny, port: 18001}
"""


def command(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run modelpivot with all its roots in the test's folder."""
    roots = {f"MODELPIVOT_{name}": str(tmp_path / name.lower()) for name in ("STATE_DIR", "WEIGHTS_ROOT", "ENVIRONMENTS_ROOT")}
    environment = {**os.environ, **roots, "MODELPIVOT_HUB_ENDPOINT": "http://127.0.0.1:9", "MODELPIVOT_SUPERVISOR": "process"}
    return subprocess.run(
        [sys.executable, "-m", "modelpivot", *words], capture_output=True, text=True, env=environment, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("port: 18001", "port: 99999"), ["serve.port", "65535", "99999"]),
        (("repo: demo/new-deepseek", "repo: just-a-name"), ["model.repo", "org/name", "just-a-name"]),
        (("served_name: tiny", "servedname: tiny"), ["serve.servedname", "serve.served_name"]),
        (("name: tiny\n", "name: Tiny Model\n"), ["name", "lower-case"]),
        (("name: vllm-cpu", "name: no-engine"), ["engine", "no-engine", "vllm-cpu"]),
    ],
)
def test_a_wrong_recipe_is_named_by_file_and_field(tmp_path: Path, change: tuple[str, str], said: list[str]) -> None:
    """Exit 2; the message names the file, the field and what is allowed."""
    path = tmp_path / "tiny.yaml"
    path.write_text(RECIPE.replace(*change))
    ended = command(tmp_path, "plan", str(path))
    assert ended.returncode == 2
    for words in said:
        assert words in ended.stderr
    assert not (tmp_path / "weights_root").exists()


def test_a_recipe_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    """Exit 2, with the file's name."""
    path = tmp_path / "broken.yaml"
    path.write_text("name: [unclosed")
    ended = command(tmp_path, "run", str(path))
    assert (ended.returncode, "broken.yaml" in ended.stderr) == (2, True)


def test_an_unknown_recipe_name_offers_the_near_one(tmp_path: Path) -> None:
    """A typing error is answered with the name that was meant."""
    ended = command(tmp_path, "plan", "dmeo")
    assert ended.returncode == 2
    assert "did you mean demo?" in ended.stderr


def test_json_keeps_errors_on_standard_output_as_one_object(tmp_path: Path) -> None:
    """With --json a program reads the failure from the same place as the answer."""
    ended = command(tmp_path, "plan", "dmeo", "--json")
    told = json.loads(ended.stdout)
    assert (told["error"], told["exit_code"], ended.returncode) == ("UsageError", 2, 2)


def test_a_wrong_host_configuration_names_its_variable(tmp_path: Path) -> None:
    """Exit 2; the message names the variable and what it may be."""
    environment = {**os.environ, "MODELPIVOT_SUPERVISOR": "cron", "MODELPIVOT_STATE_DIR": str(tmp_path)}
    argv = [sys.executable, "-m", "modelpivot", "status"]
    ended = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert ended.returncode == 2
    assert "MODELPIVOT_SUPERVISOR" in ended.stderr.upper()
    assert "process" in ended.stderr


@pytest.mark.parametrize("words", [("no-such-command",), ("plan",), ("demo", "--fail", "nowhere"), ("status", "too", "many")])
def test_wrong_words_are_one_object_too(tmp_path: Path, words: tuple[str, ...]) -> None:
    """With --json also what the command line itself refuses is told on standard output: exit 2."""
    ended = command(tmp_path, *words, "--json")
    told = json.loads(ended.stdout)
    assert (told["error"], told["exit_code"], ended.returncode) == ("UsageError", 2, 2)


def test_ctrl_c_is_one_object_too(tmp_path: Path) -> None:
    """Interrupted while it waits for a Hub that never answers: exit 130, said in words and as JSON."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {**os.environ, "MODELPIVOT_STATE_DIR": str(tmp_path), "MODELPIVOT_HUB_ENDPOINT": hub}
        argv = [sys.executable, "-m", "modelpivot", "verify", str(tmp_path), "--repo", "acme/tiny", "--json"]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        asked, _ = silent.accept()
        with asked:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["exit_code"], "interrupted" in err) == (130, 130, True)
