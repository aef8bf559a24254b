"""`python -m flows NAME --json '{parameters}'`: a flow in this process, for commands that follow its journal.

MODELPIVOT_RUN_ID names the run, when the command has chosen it. The exit code is the result's.
"""

import argparse
import importlib
import json
import os
import sys
from typing import Any

import httpx
from prefect import State, tags
from prefect.exceptions import PrefectException

from flows.carry import RUN_ID
from modelpivot.errors import PivotError
from modelpivot.models.result import ExitCode
from modelpivot.models.spelled import plain
from modelpivot.settings import read_host_config
from modelpivot.stages.report import RUN, last_word, report
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import Journal, new_run_id, read_events

TAG = "modelpivot"
"""Of every run, as in prefect.yaml: alerts are about runs that have it."""

FLOWS = ("benchmark", "check_weights", "cleanup", "cutover", "pivot", "plan", "promote", "reclaim", "rollback", "stage", "upgrade_test")


def main(arguments: list[str] | None = None) -> int:
    """Run one flow to its end; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m flows", description="Run a flow in this process.")
    parser.add_argument("name", choices=FLOWS)
    parser.add_argument("--json", default="{}", type=json.loads, help="parameters of the flow, one JSON object")
    chosen = parser.parse_args(arguments)
    run_id = os.environ.setdefault(RUN_ID, new_run_id(chosen.name.replace("_", "-")))
    try:
        state = StatePaths(read_host_config().state_dir)
        ended = run_flow(chosen.name, chosen.json)
        note_end(state, run_id, str(ended.message), ExitCode.USAGE)
    except PivotError as error:
        sys.stderr.write(plain(f"{error}\n"))
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        note_end(state, run_id, f"Prefect does not carry the run: {error}", judge_refusal(error))
        raise
    return report(state, run_id).exit_code


def judge_refusal(error: Exception) -> ExitCode:
    """What it means that Prefect never began the flow: parameters it refuses, an API that is away, or a fault of ours."""
    if isinstance(error, PrefectException):
        return ExitCode.USAGE
    return ExitCode.BLOCKED if isinstance(error, RuntimeError | httpx.HTTPError) else ExitCode.INTERNAL


def note_end(state: StatePaths, run_id: str, message: str, code: ExitCode) -> None:
    """The last word of a run whose flow never got to say one: refused parameters, an API that is away. Nothing to do when it did."""
    run = state.run(run_id)
    events, _ = read_events(run)
    if last_word(events) is None:
        run.root.mkdir(parents=True, exist_ok=True)
        Journal(run, RUN)("failed", message, exit_code=int(code if not events else ExitCode.INTERNAL))


def run_flow(name: str, parameters: dict[str, Any]) -> State[Any]:
    """The end of the flow of `flows/<name>.py`, which is called like its file."""
    flow: Any = getattr(importlib.import_module(f"flows.{name}"), name)
    with tags(TAG):
        ended: State[Any] = flow(**parameters, return_state=True)
    return ended


if __name__ == "__main__":
    sys.exit(main())
