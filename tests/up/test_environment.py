"""The environment files: whatever a host's configuration holds, a shell, systemd and we read the same out of them; the worker's one has its shell's word."""

import json
import os
import sys
from pathlib import Path

import pytest

from modelpivot.errors import UsageError
from modelpivot.host import run_command
from modelpivot.models.hooks import Hooks
from modelpivot.models.host import HostConfig
from modelpivot.settings import to_environment
from modelpivot.up.environment import read_variables, told, write_environment, write_variables
from modelpivot.up.places import up_places
from modelpivot.up.units import NAMES, write_units

HOOK = """curl -H "key: $KEY" -d '{"text": "a \\\\ b"}' `cat /etc/where` | tee ${LOG:-/dev/null} # 100 % ! \\"""
HOSTILE = {
    "PLAIN": "a:b/c?d=e&f",
    "EMPTY": "",
    "HOOK": HOOK,
    "WINDOW": "Sun-Thu 01:00-05:00 Europe/Berlin",
    "ODD": " ü\t\u2028\x85 '\"\\\\$` ",
}


def read_by(shell: str, path: Path) -> dict[str, str]:
    """What a process has that a shell starts after it read the file."""
    script = 'set -a; . "$1"; set +a; exec "$2" -c "import json, os; print(json.dumps(dict(os.environ)))"'
    told: dict[str, str] = json.loads(run_command([shell, "-c", script, shell, path, sys.executable], timeout_s=30).stdout)
    return told


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_reads_what_was_written(tmp_path: Path, shell: str) -> None:
    """Quotes of both kinds, braces, blanks, dollar signs, backquotes, backslashes, a last backslash, nothing: each as it was."""
    write_variables(tmp_path / "file", HOSTILE)
    assert HOSTILE.items() <= read_by(shell, tmp_path / "file").items()


def test_we_read_what_was_written_now_and_by_earlier_versions(tmp_path: Path) -> None:
    """With quotes and without any; what a person wrote between the lines is nobody's."""
    write_variables(tmp_path / "file", HOSTILE)
    assert read_variables(tmp_path / "file") == HOSTILE
    (tmp_path / "old").write_text("# by hand\n\nPREFECT_API_URL=http://127.0.0.1:4200/api\nEMPTY=\nSECRET=admin:a-b_c\n")
    assert read_variables(tmp_path / "old") == {"PREFECT_API_URL": "http://127.0.0.1:4200/api", "EMPTY": "", "SECRET": "admin:a-b_c"}


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\x00b", "a\udcffb"])
def test_what_no_line_can_hold_is_refused_by_its_name(tmp_path: Path, value: str) -> None:
    """2, the name and never the value, which may be a secret; nothing is written."""
    with pytest.raises(UsageError, match="HF_TOKEN: expected text on one line") as caught:
        write_variables(tmp_path / "file", {"HF_TOKEN": value})
    assert value not in str(caught.value) and not (tmp_path / "file").exists()


SHELL = {"MODELPIVOT_DATABASE_URL": "postgresql://pivot:planted-word@db/history", "HF_TOKEN": "hf_planted_that_must_not_be_seen"}
"""What no configuration of a host holds."""


def test_the_workers_unit_is_told_what_its_shell_says(host: HostConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Window, hooks, recipes (wherever the worker stands), history and token: in a file of 0600, and the secrets in no unit and no word."""
    host = host.model_copy(update={"window": HOSTILE["WINDOW"], "hooks": Hooks(before=[HOOK])})
    monkeypatch.chdir(tmp_path)
    for name, value in {**SHELL, "MODELPIVOT_DEPLOYMENTS": "ours"}.items():
        monkeypatch.setenv(name, value)
    places = up_places(host)
    written = write_units(host, places, tmp_path / "units", address="127.0.0.1", port=4200, database=None)
    expected = {**to_environment(host), **SHELL, "MODELPIVOT_DEPLOYMENTS": str(tmp_path / "ours")}
    assert expected.items() <= read_by("sh", places.client_env).items()
    assert set(written.worker_is_told) == set(expected) and places.client_env.stat().st_mode & 0o777 == 0o600
    seen = [str(written), written.model_dump_json(), *((tmp_path / "units" / name).read_text() for name in NAMES)]
    assert not [text for text in seen for secret in SHELL.values() if secret in text]


def test_what_the_workers_unit_was_told_stays_and_nobody_else_is_told_it(host: HostConfig) -> None:
    """`up` without units writes the same file: it keeps that word, and a process that it starts has the host of its own shell."""
    places = up_places(host)
    worker = {"MODELPIVOT_WINDOW": HOSTILE["WINDOW"], "HF_TOKEN": SHELL["HF_TOKEN"]}
    write_environment(places, listen="127.0.0.1", port=4200, database=None, worker=worker)
    write_environment(places, listen="127.0.0.1", port=4201, database=None)
    known = read_variables(places.client_env)
    assert worker.items() <= known.items() and known["PREFECT_API_URL"] == "http://127.0.0.1:4201/api"
    handed_on = told(places, places.client_env)
    assert handed_on["PREFECT_API_URL"] == known["PREFECT_API_URL"] and not worker.items() & handed_on.items()


def test_units_answer_with_one_object(host: HostConfig, tmp_path: Path) -> None:
    """`up --units DIR --json`: the units, where to log in, and what root does next."""
    argv = [sys.executable, "-m", "modelpivot", "up", "--units", str(tmp_path), "--json"]
    told = json.loads(run_command(argv, timeout_s=60, env=os.environ | to_environment(host)).stdout)
    assert told["units"] == [str(tmp_path / name) for name in NAMES] and told["url"] == "http://127.0.0.1:4200"
    assert told["login"] == str(up_places(host).auth) and "systemctl enable --now prefect-server modelpivot-worker" in told["next"]
