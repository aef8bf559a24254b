"""The engine part of the facts: what would be installed, whether it is, and what serves now. Light to import: `env plan` needs no more."""

import time
from functools import partial
from pathlib import Path

from modelpivot.facts.environments import environment_path, read_environment
from modelpivot.facts.environments import read_answers as read_engine_answers
from modelpivot.facts.live import read_live
from modelpivot.facts.reading import Reading
from modelpivot.facts.resolution import resolve_choice
from modelpivot.models.engine import Engine
from modelpivot.models.facts import EngineFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import read_current

LIVE_DEADLINE_S = 60.0
"""Reading sizes and times of 35,000 files from a cold disk."""


def read_engine_facts(
    host: HostConfig, engine: Engine, choice: EngineChoice, live_dir: Path | None = None, *, is_full: bool = False, is_fresh: bool = False
) -> EngineFacts:
    """What would be installed, whether it is, and what is in the environment that serves (`live_dir`; None: nothing serves)."""
    live = Reading("environment that serves", partial(read_live, live_dir, is_full=is_full)) if live_dir else None
    resolution, problem = resolve_choice(host, engine, choice, is_fresh=is_fresh)
    found = live.result(time.monotonic() + LIVE_DEADLINE_S) if live else None
    if isinstance(resolution, Unread):
        return EngineFacts(resolution=resolution, environment_proved=False, environment_dir=resolution, problem=problem, live=found)
    proof, path = read_environment(host, resolution), environment_path(host, resolution)
    answers = read_engine_answers(path) if proof else None
    return EngineFacts(resolution=resolution, environment_proved=proof is not None, environment_dir=path, answers=answers, live=found)


def read_live_dir(state: StatePaths) -> Path | None:
    """The environment that the current release runs from; None: there is no current release."""
    current = read_current(state)
    return current.environment_dir if current else None
