"""status: look, change nothing."""

import time

import typer

from modelpivot.cli.output import AsJson, answer, console, in_time
from modelpivot.models.cutover import Cutover
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.models.result import ExitCode
from modelpivot.state.paths import StatePaths


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
    switch_dead: str | None = None
    """That the open switch has no living process, and what finishes it; None: it has one, or none is open."""
    is_trial: bool = False
    """The switch only tries; it always goes back."""
    stays_unconfirmed: bool = False
    """What the switch does when nobody confirms: true, the new release is kept; false, it goes back."""
    confirm_by: float | None
    held_by: str | None
    stopped: str | None = None
    """All that was stopped by name, and how it is started again; a current release among it does not serve on purpose."""


def status(as_json: AsJson = False) -> None:
    """What serves, whether it answers, what runs. Exit 5 when nothing answers though something should, and no living switch is at work."""
    from modelpivot.settings import read_host_config
    from modelpivot.stages.standing_down import say_stopped
    from modelpivot.state.cutovers import read_cutover
    from modelpivot.state.lock import read_lock
    from modelpivot.state.releases import read_book

    host = read_host_config()
    state = StatePaths(host.state_dir)
    lock, book, cutover = read_lock(state), read_book(state), read_cutover(state)
    dead = _say_dead(host, state, cutover) if cutover else None
    serves, answers = _ask(host, state, cutover, is_dead=dead is not None)
    now = Status(
        current=book.current,
        previous=book.previous,
        serves=serves.id if serves else None,
        base_url=serves.endpoint.base_url if serves else None,
        answers=None if answers is None else answers is True,
        why_not=answers.unread if isinstance(answers, Unread) else None,
        switch=cutover.phase if cutover else None,
        switch_to=cutover.to_release if cutover else None,
        switch_dead=dead,
        is_trial=cutover is not None and cutover.trial is not None,
        stays_unconfirmed=cutover is not None and cutover.stays_unconfirmed,
        confirm_by=cutover.confirm_by if cutover else None,
        held_by=lock.what if lock else None,
        stopped=say_stopped(book.stopped) if book.stopped else None,
    )
    answer(now) if as_json else _show_status(now)
    is_switching = now.switch is not None and now.switch_dead is None
    is_down = now.answers is False and not is_switching and not book.is_current_stopped
    raise typer.Exit(ExitCode.NOTHING_SERVES if is_down else ExitCode.DONE)


def _ask(host: HostConfig, state: StatePaths, cutover: Cutover | None, *, is_dead: bool) -> tuple[Release | None, bool | Unread | None]:
    """What is to serve, and whether it does. A dead switch may have left up either of its two releases: one that answers goes before one that does not."""
    from modelpivot.facts.everything import read_answers
    from modelpivot.state.releases import read_current, read_release

    is_new = cutover is not None and cutover.phase == "unconfirmed"
    current, new = read_current(state), read_release(state, cutover.to_release) if cutover and (is_new or is_dead) else None
    first, other = (new, current) if is_new else (current, new)
    answers = read_answers(host, state, first) if first else None
    if is_dead and answers is not True and other and read_answers(host, state, other) is True:
        return other, True
    return first, answers


def _say_dead(host: HostConfig, state: StatePaths, cutover: Cutover) -> str | None:
    from modelpivot.facts.everything import read_supervisor
    from modelpivot.stages.switch import is_dead
    from modelpivot.state.cutovers import is_followed

    if not is_dead(state, cutover):
        return None
    if is_followed(state):
        return "its process is dead: the run that follows it finishes it backwards"
    by_itself = "systemd starts it again, backwards; where that does not happen, " if read_supervisor(host, state) == "systemd" else ""
    return f"its process is dead: {by_itself}`modelpivot recover`"


def _say_left(now: Status) -> str:
    """What becomes of the open switch by itself, and when; empty while it waits for nobody."""
    if now.switch_dead:
        return f"; {now.switch_dead}"
    if not now.confirm_by:
        return ""
    does = "is kept without a word" if now.stays_unconfirmed else "goes back by itself"
    unless = "" if now.is_trial else " unless sent back" if now.stays_unconfirmed else " unless confirmed"
    return f", {does} in {in_time(max(0.0, now.confirm_by - time.time()))}{unless}"


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
        out.print(f"open switch from {now.current or 'nothing'} to {now.switch_to}: {now.switch}{_say_left(now)}")
    if now.held_by:
        out.print(f"held by {now.held_by}")
