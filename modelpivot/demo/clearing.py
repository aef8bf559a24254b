"""What must hold before the demo touches anything: a folder with room that it may write, uv, a Prefect API that answers where one is named.

Everything that stands in the way is said at once. What concerns one of the two models is the plan's business, later.
"""

import os
from collections.abc import Iterator

import httpx

from modelpivot.demo.models import MODELS
from modelpivot.demo.places import RESERVE_BYTES, DemoPlaces
from modelpivot.errors import PreconditionError
from modelpivot.facts.disks import read_disk
from modelpivot.facts.environments import proof_file
from modelpivot.facts.tools import find_uv
from modelpivot.models.frozen import Unread
from modelpivot.models.plan import Blocker
from modelpivot.plans.space import ENVIRONMENT_BYTES, STATE_BYTES, Need, disk_blockers
from modelpivot.stages.plan import require_none

API_DEADLINE_S = 10.0


def require_clear_way(places: DemoPlaces) -> None:
    """PreconditionError with every blocker of a demo and its remedy; changes nothing."""
    require_none([*_disk(places), *_uv(), *_named_api()])


def _disk(places: DemoPlaces) -> list[Blocker]:
    """Room for what is not there yet; a folder that cannot be written is told even when nothing is missing."""
    has_all = _has_environment(places) or all((places.hub / repo).is_dir() for repo in MODELS.values())
    size = STATE_BYTES["cpu"] + (0 if has_all else ENVIRONMENT_BYTES["cpu"])
    return disk_blockers([(Need("demo", "MODELPIVOT_DEMO_DIR", size), read_disk(places.root))], RESERVE_BYTES)


def _has_environment(places: DemoPlaces) -> bool:
    root = places.host().environments_root
    return root.is_dir() and any(proof_file(path).exists() for path in root.iterdir())


def _uv() -> Iterator[Blocker]:
    try:
        find_uv()
    except PreconditionError as error:
        yield Blocker(code="TOOL_MISSING", what="uv", expected="a command that can be run", found=error.message, remedy=error.hint)


def _named_api() -> Iterator[Blocker]:
    """The Prefect API of PREFECT_API_URL; nothing when none is named, since the demo then starts its own."""
    url = os.environ.get("PREFECT_API_URL")
    if url and isinstance(found := read_health(url), Unread):
        yield Blocker(
            code="PREFECT_AWAY",
            what=f"the Prefect API at {url} (PREFECT_API_URL)",
            expected="an answer",
            found=found.unread,
            remedy="start it, mend the address, or unset PREFECT_API_URL: the demo then starts a server of its own",
        )


def read_health(url: str) -> bool | Unread:
    """True when the API says that it is well; without credentials it may only say that it is there."""
    try:
        answer = httpx.get(f"{url.rstrip('/')}/health", timeout=API_DEADLINE_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Unread(unread=str(error) or type(error).__name__)
    return True if answer.status_code in (200, 401, 403) else Unread(unread=f"HTTP {answer.status_code}")
