"""One `modelpivot up` a session: a real server with authentication, a real worker, alerts that go to a receiver here, one host with stand-in engines."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings
from pydantic import SecretStr

from blocks import AlertChannel
from deployments.automate import apply_automations
from deployments.channels import deliver_channels
from modelpivot.host import CommandResult, run_command
from modelpivot.models.alert_address import AlertAddress
from modelpivot.models.cutover import Cutover, ProcessId
from modelpivot.state.cutovers import read_cutover
from modelpivot.up.environment import read_variables
from modelpivot.up.places import UpPlaces, up_places
from modelpivot.up.processes import read_process
from tests.deployed import start, wait_for_state
from tests.ports import free_port
from tests.standin_wheel import build_wheel
from tests.switching import wait_until
from tests.up.receiver import Receiver
from tests.world import DEADLINES, World, make_world

QUICK = {
    "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_FOREMAN_INACTIVITY_HEARTBEAT_MULTIPLE": "2",
    "PREFECT_WORKER_HEARTBEAT_SECONDS": "2",
    "PREFECT_WORKER_QUERY_SECONDS": "1",
}
"""Settings of Prefect that make minutes seconds."""
HOOK = "hook-planted-that-must-not-be-seen"
KEY = "key-planted-that-must-not-be-seen"
UNTESTED = "0.9"
"""A version of the engine that was not tested: the plan of the recipe `untested` asks."""
SHORT = timedelta(seconds=10)
"""The shortest window that Prefect takes for what does not happen."""


@dataclass
class Upped:
    """What `modelpivot up` brought up, and who is told."""

    world: World
    port: int
    receiver: Receiver

    @property
    def places(self) -> UpPlaces:
        """Its folder."""
        return up_places(self.world.host)

    @property
    def secret(self) -> str:
        """What clients log in with."""
        return read_variables(self.places.client_env)["PREFECT_API_AUTH_STRING"]

    @property
    def url(self) -> str:
        """The API."""
        return f"http://127.0.0.1:{self.port}/api"

    def command(self, *words: str, is_checked: bool = True) -> CommandResult:
        """`modelpivot ...` on this host."""
        argv = [sys.executable, "-m", "modelpivot", *words]
        return run_command(
            argv, timeout_s=400, env={**os.environ, **QUICK, **self.world.environment}, cwd=self.world.root, is_checked=is_checked
        )

    def up(self) -> CommandResult:
        """Once more."""
        return self.command("up", "--port", str(self.port))

    def process(self, role: str) -> ProcessId:
        """Server or worker."""
        found = read_process(self.places, "server" if role == "server" else "worker")
        assert found is not None, f"no {role} runs"
        return found

    def pivot_to(self, name: str) -> None:
        """Have a model serve, with a worker there; nothing to do when it does."""
        if read_process(self.places, "worker") is None:
            self.up()
        if self.world.serving != name:
            state = wait_for_state(start("pivot/pivot", recipe=name, dry_run=False, agreed=True))
            assert self.world.serving == name, state

    def shorten(self, *names: str, to: timedelta = SHORT) -> None:
        """Give the windows of these automations ten seconds, and those of all others their own."""
        client = get_client(sync_client=True)
        channels, _ = deliver_channels(client)
        list(apply_automations(client, channels, windows=dict.fromkeys(names, to)))


@pytest.fixture(scope="session")
def upped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upped]:
    """Everything up; the model `old` serves; the channels `alerts` and `urgent` end at the receiver."""
    world = make_world(tmp_path_factory.mktemp("upped"))
    build_wheel(world.root / "wheels", speed=60.0)
    build_wheel(world.root / "wheels", UNTESTED, speed=60.0)
    for recipe in RECIPES:
        world.recipe(recipe, **RECIPES[recipe])
    made = Upped(world, free_port(), Receiver())
    try:
        made.up()
        with temporary_settings({PREFECT_API_URL: made.url, PREFECT_API_AUTH_STRING: made.secret}):
            for channel in ("alerts", "urgent"):
                address = AlertAddress(url=SecretStr(f"{made.receiver.url}/{channel}/{HOOK}"), key=SecretStr(KEY))
                AlertChannel(address=address).save(channel, overwrite=True)
            made.shorten()
            made.pivot_to("old")
            yield made
    finally:
        made.command("down", is_checked=False)
        world.clean_up()
        world.hub.stop()
        made.receiver.stop()


def wait_for_switch(upped: Upped) -> Cutover:
    """The open switch as soon as there is one."""
    return wait_until(lambda: read_cutover(upped.world.state), what="the switch to begin", deadline_s=300)


def wait_for_loading(upped: Upped) -> Cutover:
    """The open switch while its new engine loads."""

    def read() -> Cutover | None:
        cutover = read_cutover(upped.world.state)
        return cutover if cutover and cutover.phase == "readying" else None

    return wait_until(read, what="the new engine to load", deadline_s=300)


SINGLE = {"name": "single", "prompts": 4, "output_tokens": 8}
"""A workload; the stand-in's client finds 60 tokens a second."""
RECIPES: dict[str, dict[str, object]] = {
    "garbage": {"repo": "new", "args": {"fault": "garbage"}},
    "doomed": {"repo": "new", "args": {"fault": "garbage", "load-s": 3}},
    "slow": {"repo": "new", "args": {"load-s": 5}},
    "nowhere": {"repo": "is-not-there"},
    "big": {},
    "hasty": {"repo": "new", "deadlines": {**DEADLINES, "confirm_s": 20}},
    "untested": {"repo": "new", "engine": {"name": "standin", "version": UNTESTED}},
    "measured": {"repo": "old", "workloads": [SINGLE]},
    "demanding": {"repo": "new", "workloads": [SINGLE], "floors": [{"workload": "single", "output_tokens_per_s": 100}]},
}
