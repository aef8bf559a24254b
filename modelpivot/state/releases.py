"""Releases on disk, and the book that says which is current."""

import time

from modelpivot.errors import PreconditionError, UsageError
from modelpivot.files import read_model, write_model
from modelpivot.models.release import Release, ReleaseBook, Stopped
from modelpivot.state.paths import StatePaths


def read_book(state: StatePaths) -> ReleaseBook:
    """The book; empty on a host that never served by us."""
    return read_model(state.book, ReleaseBook) or ReleaseBook()


def read_release(state: StatePaths, release_id: str) -> Release:
    """A frozen release. PreconditionError when it is not on this host."""
    release = read_model(state.release(release_id).release, Release)
    if release is None:
        raise PreconditionError(f"no release {release_id} in {state.root}", hint="modelpivot history lists those that are there")
    return release


def read_current(state: StatePaths) -> Release | None:
    """The current release; None when nothing serves by us."""
    current = read_book(state).current
    return read_release(state, current) if current else None


def is_current(state: StatePaths, release_id: str) -> bool:
    """Whether the book names this release as current; a book that cannot be read names none."""
    try:
        return read_book(state).current == release_id
    except UsageError:
        return False


def write_release(state: StatePaths, release: Release) -> None:
    """Freeze a release; nothing to do when it stands there alike."""
    path = state.release(release.id).release
    if read_model(path, Release) != release:
        write_model(path, release)


def list_releases(state: StatePaths) -> list[Release]:
    """All releases of this host, oldest first."""
    paths = sorted((state.root / "releases").glob("*/release.json"))
    releases = [release for path in paths if (release := read_model(path, Release)) is not None]
    return sorted(releases, key=lambda release: release.created_at)


def _book_to_write(state: StatePaths) -> ReleaseBook:
    """The book as it stands. One that cannot be read is set aside and begun anew: what serves must be written down all the same."""
    try:
        return read_book(state)
    except UsageError:
        state.book.rename(state.book.with_suffix(".unreadable"))
        return ReleaseBook()


def record_proved(state: StatePaths, release_id: str) -> None:
    """Note that a release passed ready and probe in a switch."""
    book = _book_to_write(state)
    proved = [known for known in book.proved if known != release_id] + [release_id]
    write_model(state.book, book.model_copy(update={"proved": proved}))


def record_current(state: StatePaths, release_id: str) -> None:
    """Make a release current; the one before becomes previous, and none is stopped any more. Nothing to do when it is current and was not stopped."""
    book = _book_to_write(state)
    if book.current != release_id:
        write_model(
            state.book, _with_retired(book, book.model_copy(update={"current": release_id, "previous": book.current, "stopped": None}))
        )
    elif book.stopped is not None:
        write_model(state.book, book.model_copy(update={"stopped": None}))


def record_adopted(state: StatePaths, release_id: str, *, replaces: bool) -> None:
    """Make an adopted release, seen to serve, the proved and current one. `replaces`: it is the current one read anew, what was before it stays so."""
    book = _book_to_write(state)
    proved = [known for known in book.proved if known != release_id] + [release_id]
    previous = book.previous if replaces else book.current
    changes = {"current": release_id, "previous": previous, "proved": proved, "stopped": None}
    write_model(state.book, _with_retired(book, book.model_copy(update=changes)))


def record_stopped(state: StatePaths, stopped: Stopped | None) -> None:
    """Note what was stopped by name, before it is; None: it serves again. The current release stays current."""
    write_model(state.book, _book_to_write(state).model_copy(update={"stopped": stopped}))


def forget_release(state: StatePaths, release_id: str) -> None:
    """Give a release up before its parts go: it is neither current, previous nor proved any more. Nothing to do when it is none of these."""
    book = _book_to_write(state)
    changes = {name: None for name in ("current", "previous") if getattr(book, name) == release_id}
    proved = [known for known in book.proved if known != release_id]
    is_stopped = book.stopped is not None and book.stopped.name == release_id
    after = book.model_copy(update={**changes, "proved": proved, "stopped": None if is_stopped else book.stopped})
    if after != book:
        write_model(state.book, _with_retired(book, after))


def drop_retired(state: StatePaths, release_id: str) -> None:
    """Forget that a release was ever here; nothing to do when nothing of it is remembered."""
    book = _book_to_write(state)
    kept = {known: at for known, at in book.retired.items() if known != release_id}
    proved = [known for known in book.proved if known != release_id]
    if (kept, proved) != (book.retired, book.proved):
        write_model(state.book, book.model_copy(update={"retired": kept, "proved": proved}))


def _with_retired(before: ReleaseBook, after: ReleaseBook) -> ReleaseBook:
    """The book with the time at which releases stopped being current or previous."""
    held = {after.current, after.previous}
    gone = {known: time.time() for known in (before.current, before.previous) if known and known not in held}
    kept = {known: at for known, at in before.retired.items() if known not in held}
    return after.model_copy(update={"retired": kept | gone})
