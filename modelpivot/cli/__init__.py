"""The command modelpivot.

Every command takes --json: one object on standard output, logs on standard error. Exit codes: `models/result.py`.
"""

import errno
import gc
import json
import sys
import traceback

from modelpivot.errors import GateFailed, PivotError, PreconditionError
from modelpivot.models.exit_code import ExitCode

REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR)
"""A disk that takes no more, or never did: a person's business, no fault of ours."""

COLLECT_EVERY = 50_000
"""New objects between two searches for rubbish: a start makes 100,000 that stay, and the default of 700 costs it a tenth of its time."""


def main() -> None:
    """Entry point: run a command, turn every error into its sentence and exit code."""
    gc.set_threshold(COLLECT_EVERY)
    from modelpivot.cli.commands import app_for

    try:
        app_for(sys.argv[1:])()
    except PivotError as error:
        _say(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(ExitCode.SAID_NO)
    except OSError as error:
        if error.errno not in REFUSED:
            _say_internal(error)
            sys.exit(ExitCode.INTERNAL)
        hint = "free space, mend its permissions, or name another folder; what is done stays, the same command goes on from there"
        _say(PreconditionError(f"{error.filename or 'a file'}: {error.strerror}", hint=hint))
        sys.exit(ExitCode.BLOCKED)
    except Exception as error:  # noqa: BLE001 - the last door: whatever comes becomes exit 70
        _say_internal(error)
        sys.exit(ExitCode.INTERNAL)


def _say_internal(error: Exception) -> None:
    traceback.print_exc()
    hint = "a fault of modelpivot itself; modelpivot status tells what serves"
    _say(PivotError(f"{type(error).__name__}: {error}", hint=hint), name="InternalError", exit_code=ExitCode.INTERNAL)


def _say(error: PivotError, *, name: str = "", exit_code: int | None = None) -> None:
    """The sentence on standard error; with --json also one object on standard output, where a program reads the answer."""
    failed = list(error.failed) if isinstance(error, GateFailed) else []
    sys.stderr.write(f"{error}\n" + "".join(f"  - {line}\n" for line in failed))
    if "--json" in sys.argv:
        document = {
            "error": name or type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "failed": failed,
            "exit_code": error.exit_code if exit_code is None else exit_code,
        }
        sys.stdout.write(json.dumps(document) + "\n")
