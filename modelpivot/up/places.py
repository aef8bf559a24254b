"""Where `modelpivot up` keeps everything.

<state>/prefect/          0700
    auth                  0600, `admin:<secret>`: what the UI and every client log in with
    server.env            0600, what the server is told (secret, port, database); also for the unit prefect-server
    client.env            0600, what workers and commands are told (address, secret); also for the unit modelpivot-worker, which is told of its host
                          (MODELPIVOT_*, HF_TOKEN) here too
    server.process        the process that was started: number, start time, boot
    worker.process
    up.lock               held by an up or down that runs
    home/                 PREFECT_HOME: database, logs
    server.log worker.log
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from modelpivot.models.host import HostConfig

Role = Literal["server", "worker"]
UNITS: dict[Role, str] = {"server": "prefect-server.service", "worker": "modelpivot-worker.service"}
"""Of systemd, where these and not `up` bring both up."""


@dataclass(frozen=True)
class UpPlaces:
    """The folder."""

    root: Path

    @property
    def auth(self) -> Path:
        """User and secret."""
        return self.root / "auth"

    @property
    def server_env(self) -> Path:
        """Variables of the server."""
        return self.root / "server.env"

    @property
    def client_env(self) -> Path:
        """Variables of all that talk to it."""
        return self.root / "client.env"

    @property
    def lock(self) -> Path:
        """One up or down at a time."""
        return self.root / "up.lock"

    @property
    def home(self) -> Path:
        """PREFECT_HOME of server and worker."""
        return self.root / "home"

    def process(self, role: Role) -> Path:
        """Which process plays the role."""
        return self.root / f"{role}.process"

    def log(self, role: Role) -> Path:
        """Its output."""
        return self.root / f"{role}.log"


def up_places(host: HostConfig) -> UpPlaces:
    """The folder of this host."""
    return UpPlaces(host.state_dir / "prefect")
