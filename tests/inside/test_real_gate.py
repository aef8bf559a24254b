"""The real engine through its gate: the same model, the same numbers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from modelpivot.facts.endpoint import Completion, complete, read_generates
from modelpivot.models.engine import EnvironmentProof
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.recipes import read_engine
from modelpivot.stages.gated import GatedStart
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import write_release
from modelpivot.supervisors.lineage import read_rows
from modelpivot.supervisors.process import ProcessSupervisor
from modelpivot.waiting import wait_for
from tests.engine_environment import ENGINE, engine_environment, engine_host, engine_models
from tests.inside.test_real_engine import release
from tests.ports import free_port

__all__ = ["engine_environment", "engine_host", "engine_models"]
pytestmark = pytest.mark.engine

PROMPT, TOKENS, UP_S = "import os\n", 24, 400.0


@contextmanager
def serving(supervisor: ProcessSupervisor, made: Release) -> Iterator[None]:
    """A unit that was started, once it answers; stopped afterwards."""

    def is_up() -> bool:
        assert supervisor.status(made).state == "running", supervisor.log_path(made).read_text()[-3000:]
        return not read_generates(made.endpoint, key=None, timeout_s=30)

    try:
        wait_for(is_up, lambda up, _: up or None, what="an answer", deadline_s=UP_S)
        yield
    finally:
        supervisor.stop(made, timeout_s=60)


def answer(made: Release) -> Completion:
    """A text with its log-probabilities."""
    found = complete(made.endpoint, PROMPT, max_tokens=TOKENS, key=None, timeout_s=60, has_logprobs=True)
    assert isinstance(found, Completion), found
    return found


def find_core(supervisor: ProcessSupervisor, made: Release) -> int:
    """The engine's own process."""
    own = [process.pid for process in supervisor.processes(made)]
    (core,) = [pid for pid in own if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return core


def test_behind_the_gate_the_numbers_are_the_same(
    engine_environment: EnvironmentProof, engine_models: dict[str, Path], host: HostConfig, tmp_path: Path
) -> None:
    """Started plain and through the gate, the engine gives the same tokens and log-probabilities. At the gate its own process is there, with children
    from the warm server, in front of its device, while somebody else has its port."""
    state = StatePaths(host.state_dir)
    made = release(engine_environment, engine_models["new"], tmp_path, port=free_port()).model_copy(
        update={"gate": read_engine(ENGINE).gate}
    )
    write_release(state, made)
    supervisor = ProcessSupervisor(state)
    supervisor.start(made)
    with serving(supervisor, made):
        plain = answer(made)
    gated = GatedStart(supervisor, made, state.release(made.id).gate)
    other = socket.create_server(("127.0.0.1", made.endpoint.port))
    gated.begin()
    fact = wait_for(gated.read, lambda seen, _: seen if seen.told or not seen.is_alive else None, what="the gate", deadline_s=UP_S)
    assert fact.told is not None, supervisor.log_path(made).read_text()[-3000:]
    assert (fact.told.cuda, fact.told.warm_children, fact.told.at_device) == (False, True, True)
    assert "is left out" not in supervisor.log_path(made).read_text(), "a module of the gate is not in this version"
    main, core = supervisor.status(made).main, find_core(supervisor, made)
    assert main is not None
    assert read_rows()[core].parent != main.pid
    other.close()
    assert gated.open()
    with serving(supervisor, made):
        assert (supervisor.status(made).main, find_core(supervisor, made)) == (main, core)
        behind = answer(made)
    assert behind == plain
