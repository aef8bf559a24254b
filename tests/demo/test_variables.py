"""The demo's host for a shell: what `modelpivot up` needs to pivot it from a UI."""

import json
import os
import sys
from pathlib import Path

from modelpivot.demo.places import DemoPlaces
from modelpivot.demo.services import Service, remember
from modelpivot.host import CommandResult, own_process_id, run_command
from modelpivot.settings import to_environment


def demo_env(root: Path, shell: str = 'eval "$({})"; env') -> CommandResult:
    command = f"{sys.executable} -m modelpivot demo --env"
    return run_command(
        ["bash", "-c", shell.format(command)], timeout_s=60, env={**os.environ, "MODELPIVOT_DEMO_DIR": str(root)}, is_checked=False
    )


def test_a_shell_that_takes_them_has_the_demos_host(tmp_path: Path) -> None:
    """The same configuration, with the address of the Hub that is up and the port of the engine."""
    places = DemoPlaces(tmp_path)
    remember(places, hub=Service(process=own_process_id(), url="http://127.0.0.1:7"), engine_port=18123)
    shown = dict(line.split("=", 1) for line in demo_env(tmp_path).stdout.splitlines() if line.startswith("MODELPIVOT_"))
    expected = to_environment(places.host("http://127.0.0.1:7", 18123))
    assert expected.items() <= shown.items()


def test_a_program_gets_them_as_one_object(tmp_path: Path) -> None:
    """`demo --env --json`: name and value, nothing else on standard output."""
    places = DemoPlaces(tmp_path)
    remember(places, hub=Service(process=own_process_id(), url="http://127.0.0.1:7"), engine_port=18123)
    assert json.loads(demo_env(tmp_path, "{} --json").stdout) == to_environment(places.host("http://127.0.0.1:7", 18123))


def test_without_a_demo_it_says_so(tmp_path: Path) -> None:
    """3, and what to do; nothing that a shell would take."""
    result = demo_env(tmp_path, "{}")
    assert (result.returncode, result.stdout) == (3, "") and "make demo" in result.stderr
