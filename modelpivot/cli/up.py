"""up and down: Prefect on this machine."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console, log_console
from modelpivot.models.frozen import Frozen


class Down(Frozen):
    """What `down` ended, in words."""

    ended: list[str]


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    app.command()(up)
    app.command()(down)


def up(
    port: Annotated[int | None, typer.Option(help="Port of server and UI; unasked 4200, or the next free one.", show_default=False)] = None,
    listen: Annotated[
        str | None,
        typer.Option(help="Address to listen on; unasked 127.0.0.1. Anything but loopback belongs behind TLS.", show_default=False),
    ] = None,
    units: Annotated[Path | None, typer.Option(help="Start nothing: write the systemd units into this folder, and what they need.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prefect server with authentication, worker, blocks, deployments and alerts on this machine; run it again at any time.

    PREFECT_SERVER_DATABASE_CONNECTION_URL names a PostgreSQL; without it the server keeps a SQLite file in the state.
    """
    from modelpivot.settings import read_host_config
    from modelpivot.up.environment import DATABASE
    from modelpivot.up.places import up_places
    from modelpivot.up.run import ADDRESS, PORT
    from modelpivot.up.run import up as bring_up
    from modelpivot.up.units import write_units

    host, database = read_host_config(), os.environ.get(DATABASE)
    places = up_places(host)
    if units:
        written = write_units(host, places, units, address=listen or ADDRESS, port=port or PORT, database=database)
        _say(written, str(written), as_json=as_json)
        return
    done = bring_up(host, places, log_console().print, address=listen, port=port, database=database)
    ours = f"MODELPIVOT_STATE_DIR={host.state_dir} {Path(sys.executable).with_name('modelpivot')} down"
    by_systemd = f"systemctl stop {' '.join(reversed(done.units))}"
    words = (
        f"Prefect is at {done.url}\n"
        f"  log in with the line in {done.login} (only its owner may read it)\n"
        f"  commands in this shell: set -a; . {done.environment}; set +a\n"
        f"  end it: {by_systemd if done.units else ours}"
    )
    _say(done, words, as_json=as_json)


def _say(what: Frozen, words: str, *, as_json: bool) -> None:
    if as_json:
        answer(what)
    else:
        console().print(words)


def down(as_json: AsJson = False) -> None:
    """End the worker and the server that `up` started, and nothing else. Database, secret and logs stay; what serves goes on."""
    from modelpivot.settings import read_host_config
    from modelpivot.up.places import up_places
    from modelpivot.up.run import down as take_down

    places = up_places(read_host_config())
    ended = take_down(places)
    words = "\n".join(f"ended {what}" for what in ended) or f"nothing that `modelpivot up` started runs (by {places.root})"
    _say(Down(ended=ended), words, as_json=as_json)
