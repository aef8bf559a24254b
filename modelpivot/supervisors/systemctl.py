"""The door to systemd: what it knows of a unit, and what it is told. Needs systemctl, and root for everything but reading.

$ systemctl show vllm-glm5.service --property ActiveState,SubState,MainPID,ExecMainStatus
ActiveState=failed
SubState=failed
MainPID=0
ExecMainStatus=9
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from modelpivot.errors import CommandFailed
from modelpivot.host import CommandResult, run_command

HELD_UP_S = 1.0
"""Seconds after which a start that systemd itself holds up is left to it: a check of a disk may take an hour."""
CALL_S = 60.0
"""Seconds for one call; none of them waits for an engine."""
PROPERTIES = (
    "LoadState,ActiveState,SubState,Result,Job,Type,MainPID,ExecMainPID,ExecMainCode,ExecMainStatus,InvocationID,ControlGroup,"
    "NeedDaemonReload,UnitFileState,TriggeredBy"
)

PREPARING = ("condition", "start-pre")
"""Words for a unit whose own preparations run."""
OWN_CODES = range(200, 246)
"""Exit codes that are systemd's words for why a program was not executed (systemd.exec(5), "Process exit codes")."""


@dataclass(frozen=True)
class UnitFacts:
    """What systemd knows of a unit, in its own words."""

    name: str
    values: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def is_loaded(self) -> bool:
        """Whether systemd found a unit of this name."""
        return self["LoadState"] not in ("not-found", "")

    @property
    def main_pid(self) -> int:
        """Number of the main process; 0: none."""
        return int(self["MainPID"] or 0)

    @property
    def is_at_rest(self) -> bool:
        """Neither running nor about to: nothing of it starts without a new order."""
        return self["ActiveState"] in ("inactive", "failed", "") and not self.has_job

    @property
    def has_job(self) -> bool:
        """Whether an order for it still waits to be carried out."""
        return self["Job"] not in ("", "0")

    @property
    def is_held_up(self) -> bool:
        """Whether systemd has still to come to its program: its start waits for other units, or prepares it (ExecCondition=, ExecStartPre=)."""
        if self["ActiveState"] == "activating":
            return self["SubState"] in PREPARING
        return self.has_job and self["ActiveState"] in ("inactive", "failed", "deactivating")

    @property
    def waits_to_restart(self) -> bool:
        """Whether it ended by itself, and systemd waits to start it again."""
        return self["SubState"].startswith("auto-restart")

    @property
    def exit_code(self) -> int | None:
        """Of the main process that ended last, negative for a signal; None: none has ended."""
        kinds = {"1": 1, "2": -1, "3": -1}
        sign = kinds.get(self["ExecMainCode"])
        return None if sign is None else sign * int(self["ExecMainStatus"] or 0)

    def has_run_since(self, invocation_id: str) -> bool:
        """Whether the program ran, and ended, in a start after the one of that id: a start that systemd refuses gets no id of its own, and what
        cannot be executed ends with a code of systemd's."""
        return self["InvocationID"] not in ("", invocation_id) and self.exit_code is not None and self.exit_code not in OWN_CODES

    def __str__(self) -> str:
        ended = f", last exit code {self.exit_code}" if self.exit_code is not None else ""
        return f"{self.name} is {self['ActiveState'] or 'unknown'} ({self['SubState']}, result {self['Result']}{ended})"


def is_systemd_here() -> bool:
    """Whether this machine runs under systemd and we may tell it what to do."""
    return os.geteuid() == 0 and Path("/run/systemd/system").is_dir() and shutil.which("systemctl") is not None


def show(unit: str) -> UnitFacts:
    """What systemd knows of a unit; one that it does not know is not loaded. CommandFailed when systemd does not answer."""
    return parse_show(unit, systemctl("show", unit, f"--property={PROPERTIES}").stdout)


def parse_show(unit: str, text: str) -> UnitFacts:
    """`name=value` lines."""
    return UnitFacts(unit, dict(line.split("=", 1) for line in text.splitlines() if "=" in line))


def systemctl(*words: str, is_checked: bool = True) -> CommandResult:
    """One call of systemctl. CommandFailed with its words when it says no."""
    try:
        return run_command(["systemctl", "--no-ask-password", *words], timeout_s=CALL_S, is_checked=is_checked)
    except CommandFailed as error:
        said = " ".join(error.last_lines) or error.message
        raise CommandFailed(
            f"systemctl {' '.join(words[:3])}: {said}",
            argv=error.argv,
            returncode=error.returncode,
            last_lines=error.last_lines,
            hint=error.hint,
        ) from error


def judge_start(*, since: str) -> Callable[[UnitFacts, float], bool | None]:
    """For the start that follows the invocation of this id: true as soon as the program is executed, also when it is dead by now (`status` tells);
    with units that tell when they are ready, as soon as they are under way; and when systemd holds it up, which ends by itself (`status` tells that
    too). CommandFailed when it was not executed."""

    def judge(facts: UnitFacts, waited_s: float) -> bool | None:
        if facts["ActiveState"] == "active":
            return True
        if facts.is_held_up:
            return True if waited_s >= HELD_UP_S else None
        if facts.is_at_rest or (facts.waits_to_restart and not facts.has_job):
            if facts.has_run_since(since):
                return True
            raise CommandFailed(str(facts))
        is_under_way = facts["ActiveState"] == "activating" and facts["Type"] not in ("exec", "simple")
        return True if is_under_way else None

    return judge


def clear_failure(unit: str) -> None:
    """Forget a failed state and the count of starts, so that the next start is not refused; nothing to do for a unit that has neither."""
    systemctl("reset-failed", unit, is_checked=False)
