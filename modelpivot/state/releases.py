"""Releases on disk, and the book that says which is current."""

from modelpivot.errors import PreconditionError, UsageError
from modelpivot.files import read_model, write_model
from modelpivot.models.release import Release, ReleaseBook
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
    """Make a release current; the one before becomes previous. Nothing to do when it is current."""
    book = _book_to_write(state)
    if book.current != release_id:
        write_model(state.book, book.model_copy(update={"current": release_id, "previous": book.current}))


def record_adopted(state: StatePaths, release_id: str, *, replaces: bool) -> None:
    """Make an adopted release, seen to serve, the proved and current one. `replaces`: it is the current one read anew, what was before it stays so."""
    book = _book_to_write(state)
    proved = [known for known in book.proved if known != release_id] + [release_id]
    previous = book.previous if replaces else book.current
    write_model(state.book, ReleaseBook(current=release_id, previous=previous, proved=proved))
