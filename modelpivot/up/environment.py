"""What server, worker and commands are told, as files that only their owner reads. The secret is made once and is never an argument.

A line is `NAME=value`: the one form that systemd's EnvironmentFile, a shell (`set -a; . FILE`) and `read_variables` read alike.
"""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from modelpivot.errors import UsageError
from modelpivot.files import write_atomic
from modelpivot.up.places import UpPlaces

USER = "admin"
OURS_ALONE = 0o600
DATABASE = "PREFECT_SERVER_DATABASE_CONNECTION_URL"
QUIET = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
HEARTBEAT = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}
ANOTHER = ("PREFECT_API_", "PREFECT_SERVER_API_", "PREFECT_SERVER_DATABASE_", "PREFECT_UI_", "PREFECT_HOME", "PREFECT_PROFILE")
"""Begin the variables that say which Prefect; the other ones tune it, and are handed on."""
PLAIN = re.compile(r"[A-Za-z0-9_.:/@%+?=&,~-]*")
"""Characters that mean the same to a shell and to systemd."""


def ensure_secret(places: UpPlaces) -> str:
    """User and secret of this server, made when there are none; the file is ours alone."""
    places.root.mkdir(parents=True, exist_ok=True)
    places.root.chmod(0o700)
    if not places.auth.exists():
        write_atomic(places.auth, f"{USER}:{secrets.token_urlsafe(32)}\n", mode=OURS_ALONE)
    return places.auth.read_text().strip()


def write_environment(places: UpPlaces, *, listen: str, port: int, database: str | None, worker: Mapping[str, str] | None = None) -> None:
    """Both files, as they should be now. `database`: address of a PostgreSQL; None: the one that was told before, else SQLite.

    `worker`: what the client's file holds besides, where a unit and not this command starts the worker.
    """
    secret = ensure_secret(places)
    known = read_variables(places.server_env) if places.server_env.exists() else {}
    url = f"http://{'127.0.0.1' if listen == '0.0.0.0' else listen}:{port}"
    server = {"PREFECT_SERVER_API_AUTH_STRING": secret, "PREFECT_SERVER_API_HOST": listen, "PREFECT_SERVER_API_PORT": str(port)}
    server |= {"PREFECT_UI_URL": url, "PREFECT_API_URL": f"{url}/api", **QUIET}
    if chosen := with_driver(database) if database else known.get(DATABASE):
        server[DATABASE] = chosen
    client = {"PREFECT_API_URL": f"{url}/api", "PREFECT_API_AUTH_STRING": secret, **HEARTBEAT, "DO_NOT_TRACK": "1", **(worker or {})}
    write_variables(places.server_env, server)
    write_variables(places.client_env, client)


def with_driver(url: str) -> str:
    """The address with the driver that Prefect needs: `postgresql://` becomes `postgresql+asyncpg://`."""
    return re.sub(r"^postgres(ql)?://", "postgresql+asyncpg://", url)


def write_variables(path: Path, variables: Mapping[str, str]) -> None:
    """Replace the file if it differs; UsageError for a value that shell and systemd would read differently."""
    for name, value in variables.items():
        if not PLAIN.fullmatch(value):
            raise UsageError(
                f"{name} holds a character that an environment file cannot hold",
                hint="in an address it is written percent-encoded; anything else goes into the unit by hand",
            )
    text = "".join(f"{name}={value}\n" for name, value in variables.items())
    if not path.exists() or path.read_text() != text:
        write_atomic(path, text, mode=OURS_ALONE)


def read_variables(path: Path) -> dict[str, str]:
    """The variables of a file."""
    pairs = (line.partition("=") for line in path.read_text().splitlines() if line)
    return {name: value for name, _, value in pairs}


def told(places: UpPlaces, path: Path) -> dict[str, str]:
    """The whole environment of a process of ours: this one's without the address of any other Prefect, and the file's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ANOTHER)}
    return {**inherited, **read_variables(path), "PREFECT_HOME": str(places.home)}
