"""status: look, change nothing."""

import time

import typer

from modelpivot.cli.output import AsJson, answer, console, in_time
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.result import ExitCode


def add_to(app: typer.Typer) -> None:
    """Mount the command."""
    app.command()(status)


class Status(Frozen):
    """What serves and what runs on this host."""

    current: str | None
    previous: str | None
    serves: str | None
    """The current release, or the one that an open switch has up and unconfirmed."""
    base_url: str | None
    """Of what serves."""
    answers: bool | None
    """Whether it does, asked just now; None: there is nothing to ask."""
    why_not: str | None
    """Which rung does not hold, when it does not answer."""
    switch: str | None
    """Phase of an open switch."""
    switch_to: str | None
    is_trial: bool = False
    """The switch only tries; it always goes back."""
    confirm_by: float | None
    held_by: str | None
    stopped: str | None = None
    """What was stopped by name, and how it is started again; nothing serves on purpose."""


def status(as_json: AsJson = False) -> None:
    """What serves, whether it answers, what runs. Exit 5 when nothing answers though something should."""
    from modelpivot.facts.everything import read_answers
    from modelpivot.settings import read_host_config
    from modelpivot.stages.standing_down import say_stopped
    from modelpivot.state.cutovers import read_cutover
    from modelpivot.state.lock import read_lock
    from modelpivot.state.paths import StatePaths
    from modelpivot.state.releases import read_book, read_current, read_release

    host = read_host_config()
    state = StatePaths(host.state_dir)
    lock, book, cutover = read_lock(state), read_book(state), read_cutover(state)
    is_unconfirmed = cutover is not None and cutover.phase == "unconfirmed"
    serves = read_release(state, cutover.to_release) if cutover and is_unconfirmed else read_current(state)
    answers = read_answers(host, state, serves) if serves else None
    now = Status(
        current=book.current,
        previous=book.previous,
        serves=serves.id if serves else None,
        base_url=serves.endpoint.base_url if serves else None,
        answers=None if answers is None else answers is True,
        why_not=answers.unread if isinstance(answers, Unread) else None,
        switch=cutover.phase if cutover else None,
        switch_to=cutover.to_release if cutover else None,
        is_trial=cutover is not None and cutover.trial is not None,
        confirm_by=cutover.confirm_by if cutover else None,
        held_by=lock.what if lock else None,
        stopped=say_stopped(book.stopped) if book.stopped else None,
    )
    answer(now) if as_json else _show_status(now)
    is_down = now.answers is False and not now.switch and not now.stopped
    raise typer.Exit(ExitCode.NOTHING_SERVES if is_down else ExitCode.DONE)


def _show_status(now: Status) -> None:
    out = console()
    word = {True: "answers", False: "does not answer", None: ""}[now.answers]
    word += f" ({now.why_not})" if now.why_not else ""
    out.print(f"{now.serves} {word} at {now.base_url}" if now.serves else "nothing is served by modelpivot on this host")
    if now.stopped:
        out.print(now.stopped)
    elif now.previous and not now.switch:
        out.print(f"before: {now.previous} (modelpivot rollback goes back to it)")
    if now.switch:
        left = (
            f", goes back by itself in {in_time(max(0.0, now.confirm_by - time.time()))}{'' if now.is_trial else ' unless confirmed'}"
            if now.confirm_by
            else ""
        )
        out.print(f"open switch from {now.current or 'nothing'} to {now.switch_to}: {now.switch}{left}")
    if now.held_by:
        out.print(f"held by {now.held_by}")
