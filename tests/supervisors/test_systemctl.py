"""What is made of systemd's own words for a unit; the words were read from systemd 252."""

import pytest

from modelpivot.errors import CommandFailed
from modelpivot.supervisors.systemctl import judge_start, parse_show

BEFORE = "a" * 32
NOW = f"InvocationID={'b' * 32}\nJob=0\n"
DIED = f"{NOW}Type=exec\nExecMainCode=1\nResult=exit-code\n"


def judge(text: str, waited_s: float = 0.0) -> bool | None:
    """A start of which `systemctl show` says this after so many seconds."""
    return judge_start(since=BEFORE)(parse_show("new.service", text), waited_s)


@pytest.mark.parametrize(
    "text",
    [
        "ActiveState=active\nSubState=running\nType=exec\nJob=0\n",
        DIED + "ActiveState=activating\nSubState=auto-restart\nExecMainStatus=1\n",
        DIED + "ActiveState=failed\nSubState=failed\nExecMainStatus=1\n",
        DIED + "ActiveState=failed\nSubState=failed\nExecMainStatus=255\n",
        NOW + "Type=exec\nActiveState=failed\nSubState=failed\nExecMainCode=2\nExecMainStatus=9\nResult=oom-kill\n",
        NOW + "Type=exec\nActiveState=inactive\nSubState=dead\nExecMainCode=1\nExecMainStatus=0\nResult=success\n",
        NOW + "Type=exec\nActiveState=failed\nSubState=failed\nExecMainCode=1\nExecMainStatus=1\nResult=start-limit-hit\n",
        "Type=notify\nJob=7\nActiveState=activating\nSubState=start\n",
    ],
)
def test_what_was_executed_was_started(text: str) -> None:
    """Whether it lives is another question: one that died within the blink of the first look has words of its own to be read."""
    assert judge(text) is True


@pytest.mark.parametrize(
    "text",
    [
        DIED + "ActiveState=failed\nSubState=failed\nExecMainStatus=203\n",
        DIED + "ActiveState=activating\nSubState=auto-restart\nExecMainStatus=217\n",
        DIED.replace("b" * 32, BEFORE) + "ActiveState=failed\nSubState=failed\nExecMainStatus=1\n",
        NOW + "Type=exec\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainCode=0\nExecMainStatus=0\n",
    ],
)
def test_what_was_not_executed_was_not_started(text: str) -> None:
    """A program that is missing, a user that is not there, a start that systemd refused (what it tells is of the one before), one that failed before
    the program: nothing of it ran."""
    with pytest.raises(CommandFailed, match=r"new\.service is"):
        judge(text)


def test_a_start_under_way_is_waited_for() -> None:
    """A job that was not begun, and a fork that did not execute yet."""
    assert judge("Type=exec\nJob=7\nActiveState=inactive\nSubState=dead\n") is None
    assert judge("Type=exec\nJob=7\nActiveState=activating\nSubState=start\n", 59.0) is None
    assert judge("Type=exec\nJob=7\nActiveState=activating\nSubState=auto-restart\n", 59.0) is None


@pytest.mark.parametrize(
    "text",
    [
        "Type=exec\nJob=7\nActiveState=inactive\nSubState=dead\n",
        "Type=exec\nJob=7\nActiveState=failed\nSubState=failed\n",
        "Type=exec\nJob=7\nActiveState=deactivating\nSubState=stop-sigterm\n",
        "Type=simple\nJob=7\nActiveState=activating\nSubState=start-pre\n",
        "Type=exec\nJob=7\nActiveState=activating\nSubState=condition\n",
    ],
)
def test_a_start_that_systemd_holds_up_is_left_to_it(text: str) -> None:
    """It waits for a disk or a network, or prepares the unit: that ends by itself, and is no start that failed."""
    assert (judge(text), judge(text, 1.0)) == (None, True)
    assert parse_show("new.service", text).is_held_up
