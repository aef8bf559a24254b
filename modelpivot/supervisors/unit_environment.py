"""What the boot unit and the switch are told of their host, in a file that only root may read: a hook may hold a token.

<state>/units.env       0600: every `MODELPIVOT_*` variable of the host configuration

Both units also name the state themselves: nothing else is needed to take a switch back, and without the file they go on with defaults.
"""

from collections.abc import Mapping
from pathlib import Path

from modelpivot.supervisors.unit_files import write_secrets
from modelpivot.supervisors.unit_text import render_variables

NAMED_BY_THE_UNIT = ("MODELPIVOT_STATE_DIR",)


def environment_file(state: Path) -> Path:
    """Where it lies."""
    return state / "units.env"


def write_unit_environment(state: Path, variables: Mapping[str, str]) -> None:
    """Put the variables where the units read them; nothing to do when they stand there. OSError when the disk does not take them."""
    write_secrets(environment_file(state), render_variables(variables))


def name_missing_environment(state: Path) -> str:
    """What a unit that was started without the file has to say; empty: it is there."""
    path = environment_file(state)
    return (
        ""
        if path.exists()
        else f"{path} is not there: going on with the default configuration, but for the state; the next run writes it anew"
    )
