"""Releases on disk, and the book that says which is current."""

import time
from contextlib import suppress

from modelpivot.errors import PreconditionError, UsageError
from modelpivot.files import read_model, write_model
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release, ReleaseBook, Stopped
from modelpivot.recipes import read_recipe, recipe_names
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


def is_proved(state: StatePaths, release_id: str) -> bool:
    """Whether the book names this release as proved on this host; a book that cannot be read names none."""
    try:
        return release_id in read_book(state).proved
    except UsageError:
        return False


def write_release(state: StatePaths, release: Release) -> None:
    """Freeze a release; nothing to do when it stands there alike."""
    path = state.release(release.id).release
    if read_model(path, Release) != release:
        write_model(path, release)


def keep_recipe(state: StatePaths, release_id: str, recipe: Recipe) -> None:
    """Keep what a release was made of beside it: a file of a person's own may be gone later. Nothing to do when it stands there alike."""
    path = state.release(release_id).recipe
    with suppress(UsageError):  # of another version: written anew
        if read_model(path, Recipe) == recipe:
            return
    write_model(path, recipe)


def read_recipe_of(state: StatePaths, release: Release) -> Recipe:
    """The recipe of a release: that of its name as it comes with the project now, else the one that it was made of. PreconditionError without either."""
    if release.origin == "adopted":
        hint = "name the recipe to go by; `modelpivot recipe new REPO` writes a first one"
        raise PreconditionError(f"{release.id} is an adopted service: it was made of no recipe", hint=hint)
    if release.name in recipe_names():
        return read_recipe(release.name)
    recipe = read_model(state.release(release.id).recipe, Recipe)
    if recipe is None:
        raise PreconditionError(
            f"{release.id}: no recipe {release.name!r} comes with the project, and none was kept beside the release",
            hint="name the recipe by its path; `modelpivot run` with it keeps it",
        )
    return recipe


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
    """Make a release current; the one before becomes previous, and it serves in place of all that was stopped by name. One that is current already
    is only stopped no more. Nothing to do when it was not."""
    book = _book_to_write(state)
    if book.current != release_id:
        after = book.model_copy(update={"current": release_id, "previous": book.current, "stopped": []})
        write_model(state.book, _with_retired(book, after))
    else:
        record_started(state, release_id)


def record_adopted(state: StatePaths, release_id: str, *, replaces: bool) -> None:
    """Make an adopted release, seen to serve, the proved and current one. `replaces`: it is the current one read anew, what was before it stays so."""
    book = _book_to_write(state)
    proved = [known for known in book.proved if known != release_id] + [release_id]
    previous = book.previous if replaces else book.current
    stopped = _without(book, release_id, book.current) if replaces else []
    changes = {"current": release_id, "previous": previous, "proved": proved, "stopped": stopped}
    write_model(state.book, _with_retired(book, book.model_copy(update=changes)))


def record_stopped(state: StatePaths, stopped: Stopped) -> None:
    """Note what was stopped by name, before it is. The current release stays current. Of what is noted already, whether it was enabled is kept: a
    cleanup that was cut off may have disabled it."""
    book = _book_to_write(state)
    was_enabled = stopped.was_enabled or any(each.was_enabled for each in book.stopped if each.name == stopped.name)
    noted = [*_without(book, stopped.name), stopped.model_copy(update={"was_enabled": was_enabled})]
    write_model(state.book, book.model_copy(update={"stopped": noted}))


def record_started(state: StatePaths, name: str) -> None:
    """Note that what was stopped by name serves again. Nothing to do when it was not stopped."""
    book = _book_to_write(state)
    if (stopped := _without(book, name)) != book.stopped:
        write_model(state.book, book.model_copy(update={"stopped": stopped}))


def forget_release(state: StatePaths, release_id: str) -> None:
    """Give a release up before its parts go: it is neither current, previous nor proved any more. Nothing to do when it is none of these."""
    book = _book_to_write(state)
    changes = {name: None for name in ("current", "previous") if getattr(book, name) == release_id}
    proved = [known for known in book.proved if known != release_id]
    after = book.model_copy(update={**changes, "proved": proved, "stopped": _without(book, release_id)})
    if after != book:
        write_model(state.book, _with_retired(book, after))


def drop_retired(state: StatePaths, release_id: str) -> None:
    """Forget that a release was ever here; nothing to do when nothing of it is remembered."""
    book = _book_to_write(state)
    kept = {known: at for known, at in book.retired.items() if known != release_id}
    proved = [known for known in book.proved if known != release_id]
    if (kept, proved) != (book.retired, book.proved):
        write_model(state.book, book.model_copy(update={"retired": kept, "proved": proved}))


def _without(book: ReleaseBook, *names: str | None) -> list[Stopped]:
    """What is stopped beside these."""
    return [each for each in book.stopped if each.name not in names]


def _with_retired(before: ReleaseBook, after: ReleaseBook) -> ReleaseBook:
    """The book with the time at which releases stopped being current or previous."""
    held = {after.current, after.previous}
    gone = {known: time.time() for known in (before.current, before.previous) if known and known not in held}
    kept = {known: at for known, at in before.retired.items() if known not in held}
    return after.model_copy(update={"retired": kept | gone})
