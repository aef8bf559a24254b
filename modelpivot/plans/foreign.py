"""A service that was not made by us serves, and nothing of ours is current: it is taken over first, to have something to go back to. Pure."""

from modelpivot.models.counted import counted
from modelpivot.models.facts import Facts, GpuProcess, HostFacts, Listener
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.plan import Blocker
from modelpivot.models.release import Endpoint

ENGINE_WORDS = ("vllm", "sglang", "llama-server", "llama_server")
"""In a name, a command line or a unit's name. A notebook that holds GPU memory is a stranger and no engine."""


class ForeignEngine(Frozen):
    """One service, with the processes that were seen of it."""

    unit: str
    pids: list[int]
    found: str
    """What was seen, for a person."""


def find_foreign_engines(host: HostFacts) -> list[ForeignEngine]:
    """Engines in services that are not ours, by unit; none where a release is current: then they are strangers, and stay in the way as such."""
    if host.current is not None:
        return []
    listeners = [] if isinstance(host.listeners, Unread) else [it for it in host.listeners if _is_foreign(it.unit) and _is_engine(it)]
    processes = [] if isinstance(host.gpus, Unread) else [it for it in host.gpus.processes if _is_foreign(it.unit) and _is_serving(it)]
    units = sorted({it.unit for it in listeners} | {it.unit for it in processes})
    return [_engine(unit, [it for it in listeners if it.unit == unit], [it for it in processes if it.unit == unit]) for unit in units]


def is_in_the_way(engine: ForeignEngine, endpoint: Endpoint, host: HostFacts, gpus_needed: int) -> bool:
    """Whether the new release cannot stand beside it: it wants the same port, or GPUs that this one holds."""
    listeners = [] if isinstance(host.listeners, Unread) else host.listeners
    has_port = any(it.unit == engine.unit and it.port == endpoint.port for it in listeners)
    has_gpu = not isinstance(host.gpus, Unread) and any(it.unit == engine.unit for it in host.gpus.processes)
    return has_port or (has_gpu and gpus_needed > 0)


def foreign_blockers(engines: list[ForeignEngine]) -> list[Blocker]:
    """One a service, with the command that takes it over."""
    return [
        Blocker(
            code="FOREIGN_ENGINE",
            what=f"{engine.unit}, which serves and was not made by modelpivot",
            expected="the current release of this host, to switch from and to go back to",
            found=engine.found,
            remedy=f"`modelpivot adopt {engine.unit}` takes it over as it stands, without touching it; then run this again",
        )
        for engine in engines
    ]


def without_engines(facts: Facts, engines: list[ForeignEngine]) -> Facts:
    """The facts with these engines' processes counted as our own, so that nothing else is said of them."""
    pids = sorted({*facts.host.own_pids, *(pid for engine in engines for pid in engine.pids)})
    return facts.model_copy(update={"host": facts.host.model_copy(update={"own_pids": pids})})


def _engine(unit: str, listeners: list[Listener], processes: list[GpuProcess]) -> ForeignEngine:
    pids = sorted({it.pid for it in listeners if it.pid is not None} | {it.pid for it in processes})
    ports = ", ".join(dict.fromkeys(str(it.port) for it in listeners))
    cards = len({it.gpu_uuid for it in processes})
    seen = [f"port {ports}"] if ports else []
    seen += [counted(cards, "GPU")] if cards else []
    return ForeignEngine(unit=unit, pids=pids, found=f"it holds {' and '.join(seen)} (process {', '.join(map(str, pids))})")


def _is_foreign(unit: str) -> bool:
    return unit.endswith(".service") and not unit.startswith("modelpivot-")


def _is_engine(listener: Listener) -> bool:
    return _names_engine(listener.command, listener.unit)


def _is_serving(process: GpuProcess) -> bool:
    return _names_engine(process.name, process.command, process.unit)


def _names_engine(*texts: str) -> bool:
    return any(word in text.lower() for word in ENGINE_WORDS for text in texts)
