"""Errors on standard error. Imports next to nothing: also what stops the command while it imports is said."""

import sys

from modelpivot.errors import GateFailed, PivotError
from modelpivot.models.spelled import plain


def say_error(error: PivotError) -> None:
    """The sentence, every failed check below it."""
    failed = error.failed if isinstance(error, GateFailed) else ()
    sys.stderr.write(plain(f"{error}\n" + "".join(f"  - {line}\n" for line in failed)))
    sys.stderr.flush()
