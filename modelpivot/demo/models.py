"""The demo's two models, made on this machine by the engine's own Python and published on the local Hub."""

import os
from pathlib import Path

from modelpivot.demo.places import DemoPlaces
from modelpivot.host import run_command
from modelpivot.models.event import Tell

MODELS = {"old": "demo/old-qwen3", "new": "demo/new-deepseek"}
SCRIPT = Path(__file__).resolve().parents[1] / "inside" / "make_model.py"
DEADLINE_S = 300.0


def make_models(places: DemoPlaces, environment_dir: Path, tell: Tell) -> None:
    """Make and publish both; nothing to do for one that is there. A model appears under its name only when it is whole."""
    for kind, repo in MODELS.items():
        final = places.hub / repo
        if final.is_dir():
            continue
        tell("log", f"making {repo}")
        _make(kind, final, environment_dir)


def _make(kind: str, final: Path, environment_dir: Path) -> None:
    import shutil

    scratch = final.with_name(f".{final.name}.making")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    run_command([environment_dir / "bin" / "python", SCRIPT, kind, scratch], timeout_s=DEADLINE_S, env=environment)
    scratch.rename(final)
