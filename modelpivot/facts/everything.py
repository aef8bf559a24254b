"""All facts of a plan, read side by side. A part that fails or hangs becomes Unread with its reason; reading changes nothing."""

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from modelpivot.errors import PivotError
from modelpivot.facts.disks import read_disk
from modelpivot.facts.engine_change import read_engine_facts
from modelpivot.facts.gpus import read_gpu_links, read_gpus
from modelpivot.facts.hub_cache import read_hub_cache
from modelpivot.facts.known import Known, read_known
from modelpivot.facts.memory import read_available_memory
from modelpivot.facts.model import read_model_facts
from modelpivot.facts.outgoing_ports import read_outgoing_ports
from modelpivot.facts.packages import read_environments
from modelpivot.facts.parts import read_missing_parts
from modelpivot.facts.processes import environment_of
from modelpivot.facts.rates import read_rates
from modelpivot.facts.readiness import read_ready
from modelpivot.facts.reading import Reading
from modelpivot.facts.services import read_listeners
from modelpivot.facts.stored import read_stored
from modelpivot.facts.toolchain import read_toolchain
from modelpivot.facts.tools import read_tools
from modelpivot.facts.views import read_standing
from modelpivot.facts.xid import read_xids
from modelpivot.files import read_model
from modelpivot.host import is_alive
from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import Engine
from modelpivot.models.facts import EngineFacts, Facts, Gpus, HostFacts, ModelFacts, SeenRates
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import list_releases
from modelpivot.supervisors.choose import choose_supervisor

DEADLINE_S = 330.0
"""Seconds for model and engine: resolving an engine against an empty cache, or the headers of hundreds of shards; and for what serves to answer."""
HOST_S = 30.0
"""Seconds for the parts of the host: what takes longer hangs."""
LAST_S = 5.0
"""Seconds that the environments have at least: they are looked for when the GPUs are known, or known to hang."""


def read_facts(
    host: HostConfig, state: StatePaths, recipe: Recipe, engine: Engine, *, may_be_unread: bool = False, host_s: float = HOST_S
) -> Facts:
    """Everything at once; `host_s`: seconds for the parts of the host. Errors as `read_known` when the state on disk cannot be read; nothing else
    raises."""
    started, known = time.monotonic(), read_known(state, may_be_unread=may_be_unread)
    model = Reading("model", lambda: read_model_facts(host, recipe.model))
    engines = Reading("engine", lambda: read_engine_facts(host, engine, recipe.engine, known.live_dir))
    until = started + DEADLINE_S
    facts = read_host_facts(host, state, until=started + host_s, answers_until=until, recipe_name=recipe.name, known=known)
    return Facts(
        host=facts,
        model=_known_model(model.result(until)),
        engine=_known_engine(engines.result(until)),
        read_s=time.monotonic() - started,
        configuration=host,
    )


def read_host_facts(
    host: HostConfig,
    state: StatePaths,
    *,
    until: float,
    answers_until: float | None = None,
    recipe_name: str | None = None,
    known: Known | None = None,
) -> HostFacts:
    """The host alone; `until` is on time.monotonic(). Views are looked into for the releases of `recipe_name` only. `known`: the state, where it was
    read already; else errors as `read_known`. `answers_until`: where a current release that is only busy must not pass for one that is down."""
    gpus = Reading("GPUs", read_gpus)
    parts = DeepParts(host, state)
    memory = Reading("memory", read_available_memory)
    listeners = Reading("listeners", read_listeners)
    tools = Reading("tools", read_tools)
    disks = [Reading(str(path), partial(read_disk, path)) for path in (host.weights_root, host.environments_root, host.state_dir)]
    frozen = Reading("views", lambda: read_standing(state, recipe_name) if recipe_name else [])
    current, cutover, unread = known or read_known(state)
    answers = Reading("current release", lambda: read_answers(host, state, current))
    lacks = Reading("parts of the current release", lambda: read_missing_parts(current) if current else [])
    found_tools, supervisor, found_gpus = tools.result(until), read_supervisor(host, state), gpus.result(until)
    facts = HostFacts(
        read_at=time.time(),
        gpus=found_gpus,
        disks=[disk.result(until) for disk in disks],
        memory_bytes=memory.result(until),
        listeners=listeners.result(until),
        tools={"uv": found_tools} if isinstance(found_tools, Unread) else found_tools,
        current=current,
        current_answers=answers.result(answers_until or until),
        current_lacks=[lacking.unread] if isinstance(lacking := lacks.result(until), Unread) else lacking,
        cutover=cutover,
        state=unread,
        switch_lives=bool(cutover and cutover.switch and is_alive(cutover.switch)),
        supervisor=supervisor,
        own_pids=[] if isinstance(supervisor, Unread) else read_own_pids(host, state, current, cutover),
        frozen=[] if isinstance(standing := frozen.result(until), Unread) else standing,
        has_api_key=os.access(state.api_key, os.R_OK),
    )
    return facts.model_copy(update=parts.result(found_gpus, current, until))


