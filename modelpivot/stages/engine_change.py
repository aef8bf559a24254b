"""What an engine change would change, asked without a model: facts of engine, driver and live environment, then the plan's engine part."""

import time
from pathlib import Path

from pydantic import ValidationError

from modelpivot.errors import UsageError
from modelpivot.facts.engine_change import read_engine_facts, read_live_dir
from modelpivot.facts.gpus import read_gpus
from modelpivot.files import describe_invalid
from modelpivot.models.engine import Engine
from modelpivot.models.engine_change import EngineChange
from modelpivot.models.facts import Facts, HostFacts, ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.locked import requirement_name
from modelpivot.models.names import canonical
from modelpivot.models.recipe import EngineChoice, Recipe, Serve
from modelpivot.models.recipe import Source as ModelSource
from modelpivot.plans.engine_change import plan_engine_change
from modelpivot.recipes import read_engines
from modelpivot.state.paths import StatePaths

NO_MODEL = Unread(unread="not asked: an engine change alone")


def plan_for_choice(
    host: HostConfig, engine: Engine, choice: EngineChoice, *, environment: Path | None, consents: list[str], is_full: bool = False
) -> EngineChange:
    """The change against `environment`, by default the one that serves. UsageError when it is named and none."""
    started = time.monotonic()
    path = environment.absolute() if environment else read_live_dir(StatePaths(host.state_dir))
    found = read_engine_facts(host, engine, choice, path, is_full=is_full, is_fresh=True)
    if environment and isinstance(found.live, Unread):
        raise UsageError(f"--environment: expected a virtual environment, found {found.live.unread}")
    facts = Facts(host=_host_facts(), model=ModelFacts(manifest=NO_MODEL, config=NO_MODEL, on_disk=NO_MODEL), engine=found)
    return plan_engine_change(_recipe(engine, choice, consents), facts, engine, time.monotonic() - started)


def _host_facts() -> HostFacts:
    """The driver is all that an engine change asks of the host."""
    return HostFacts(
        read_at=time.time(),
        gpus=read_gpus(),
        disks=[],
        memory_bytes=NO_MODEL,
        listeners=[],
        tools={},
        current=None,
        current_answers=NO_MODEL,
        cutover=None,
    )


def engine_for(requirements: list[str], choice: EngineChoice | None = None) -> tuple[Engine, EngineChoice]:
    """The engine of engines.yaml that the requirements name, or one made of the first; and the choice with these requirements."""
    lines = [_as_requirement(line) for line in requirements]
    names = [canonical(requirement_name(line)) for line in lines]
    engine = next((one for one in read_engines().values() if canonical(one.distribution) in names), None)
    engine = engine or Engine(name=names[0], distribution=names[0], module=names[0], tested=["0"], requirements=lines, serve=[])
    base = choice or EngineChoice(name=engine.name)
    try:
        return engine, EngineChoice.model_validate({**base.model_dump(), "name": engine.name, "requirements": lines})
    except ValidationError as error:
        raise UsageError(describe_invalid(error), hint="requirements are PEP 508: name==1.2, or name @ git+https://...@COMMIT") from error


def _as_requirement(line: str) -> str:
    """A wheel on this machine by its path as a requirement by address; anything else as it is."""
    path = Path(line)
    if not line.endswith(".whl") or "@" in line:
        return line
    if not path.is_file():
        raise UsageError(f"{line}: no such wheel")
    return f"{path.name.split('-')[0]} @ {path.absolute().as_uri()}"


def _recipe(engine: Engine, choice: EngineChoice, consents: list[str]) -> Recipe:
    """The policy speaks of a recipe; this one names the engine alone."""
    return Recipe(
        name="engine-change",
        model=ModelSource(repo="none/none"),
        engine=choice,
        serve=Serve(served_name="none", gpus=1 if engine.device == "cuda" else 0),
        consents=consents,
    )
