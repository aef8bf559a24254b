"""What the tests of preflight, plan, view and check share: a real Hub on loopback, real uv over a folder of wheels, one host in a folder."""

import json
import os
from pathlib import Path
from typing import Any

from modelpivot.models.event import Event
from modelpivot.models.plan import Plan
from modelpivot.models.recipe import Recipe
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.fetch import fetch
from modelpivot.stages.plan import make_plan
from tests.world import World

SCHEME = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": False, "strategy": "tensor"}
PATCH = {"pointer": "/quantization_config/kv_cache_scheme", "expected": SCHEME, "remove": True, "why": "no FP8 here"}


class Desk:
    """A world with one run, and what it told."""

    def __init__(self, world: World) -> None:
        self.world, self.told = world, list[Event]()
        self.context: Context = open_context(world.host, name="test", listeners=[self.told.append])

    def recipe(self, name: str = "new", **changes: Any) -> Recipe:
        """A recipe of this world, changed."""
        return read_recipe(self.world.recipe(name, **changes))

    def quantize(self, repo: str = "new") -> None:
        """The repository's config asks for an FP8 KV cache from now on."""
        path = self.world.root / "hub" / "acme" / repo / "config.json"
        config = json.loads(path.read_text()) | {"quantization_config": {"quant_method": "compressed-tensors", "kv_cache_scheme": SCHEME}}
        path.write_text(json.dumps(config, indent=4) + "\n")

    def plan(self, recipe: Recipe | None = None) -> Plan:
        """The plan now."""
        return make_plan(self.context, recipe or self.recipe())

    def fetched(self, recipe: Recipe | None = None) -> Plan:
        """The plan of weights that lie there, whole."""
        plan = self.plan(recipe)
        fetch(self.context, plan)
        return plan

    def words(self, stage: str) -> list[str]:
        """Kinds of the events of one stage, progress left out."""
        return [event.kind for event in self.told if event.stage == stage and event.kind not in ("progress", "log")]


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a folder: inode, time of last change, content."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_ctime_ns, path.read_bytes()) for path in files}


def entries(folder: Path) -> set[str]:
    """Every name below a folder."""
    return {os.path.relpath(path, folder) for path in folder.rglob("*")}
