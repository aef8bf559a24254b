"""The command modelpivot.

Every command takes --json: one object on standard output, logs on standard error. Exit codes: `models/result.py`.
"""

import json
import sys
import traceback

from modelpivot.errors import GateFailed, PivotError
from modelpivot.models.result import ExitCode


def main() -> None:
    """Entry point: run a command, turn every error into its sentence and exit code."""
    from modelpivot.cli.app import app

    try:
        app()
    except PivotError as error:
        _say(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.exit(ExitCode.SAID_NO)
    except Exception:  # noqa: BLE001 - the last door: whatever comes becomes exit 70
        traceback.print_exc()
        sys.stderr.write("This is a fault of modelpivot itself; the running model was left as it is (modelpivot status).\n")
        sys.exit(ExitCode.INTERNAL)


def _say(error: PivotError) -> None:
    failed = list(error.failed) if isinstance(error, GateFailed) else []
    sys.stderr.write(f"{error}\n" + "".join(f"  - {line}\n" for line in failed))
    if "--json" in sys.argv:
        document = {
            "error": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "failed": failed,
            "exit_code": error.exit_code,
        }
        sys.stdout.write(json.dumps(document) + "\n")
