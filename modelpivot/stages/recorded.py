"""A run that no flow carries, such as a single stage by hand: it begins and ends with a word of its own and has its report, like any other."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from modelpivot.errors import PivotError
from modelpivot.models.result import ExitCode, RunOutcome
from modelpivot.stages.context import Context
from modelpivot.stages.report import write_report


@dataclass
class LastWord:
    """How the run ended well; filled in on the way."""

    outcome: RunOutcome = "no_change"
    """Nothing was to do, as long as nobody says more; a switch says its own word."""
    message: str = ""


@contextmanager
def recorded(context: Context, message: str) -> Iterator[LastWord]:
    """Tell the run's beginning and its end; what is raised goes on. A disk that takes no more costs the report alone."""
    word = LastWord()
    context.journal("started", message)
    try:
        yield word
    except PivotError as error:
        context.journal("failed", error.message, error=type(error).__name__, exit_code=error.exit_code, hint=error.hint)
        raise
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt)
        said = "interrupted; what is done stays" if is_interrupt else f"{type(error).__name__}: {error}"
        context.journal("failed", said, exit_code=int(ExitCode.INTERRUPTED if is_interrupt else ExitCode.INTERNAL))
        raise
    else:
        context.journal("finished", word.message, outcome=word.outcome)
    finally:
        with contextlib.suppress(OSError):
            write_report(context.state, context.run.id)
