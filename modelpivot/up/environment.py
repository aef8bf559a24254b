"""What server, worker and commands are told, as files that only their owner reads. The secret is made once and is never an argument.

A line is `NAME="value"`, a backslash before every quote, backquote, dollar sign and backslash of it: systemd's EnvironmentFile, a shell
(`set -a; . FILE`) and `read_variables` read that alike. Earlier versions wrote `NAME=value`, which is read too.
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
MARKED = re.compile(r'(["\\$`])')
"""What is more than itself between double quotes."""
BEYOND_A_LINE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
"""What ends a line, or is no text to one of the readers."""
LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")
HOSTS_OWN = ("MODELPIVOT_", "HF_TOKEN")
"""Begin the variables that say what the host is like: a file holds them for the worker's unit; whom a command starts has them from that command."""


def ensure_secret(places: UpPlaces) -> str:
    """User and secret of this server, made when there are none; the file is ours alone."""
    places.root.mkdir(parents=True, exist_ok=True)
    places.root.chmod(0o700)
    if not places.auth.exists():
        write_atomic(places.auth, f"{USER}:{secrets.token_urlsafe(32)}\n", mode=OURS_ALONE)
    return places.auth.read_text().strip()


def write_environment(places: UpPlaces, *, listen: str, port: int, database: str | None, worker: Mapping[str, str] | None = None) -> None:
    """Both files, as they should be now. `database`: address of a PostgreSQL; None: the one that was told before, else SQLite.

    `worker`: what the client's file holds of the host besides, where a unit and not this command starts the worker; None: what it held before.
    """
    secret = ensure_secret(places)
    known = read_variables(places.server_env)
    url = f"http://{'127.0.0.1' if listen == '0.0.0.0' else listen}:{port}"
    server = {"PREFECT_SERVER_API_AUTH_STRING": secret, "PREFECT_SERVER_API_HOST": listen, "PREFECT_SERVER_API_PORT": str(port)}
    server |= {"PREFECT_UI_URL": url, "PREFECT_API_URL": f"{url}/api", **QUIET}
    if chosen := with_driver(database) if database else known.get(DATABASE):
        server[DATABASE] = chosen
    if worker is None:
        worker = {name: value for name, value in read_variables(places.client_env).items() if name.startswith(HOSTS_OWN)}
    client = {"PREFECT_API_URL": f"{url}/api", "PREFECT_API_AUTH_STRING": secret, **HEARTBEAT, "DO_NOT_TRACK": "1", **worker}
    write_variables(places.server_env, server)
    write_variables(places.client_env, client)


def with_driver(url: str) -> str:
    """The address with the driver that Prefect needs: `postgresql://` becomes `postgresql+asyncpg://`."""
    return re.sub(r"^postgres(ql)?://", "postgresql+asyncpg://", url)


def write_variables(path: Path, variables: Mapping[str, str]) -> None:
    """Replace the file if it differs; UsageError for a value that no line of it can hold."""
    for name, value in variables.items():
        if BEYOND_A_LINE.search(value):
            raise UsageError(f"{name}: expected text on one line, found a control character", hint="mend the environment variable")
    text = "".join(f"{name}={quote(value)}\n" for name, value in variables.items())
    if not path.exists() or path.read_bytes() != text.encode():
        write_atomic(path, text, mode=OURS_ALONE)


def quote(value: str) -> str:
    """Between double quotes."""
    marked = MARKED.sub(r"\\\1", value)
    return f'"{marked}"'


def unquote(text: str) -> str:
    """What `quote` was given; a text without quotes is itself."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return re.sub(rf"\\{MARKED.pattern}", r"\1", text[1:-1]) if is_quoted else text


def read_variables(path: Path) -> dict[str, str]:
    """The variables of a file; none where there is no file. Other lines (comments) are nobody's."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    found = (LINE.fullmatch(line) for line in lines)
    return {match[1]: unquote(match[2]) for match in found if match}


def told(places: UpPlaces, path: Path) -> dict[str, str]:
    """The whole environment of a process of ours: this one's without the address of any other Prefect, and what the file says of ours."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ANOTHER)}
    ours = {name: value for name, value in read_variables(path).items() if not name.startswith(HOSTS_OWN)}
    return {**inherited, **ours, "PREFECT_HOME": str(places.home)}
