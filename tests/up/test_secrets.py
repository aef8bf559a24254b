"""Secrets are where they must be and nowhere else: planted ones are searched for after real runs, in everything that anybody keeps or shows."""

import contextlib
from pathlib import Path

import pytest
from pydantic import SecretStr

from blocks import HubAccess
from modelpivot.models.hub_account import HubAccount
from tests.deployed import read_below, start, wait_for_state
from tests.up.conftest import HOOK, KEY, Upped

TOKEN = "hf_planted_that_must_not_be_seen"


@pytest.fixture(scope="module")
def planted(upped: Upped) -> dict[str, str]:
    """Every secret there is, used by runs, and by an alert whose receiver answers 500: what fails is quoted more than what goes well."""
    account = HubAccount(endpoint=upped.world.hub.base_url, token=SecretStr(TOKEN))
    hub = HubAccess(account=account).save("planted", overwrite=True)
    upped.receiver.answer = 500
    run = start("plan/plan", recipe="nowhere", hub={"$ref": {"block_document_id": str(hub)}})
    assert wait_for_state(run).name == "Blocked"
    upped.receiver.wait_for("Blocked", str(run.id))
    upped.receiver.answer = 200
    good = start("check-weights/check-weights", recipe="old", hub={"$ref": {"block_document_id": str(hub)}})
    wait_for_state(good)
    return {"token": TOKEN, "hook": HOOK, "key": KEY, "secret": upped.secret.partition(":")[2]}


def holders(root: Path, text: str) -> list[str]:
    """Files below a folder that hold a text."""
    return [str(path.relative_to(root)) for path, content in read_below(root).items() if text.encode() in content]


@pytest.mark.parametrize("name", ["token", "hook", "key", "secret"])
def test_no_file_holds_a_secret_but_its_own(upped: Upped, planted: dict[str, str], name: str) -> None:
    """Not the server's database with its runs, parameters, logs, artifacts and events, no log, journal or result of the host."""
    own = {"secret": ["auth", "client.env", "server.env"]}.get(name, [])
    assert sorted(holders(upped.world.host.state_dir, planted[name])) == [f"prefect/{file}" for file in own]


def test_the_database_was_read_at_all(upped: Upped, planted: dict[str, str]) -> None:
    """What is no secret is found in it, by the same search."""
    assert any(name.startswith("prefect/home/prefect.db") for name in holders(upped.world.host.state_dir, "nowhere on gpu-test"))


def read_of_processes(name: str) -> dict[str, bytes]:
    """A file of every process of this machine, by its number; those that end meanwhile have none."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[process.name] = (process / name).read_bytes()
    return found


@pytest.mark.parametrize("name", ["token", "hook", "key", "secret"])
def test_no_command_line_holds_a_secret(planted: dict[str, str], name: str) -> None:
    """The process list shows it to everybody on the machine."""
    lines = read_of_processes("cmdline").values()
    assert lines and not [line for line in lines if planted[name].encode() in line]


def test_an_engine_is_not_handed_the_key_to_the_api(upped: Upped, planted: dict[str, str]) -> None:
    """What serves runs other people's code: the variables of its process hold no secret of ours."""
    engines = [pid for pid, line in read_of_processes("cmdline").items() if b"standin_engine" in line]
    environments = [text for pid, text in read_of_processes("environ").items() if pid in engines]
    assert environments and not [text for text in environments if planted["secret"].encode() in text]


def test_files_with_the_secret_are_their_owners_alone(upped: Upped) -> None:
    """0600, in a folder of 0700."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in (upped.places.auth, upped.places.client_env, upped.places.server_env)}
    assert set(modes.values()) == {0o600} and upped.places.root.stat().st_mode & 0o777 == 0o700
