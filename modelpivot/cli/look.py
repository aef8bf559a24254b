"""facts, plan, status, history: look, change nothing."""

import time
from pathlib import Path
from typing import Annotated

import typer

from modelpivot.cli.output import AsJson, answer, console, in_time
from modelpivot.models.frozen import Frozen
from modelpivot.models.result import ExitCode, RunResult

FACTS_DEADLINE_S = 30.0


def add_to(app: typer.Typer) -> None:
    """Mount the commands."""
    for command in (facts, plan, status, history):
        app.command()(command)


def facts(as_json: AsJson = False) -> None:
    """Read this host."""
    from modelpivot.cli.show import show_facts
    from modelpivot.facts.everything import read_host_facts
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths

    host = read_host_config()
    read = read_host_facts(host, StatePaths(host.state_dir), until=time.monotonic() + FACTS_DEADLINE_S)
    answer(read) if as_json else show_facts(console(), read)


def plan(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in deployments/recipes, or path of a YAML file.")],
    facts_file: Annotated[Path | None, typer.Option("--facts", help="Plan from recorded facts instead of this host's.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read everything, decide, change nothing. Exit 3 when something stands in the way."""
    from modelpivot.cli.show import show_plan
    from modelpivot.errors import UsageError
    from modelpivot.facts.everything import read_facts
    from modelpivot.files import read_model
    from modelpivot.models.facts import Facts
    from modelpivot.plans.pivot import plan_pivot
    from modelpivot.recipes import read_engine, read_recipe
    from modelpivot.settings import read_host_config
    from modelpivot.state.paths import StatePaths

    host, chosen = read_host_config(), read_recipe(recipe)
    engine = read_engine(chosen.engine.name)
    if facts_file is None:
        read: Facts | None = read_facts(host, StatePaths(host.state_dir), chosen, engine)
    else:
        read = read_model(facts_file, Facts)
    if read is None:
        raise UsageError(f"{facts_file}: no such file", hint="record facts with: modelpivot plan RECIPE --json")
    made = plan_pivot(chosen, host, read, engine)
    answer(made) if as_json else show_plan(console(), made)
    raise typer.Exit(ExitCode.BLOCKED if made.blockers else ExitCode.DONE)


class Status(Frozen):
    """What serves and what runs on this host."""

    current: str | None
    previous: str | None
    base_url: str | None
    answers: bool | None
    """None: there is nothing to ask."""
    why_not: str | None
    """Which rung does not hold, when it does not answer."""
    switch: str | None
    """Phase of an open switch."""
    switch_to: str | None
    confirm_by: float | None
    held_by: str | None


def status(as_json: AsJson = False) -> None:
    """What serves, whether it answers, what runs. Exit 5 when nothing answers though something should."""
    from modelpivot.facts.everything import read_host_facts
    from modelpivot.settings import read_host_config
    from modelpivot.state.lock import read_lock
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.releases import read_book

    host = read_host_config()
    state = StatePaths(host.state_dir)
    read = read_host_facts(host, state, until=time.monotonic() + FACTS_DEADLINE_S)
    lock, book = read_lock(state), read_book(state)
    answers = None if read.current is None else read.current_answers is True
    now = Status(
        current=book.current,
        previous=book.previous,
        base_url=read.current.endpoint.base_url if read.current else None,
        answers=answers,
        why_not=str(read.current_answers) if answers is False else None,
        switch=read.cutover.phase if read.cutover else None,
        switch_to=read.cutover.to_release if read.cutover else None,
        confirm_by=read.cutover.confirm_by if read.cutover else None,
        held_by=lock.what if lock else None,
    )
    answer(now) if as_json else _show_status(now)
    raise typer.Exit(ExitCode.NOTHING_SERVES if now.current and answers is False and not now.switch else ExitCode.DONE)


def _show_status(now: Status) -> None:
    out = console()
    word = {True: "answers", False: "does not answer", None: ""}[now.answers]
    word += f" ({now.why_not})" if now.why_not else ""
    out.print(f"{now.current} {word} at {now.base_url}" if now.current else "nothing is served by modelpivot on this host")
    if now.previous:
        out.print(f"before: {now.previous} (modelpivot rollback goes back to it)")
    if now.switch:
        left = f", goes back by itself in {in_time(max(0.0, now.confirm_by - time.time()))} unless confirmed" if now.confirm_by else ""
        out.print(f"open switch to {now.switch_to}: {now.switch}{left}")
    if now.held_by:
        out.print(f"held by {now.held_by}")


class History(Frozen):
    """Past runs, newest first."""

    runs: list[RunResult]


def history(limit: Annotated[int, typer.Option(help="How many runs.")] = 20, as_json: AsJson = False) -> None:
    """Past runs of this host, newest first."""
    from modelpivot.cli.show import table
    from modelpivot.files import read_model
    from modelpivot.settings import read_host_config
    from modelpivot.stages.report import report
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.runs import list_runs

    state = StatePaths(read_host_config().state_dir)
    past = History(runs=[read_model(run.result, RunResult) or report(state, run.id) for run in list_runs(state)[:limit]])
    if as_json:
        answer(past)
        return
    rows = table("run", "outcome", "served after it", "downtime", "tokens/s")
    for run in past.runs:
        speed = ", ".join(f"{one.output_tokens_per_s:.1f}" for one in run.benchmark if one.output_tokens_per_s is not None)
        rows.add_row(
            run.run_id, run.outcome, run.released or "-", in_time(run.downtime_s) if run.downtime_s is not None else "-", speed or "-"
        )
    console().print(rows)
