"""`python -m flows NAME --json '{parameters}'`: a flow in this process, for commands that follow its journal.

MODELPIVOT_RUN_ID names the run, when the command has chosen it. The exit code is the result's.
"""

import argparse
import importlib
import json
import os
import sys
from typing import Any

from prefect import Flow

from flows.carry import RUN_ID
from modelpivot.errors import PivotError
from modelpivot.models.result import ExitCode
from modelpivot.settings import read_host_config
from modelpivot.stages.report import report
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import new_run_id

FLOWS = ("check_weights", "cutover", "pivot", "plan", "rollback", "stage")


def main(arguments: list[str] | None = None) -> int:
    """Run one flow to its end; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m flows", description="Run a flow in this process.")
    parser.add_argument("name", choices=FLOWS)
    parser.add_argument("--json", default="{}", help="parameters of the flow, one JSON object")
    chosen = parser.parse_args(arguments)
    run_id = os.environ.setdefault(RUN_ID, new_run_id(chosen.name.replace("_", "-")))
    try:
        find_flow(chosen.name)(**json.loads(chosen.json), return_state=True)
        return report(StatePaths(read_host_config().state_dir), run_id).exit_code
    except PivotError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def find_flow(name: str) -> Flow[..., Any]:
    """The flow of `flows/<name>.py`, which is called like its file."""
    found: Flow[..., Any] = getattr(importlib.import_module(f"flows.{name}"), name)
    return found


if __name__ == "__main__":
    sys.exit(main())
