"""Inside a sandbox: a real Prefect server, a Hub on loopback, and a real pivot flow under systemd, whose cord another process cuts.

python -m tests.systemd.prefect_world     serves `old` by a first pivot, then begins the pivot to `new` and follows it as its command
"""

import json
import os
from pathlib import Path

from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_book
from modelpivot.supervisors.lineage import read_rows, with_descendants
from tests.packages import publish
from tests.prefect_server import running_server
from tests.systemd.cutting import TREE
from tests.systemd.units import ROOT
from tests.world import DEADLINES, World, make_world

HOME = Path("/var/lib/test-world")
TOLD = Path("/run/test-world.json")
"""Run and old release, once the flow has begun."""


def main() -> None:
    """As the command; it is killed before this ends."""
    HOME.mkdir()
    with running_server(HOME, 4200) as url:
        os.environ.update({"PREFECT_API_URL": url, "PREFECT_HOME": str(HOME)})
        world = make_world(HOME)
        world.host = world.host.model_copy(update={"supervisor": "systemd", "state_dir": ROOT})
        world.state = StatePaths(ROOT)
        for wheel in (HOME / "wheels").glob("*.whl"):
            publish(HOME / "simple", wheel)
        # there is no network in here: not even a name can be looked up
        os.environ["UV_DEFAULT_INDEX"] = (HOME / "simple").as_uri()
        play(world)


def play(world: World) -> None:
    """`old` serves; the pivot to `new` runs."""
    result = world.pivot("old")
    assert result.outcome == "promoted", world.tell(result)
    world.recipe("new", deadlines=DEADLINES | {"confirm_s": 2}, args={"load-s": 1})
    child = world.start("pivot", recipe="new", dry_run=False, agreed=True)
    TREE.write_text(json.dumps(sorted(with_descendants({os.getpid()}, read_rows()))))
    TOLD.with_suffix(".new").write_text(json.dumps([child.run.id, read_book(world.state).current]))
    TOLD.with_suffix(".new").rename(TOLD)
    child.follow(lambda _: None)


if __name__ == "__main__":
    main()
