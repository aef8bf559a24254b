"""What a command ends with. A module of its own, since every command needs it and few need what a run's result is made of."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command ends with; the highest truth about the service wins."""

    DONE = 0
    SAID_NO = 1
    USAGE = 2
    BLOCKED = 3
    SWITCHED_BACK = 4
    NOTHING_SERVES = 5
    PASSING = 6
    HELD = 7
    INTERNAL = 70
    INTERRUPTED = 130
