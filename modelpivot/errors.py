"""What can go wrong, as few kinds as there are next moves. Imported by everything, imports nothing.

    PivotError                  something a person reads; says what, expected against found, and the next move
    +-- PreconditionError       a person must act first; nothing was changed; never retried      exit 3
    |   +-- UsageError          the input is wrong: file, field, what is allowed                 exit 2
    |   +-- Unanswered          a person must say yes first; carries every question            exit 3
    |   +-- HostHeld            another run holds this host                                      exit 7
    +-- TransientError          passing (network, Hub): the only kind that is tried again        exit 6
    +-- IntegrityError          bytes differ from their proof                                    exit 1
    +-- GateFailed              a check said no; carries every failed check                      exit 1
    +-- CommandFailed           a process ended badly; carries argv, exit code, last lines       exit 1
    +-- SwitchFailed            the switch could not do its step; the switch itself goes back    exit 4
    +-- Interrupted             somebody pressed Ctrl-C                                          exit 130

The exit codes are what the command ends with when nothing about the service says more: see `models.result.ExitCode`.
"""

from collections.abc import Sequence
from typing import Literal


class PivotError(Exception):
    """One positional message and an optional `hint`, the next move, so that every error pickles."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """The sentence without its hint."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.message}\n  -> {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


def _rebuild(kind: type[PivotError], args: tuple[object, ...], state: dict[str, object]) -> PivotError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class PreconditionError(PivotError):
    """A person must act first; nothing was changed."""

    exit_code = 3


class UsageError(PreconditionError):
    """The input is wrong; the message names file, field and what is allowed."""

    exit_code = 2


class Unanswered(PreconditionError):
    """Somebody must say yes first, and nobody was there. `asks` holds one sentence for every question; a yes answers them all."""

    def __init__(self, message: str, *, asks: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.asks = tuple(asks)


class HostHeld(PreconditionError):
    """Another run may change this host now; the message says who."""

    exit_code = 7


class TransientError(PivotError):
    """A passing failure: the same call may succeed later. `retry_after_s` is what the other side asked for, in seconds."""

    exit_code = 6

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class IntegrityError(PivotError):
    """Bytes differ from what their manifest or receipt says."""


class GateFailed(PivotError):
    """A check that decides said no. `failed` holds one sentence for every failed check; `gate` says which, where people are told apart by it."""

    def __init__(
        self, message: str, *, failed: Sequence[str] = (), gate: Literal["weights", "benchmark"] | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.failed, self.gate = tuple(failed), gate


class CommandFailed(PivotError):
    """A process ended badly. `argv`, `returncode` (None: killed at its deadline) and `last_lines` tell how."""

    def __init__(
        self, message: str, *, argv: Sequence[str] = (), returncode: int | None = None, last_lines: Sequence[str] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.argv, self.returncode, self.last_lines = tuple(argv), returncode, tuple(last_lines)


class SwitchFailed(PivotError):
    """A step of the switch did not reach its end. `step` names it; `cause` keeps the engine's own words."""

    exit_code = 4

    def __init__(self, message: str, *, step: str = "", cause: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.step, self.cause = step, tuple(cause)


class NothingServes(PivotError):
    """What was to serve is down, and it could not be started. The message keeps its own words."""

    exit_code = 5


class Interrupted(PivotError):
    """Somebody ended the command from outside (Ctrl-C); what is done stays."""

    exit_code = 130
