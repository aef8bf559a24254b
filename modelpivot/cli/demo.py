"""demo: the whole pivot on this machine."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import RootModel

from modelpivot.cli.output import AsJson, answer, console, in_time, log_console

if TYPE_CHECKING:
    from modelpivot.demo.places import DemoPlaces


def what_next(root: Path) -> list[str]:
    """Commands that go on from a finished demo, as they can be pasted where this one was given."""
    where = "" if root == Path(".demo").resolve() else f"MODELPIVOT_DEMO_DIR={root} "
    return [
        f"Break the new model: {where}make demo DEMO='--fail probe' (or ready, bench)",
        f'Pivot it from a UI: eval "$({where}{sys.argv[0]} demo --env)"; {sys.argv[0]} up',
        f"Look: MODELPIVOT_STATE_DIR={root / 'state'} {sys.argv[0]} status",
        f"Stop everything: {where}make demo DEMO=--stop",
    ]


class FailAt(StrEnum):
    """Where the new model breaks."""

    ready = "ready"
    probe = "probe"
    bench = "bench"


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(demo)


def demo(
    fail: Annotated[
        FailAt | None, typer.Option(help="Break the new model at this point: the old one must answer in the end (exit 4).")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="End what an earlier demo left up: engine, local Hub, Prefect server.")] = False,
    env: Annotated[
        bool, typer.Option("--env", help="Print the variables of the demo's host, for a shell: `modelpivot up` then pivots it from a UI.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The whole pivot on this machine, no GPU: tiny models from a local Hub, real vLLM on the CPU, real Prefect."""
    from modelpivot.demo.places import demo_places

    places = demo_places()
    if env:
        variables = _host_variables(places)
        if as_json:
            answer(RootModel(variables))
        else:
            sys.stdout.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        return
    if stop:
        from modelpivot.demo.stopping import Stopped, stop_demo

        ended = stop_demo(places)
        if as_json:
            answer(Stopped(ended=ended))
        else:
            console().print("\n".join(f"ended {what}" for what in ended) or "nothing of the demo runs")
        return
    _carry_out(fail.value if fail else None, as_json=as_json)


def _host_variables(places: "DemoPlaces") -> dict[str, str]:
    """The host that a finished demo left up; PreconditionError when it is not up."""
    from modelpivot.demo.services import read_running
    from modelpivot.errors import PreconditionError
    from modelpivot.settings import to_environment

    running = read_running(places)
    if running.hub is None:
        raise PreconditionError(f"no demo is up in {places.root}", hint="make demo, and leave it up")
    return to_environment(places.host(running.hub.url, running.engine_port))


def _carry_out(fail: str | None, *, as_json: bool) -> None:
    from modelpivot.cli.screen import Screen
    from modelpivot.cli.show import show_result
    from modelpivot.demo.places import demo_places
    from modelpivot.demo.run import run_demo

    with Screen(log_console()) as screen:
        done = run_demo(demo_places(), fail=fail, listener=screen)
    run = done.run.model_copy(update={"lost_requests": done.seen.lost_requests, "downtime_s": done.seen.downtime_s})
    if as_json:
        answer(run)
    else:
        footer = [
            f"A client asked {done.seen.asked} times: {done.seen.lost_requests} lost, {in_time(done.seen.downtime_s)} without an answer",
            *what_next(demo_places().root),
        ]
        show_result(console(), run, title="modelpivot demo", footer=footer)
    raise typer.Exit(run.exit_code)
