"""up and down: Prefect on this machine."""

import os
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
    port: Annotated[int | None, typer.Option(help="Port of server and UI; 4200, or the next free one.", show_default=False)] = None,
    listen: Annotated[str, typer.Option(help="Address to listen on; anything but loopback belongs behind TLS.")] = "127.0.0.1",
    units: Annotated[Path | None, typer.Option(help="Start nothing: write the systemd units into this folder, and what they need.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prefect server with authentication, worker, blocks, deployments and alerts on this machine; run it again at any time.

    PREFECT_SERVER_DATABASE_CONNECTION_URL names a PostgreSQL; without it the server keeps a SQLite file in the state.
    """
    from modelpivot.settings import read_host_config
    from modelpivot.up.environment import DATABASE
    from modelpivot.up.places import up_places
    from modelpivot.up.run import PORT
    from modelpivot.up.run import up as bring_up
    from modelpivot.up.units import write_units

    host, database = read_host_config(), os.environ.get(DATABASE)
    places = up_places(host)
    if units:
        console().print("\n".join(write_units(host, places, units, address=listen, port=port or PORT, database=database)))
        return
    done = bring_up(host, places, log_console().print, address=listen, port=port, database=database)
    if as_json:
        answer(done)
        return
    console().print(
        f"Prefect is at {done.url}\n"
        f"  log in with the line in {done.login} (only its owner may read it)\n"
        f"  commands in this shell: set -a; . {done.environment}; set +a\n"
        f"  end it: modelpivot down"
    )


def down(as_json: AsJson = False) -> None:
    """End the worker and the server that `up` started, and nothing else. Database, secret and logs stay; what serves goes on."""
    from modelpivot.settings import read_host_config
    from modelpivot.up.places import up_places
    from modelpivot.up.run import down as take_down

    ended = take_down(up_places(read_host_config()))
    if as_json:
        answer(Down(ended=ended))
    else:
        console().print("\n".join(f"ended {what}" for what in ended) or "nothing that `modelpivot up` started runs")
