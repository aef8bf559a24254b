"""What every stage is given: the host, its state, and the run with its journal."""

from collections.abc import Sequence
from dataclasses import dataclass

from modelpivot.models.host import HostConfig
from modelpivot.state.paths import RunPaths, StatePaths
from modelpivot.state.runs import Journal, Listener, new_run_id, open_run


@dataclass(frozen=True)
class Context:
    """The host, its state, and the run with its journal."""

    host: HostConfig
    state: StatePaths
    run: RunPaths
    journal: Journal


def open_context(host: HostConfig, *, name: str = "run", run_id: str | None = None, listeners: Sequence[Listener] = ()) -> Context:
    """A context for a new run, or for `run_id`, owned by this process."""
    state = StatePaths(host.state_dir)
    run = open_run(state, run_id or new_run_id(name))
    return Context(host, state, run, Journal(run, "run", listeners))


def join_context(host: HostConfig, run_id: str, *, listeners: Sequence[Listener] = ()) -> Context:
    """A context for a run that another process owns (children, the switch)."""
    state = StatePaths(host.state_dir)
    run = state.run(run_id)
    return Context(host, state, run, Journal(run, "run", listeners))
