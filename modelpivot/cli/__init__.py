"""The command modelpivot.

Every command takes --json: one object on standard output, logs on standard error. Exit codes: `models/result.py`.
"""

import errno
import gc
import io
import json
import os
import sys
import traceback
from contextlib import suppress

from modelpivot.cli.said import say_error
from modelpivot.errors import GateFailed, Interrupted, PivotError, PreconditionError
from modelpivot.models.exit_code import ExitCode

REFUSED = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG),
    *(errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
)
"""What a disk or system says that takes no more, also where it names no file. With a name (a folder, a link to itself, too long, gone) any word of it
is a person's business."""

COLLECT_EVERY = 50_000
"""New objects between two searches for rubbish: a start makes 100,000 that stay, and the default of 700 costs it a tenth of its time."""


def main() -> None:
    """Entry point: run a command, turn every error into its sentence and exit code."""
    _open_closed()
    _write_anything()
    gc.set_threshold(COLLECT_EVERY)
    try:
        from modelpivot.cli.commands import app_for

        app_for(sys.argv[1:])()
    except KeyboardInterrupt:
        _say(Interrupted("interrupted before anything was done", hint="run it again"))
        sys.exit(ExitCode.INTERRUPTED)
    except PivotError as error:
        _say(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _say_no_more()
        sys.exit(ExitCode.SAID_NO)
    except OSError as error:
        if error.filename is None and error.errno not in REFUSED:
            _say_internal(error)
            sys.exit(ExitCode.INTERNAL)
        hint = "free space, mend its permissions, or name another folder; what is done stays, the same command goes on from there"
        _say(PreconditionError(f"{error.filename2 or error.filename or 'a file, or standard output'}: {error.strerror}", hint=hint))
        _say_no_more()
        sys.exit(ExitCode.BLOCKED)
    except Exception as error:  # noqa: BLE001 - the last door: whatever comes becomes exit 70
        _say_internal(error)
        sys.exit(ExitCode.INTERNAL)


def _open_closed() -> None:
    """Standard streams that the caller closed lead to /dev/null: else the next file that is opened takes their number, and what we say goes into it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None and os.open(os.devnull, os.O_RDWR) == number:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _write_anything() -> None:
    """A terminal that knows no arrow, or a name on disk that is no UTF-8, gets a question mark, not our end."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _say_no_more() -> None:
    """What is still waiting to be written at the end goes nowhere, so that it fails no second time."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say_internal(error: Exception) -> None:
    traceback.print_exc()
    hint = "a fault of modelpivot itself; modelpivot status tells what serves"
    _say(PivotError(f"{type(error).__name__}: {error}", hint=hint), name="InternalError", exit_code=ExitCode.INTERNAL)


def _say(error: PivotError, *, name: str = "", exit_code: int | None = None) -> None:
    """The sentence on standard error; with --json also one object on standard output, where a program reads the answer."""
    failed = list(error.failed) if isinstance(error, GateFailed) else []
    with suppress(OSError):
        say_error(error)
    if "--json" in sys.argv:
        document = {
            "error": name or type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "failed": failed,
            "exit_code": error.exit_code if exit_code is None else exit_code,
        }
        with suppress(OSError):
            sys.stdout.write(json.dumps(document) + "\n")
            sys.stdout.flush()
