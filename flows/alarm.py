"""`python -m flows.alarm RUN`: tell Prefect that nothing serves on this host, as the switch of that run ended. Run by the switch when the run is dead."""

import sys

from prefect.events.worker import EventsWorker

from flows.tell import emit_outcome
from modelpivot.settings import read_host_config
from modelpivot.stages.report import report
from modelpivot.state.paths import StatePaths


def main(run_id: str) -> None:
    """Emit `modelpivot.switch.nothing_serves` about this host, and wait until it is gone."""
    host = read_host_config()
    emit_outcome("switch", host, report(StatePaths(host.state_dir), run_id))
    EventsWorker.instance().drain()


if __name__ == "__main__":
    main(sys.argv[1])