class DeepParts:
    """What takes longer to read and a plan wants to know, begun at once."""

    def __init__(self, host: HostConfig, state: StatePaths) -> None:
        self._host = host
        self._readings: dict[str, Reading[Any]] = {
            "links": Reading("topology", read_gpu_links),
            "xids": Reading("Xid errors", read_xids),
            "toolchain": Reading("toolchain", read_toolchain),
            "stored": Reading("stored weights", lambda: read_stored(host.weights_root, list_releases(state))),
            "hub_cache": Reading("Hub cache", partial(read_hub_cache, host.hub_cache)),
            "outgoing_ports": Reading("outgoing ports", read_outgoing_ports),
        }
        self._rates = Reading("rates", lambda: read_rates(state))

    def result(self, gpus: Gpus | Unread, current: Release | None, until: float) -> dict[str, Any]:
        """By the fields of HostFacts. The environments to look into are known when the GPUs' processes are."""
        serving = serving_environments(gpus, current)
        environments = Reading("environments", lambda: read_environments(self._host.environments_root, serving))
        rates = self._rates.result(until)
        known = {name: reading.result(until) for name, reading in self._readings.items()}
        return known | {
            "environments": environments.result(max(until, time.monotonic() + LAST_S)),
            "rates": SeenRates() if isinstance(rates, Unread) else rates,
        }


def serving_environments(gpus: Gpus | Unread, current: Release | None) -> list[Path]:
    """Those that something serves from now: the current release, and whatever process holds a GPU."""
    commands = [] if isinstance(gpus, Unread) else [process.command for process in gpus.processes]
    found = [current.environment_dir] if current else []
    return [*found, *(path for command in dict.fromkeys(commands) if (path := environment_of(command)))]


def read_answers(host: HostConfig, state: StatePaths, current: Release | None) -> bool | Unread:
    """Whether the current release generates right now, with its own process behind the port; Unread says which rung does not hold."""
    if current is None:
        return Unread(unread="no release is current on this host")
    supervisor, key = choose_supervisor(host, state), _read_key(current)
    asked = state.asked(current.endpoint.port)
    ready = read_ready(current, key, lambda: supervisor.processes(current), asked=asked)
    return True if ready.is_ready else Unread(unread=str(ready))


def read_supervisor(host: HostConfig, state: StatePaths) -> str | Unread:
    """The name of what supervises engines here; Unread when the one that the configuration asks for is not here."""
    try:
        return choose_supervisor(host, state).name
    except PivotError as error:
        return Unread(unread=str(error))


def read_own_pids(host: HostConfig, state: StatePaths, current: Release | None, cutover: Cutover | None) -> list[int]:
    """Processes of the current release and of both releases of an open switch, sorted."""
    ids = [current.id if current else None, *((cutover.from_release, cutover.to_release) if cutover else ())]
    releases = [read_model(state.release(release_id).release, Release) for release_id in dict.fromkeys(ids) if release_id]
    supervisor = choose_supervisor(host, state)
    return sorted({process.pid for release in releases if release for process in supervisor.processes(release)})


def _read_key(release: Release) -> str | None:
    path = release.endpoint.api_key_file
    return path.read_text().strip() if path else None


def _known_model(facts: ModelFacts | Unread) -> ModelFacts:
    return ModelFacts(manifest=facts, config=facts, on_disk=facts, summary=facts) if isinstance(facts, Unread) else facts


def _known_engine(facts: EngineFacts | Unread) -> EngineFacts:
    return EngineFacts(resolution=facts, environment_proved=False, environment_dir=facts) if isinstance(facts, Unread) else facts
