"""Take a service that was not made by us over as the current, proved release. It goes on serving, and nothing of it is changed. Needs systemd and root.

What its unit hides is measured: the port on which its own processes listen, the name under which it answers there, the GPUs that they hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from modelpivot.errors import PreconditionError
from modelpivot.facts.endpoint import Reply, ask, complete
from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.readiness import read_ready
from modelpivot.facts.services import read_listeners
from modelpivot.models.facts import Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.recipe import Hooks, Probe
from modelpivot.models.release import Endpoint, Release
from modelpivot.plans.probe import judge_answer
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.state.cutovers import read_cutover
from modelpivot.state.lock import acquire_lock, release_lock
from modelpivot.state.releases import read_current, record_adopted
from modelpivot.supervisors.adopt import (
    Seen,
    freeze_unit,
    key_of_unit,
    port_of_words,
    read_option,
    refuse_what_cannot_return,
    release_of_unit,
    words_of_unit,
)
from modelpivot.supervisors.choose import choose_supervisor
from modelpivot.supervisors.foreign_unit import ForeignUnit, read_foreign_unit
from modelpivot.supervisors.protocol import Supervisor
from modelpivot.supervisors.systemctl import show

ASK_S = 10.0
PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


@dataclass(frozen=True)
class Said:
    """What a person says of the service; None: it is read."""

    port: int | None = None
    served_name: str | None = None
    gpus: int | None = None
    api_key_file: Path | None = None


def adopt(context: Context, unit: str, said: Said = Said()) -> Release:
    """The release that the service is from now on; nothing to do when it is that already.

    PreconditionError when it does not serve, could not be brought back whole, or another release is current and runs; HostHeld.
    """
    supervisor = _choose(context)
    acquire_lock(context.state, run_id=context.run.id, what=f"adoption of {unit}")
    try:
        with told(context.journal, "adopt", unit) as (tell, ending):
            release, key, found = _read(context, unit, said)
            current = read_current(context.state)
            _require_place(context, supervisor, unit)
            _require_ready(release, key, supervisor)
            release = _with_probes(release, key, lambda message: tell("warning", message))
            if show(unit)["UnitFileState"] not in ("enabled", "enabled-runtime", "static", "generated"):
                tell("warning", f"{unit} starts at no boot: systemctl enable {unit}")
            if current and current.model_copy(update={"created_at": release.created_at}) == release:
                ending.nothing_to_do(f"{release.id} is current already")
            else:
                freeze_unit(context.state, found, release, key)
                record_adopted(context.state, release.id, replaces=current is not None and current.name == unit)
                ending.finish(f"{release.id} is current: {release.endpoint.served_name} at {release.endpoint.base_url}")
            return release
    finally:
        release_lock(context.state)


def _choose(context: Context) -> Supervisor:
    supervisor = choose_supervisor(context.host, context.state)
    if supervisor.name != "systemd":
        raise PreconditionError(
            "adopt: expected a machine that runs under systemd and the user root, found the process supervisor",
            hint="run it as root, without MODELPIVOT_SUPERVISOR=process",
        )
    return supervisor


def _require_place(context: Context, supervisor: Supervisor, unit: str) -> None:
    if cutover := read_cutover(context.state):
        raise PreconditionError(
            f"a switch to {cutover.to_release} is open ({cutover.phase})", hint="modelpivot status tells what it waits for"
        )
    current = read_current(context.state)
    if current and current.name != unit and supervisor.processes(current):
        raise PreconditionError(
            f"{current.id} is the current release and runs: a host serves one",
            hint=f"stop {unit}, it is a stranger to this host's releases",
        )


def _read(context: Context, name: str, said: Said) -> tuple[Release, str | None, ForeignUnit]:
    unit = read_foreign_unit(name)
    refuse_what_cannot_return(unit)
    hooks = Hooks(drain=context.host.hooks.drain, undrain=context.host.hooks.undrain)
    seen = Seen(key=_read_key(said.api_key_file), hooks=hooks, served_name=said.served_name)
    key = key_of_unit(unit, seen)
    listener = find_listener(unit, read_listeners(), said.port)
    seen = _ask_its_api(replace(seen, port=listener.port, bind=listener.address), key)
    release = release_of_unit(context.state, unit, replace(seen, gpus=_count_gpus(unit, said.gpus)))
    return release, key, unit


def find_listener(unit: ForeignUnit, listeners: list[Listener] | Unread, port: int | None) -> Listener:
    """Where its own processes listen: on the port that a person said, else on that of its command line, else on their only one."""
    if isinstance(listeners, Unread):
        raise PreconditionError(f"{unit.name}: who listens on this host is {listeners}", hint="run it as root")
    pids = {process.pid for process in unit.processes}
    own = {listener.port: listener for listener in listeners if listener.pid in pids}
    wanted = port or port_of_words(unit.name, words_of_unit(unit))
    if wanted in own:
        return own[wanted]
    if port is None and len(own) == 1:
        return next(iter(own.values()))
    raise PreconditionError(
        f"{unit.name}: expected its processes to listen on port {wanted}, found {sorted(own) or 'none'}",
        hint="wait until it serves, or say the port of its API: --port",
    )


def _ask_its_api(seen: Seen, key: str | None) -> Seen:
    """Served name and model path from /v1/models, version from /version, as far as they answer; the proof comes later."""
    endpoint = Endpoint(bind=seen.bind or "", port=seen.port or 0, served_name="")
    models, version = (ask(endpoint, path, key=key, timeout_s=ASK_S) for path in ("/v1/models", "/version"))
    data = models.body.get("data") if isinstance(models.body, dict) else None
    entry = data[0] if isinstance(data, list) and data else None
    first = entry if isinstance(entry, dict) else {}
    told_version = version.body.get("version") if isinstance(version.body, dict) else None
    return replace(
        seen,
        served_name=seen.served_name or _text(first.get("id")),
        model=_text(first.get("root")),
        engine_version=_text(told_version) or "",
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count_gpus(unit: ForeignUnit, said: int | None) -> int:
    """Those that its processes hold; where the driver shows no processes, what its command line splits the model over."""
    if said is not None:
        return said
    gpus, pids = read_gpus(), {process.pid for process in unit.processes}
    if isinstance(gpus, Unread):
        raise PreconditionError(f"{unit.name}: the GPUs it holds are {gpus}", hint="mend the driver, or say how many: --gpus")
    held = len({process.gpu_uuid for process in gpus.processes if process.pid in pids})
    return held or (split_of_words(words_of_unit(unit)) if gpus.gpus else 0)


def split_of_words(words: Sequence[str]) -> int:
    """Over how many GPUs a command line splits its model."""
    product = 1
    for name in PARALLEL:
        text = read_option(words, name) or "1"
        product *= int(text) if text.isdigit() else 1
    return product


def _read_key(path: Path | None) -> str | None:
    try:
        return path.read_text().strip() if path else None
    except OSError as error:
        raise PreconditionError(f"API key {path}: {error.strerror}", hint="name a file that holds the key alone") from error


def _require_ready(release: Release, key: str | None, supervisor: Supervisor) -> None:
    """It must generate now: a release to go back to is a proved one."""
    ready = read_ready(release, key, lambda: supervisor.processes(release))
    if not ready.is_ready:
        raise PreconditionError(
            f"{release.name} does not serve {release.endpoint.served_name} at {release.endpoint.base_url}: {ready}",
            hint="wait until it answers; --port, --served-name and --api-key-file say what cannot be read",
        )


def _with_probes(release: Release, key: str | None, warn: Callable[[str], None]) -> Release:
    """The release with a probe that it passes today: one that answers rubbish is taken as it stands, and must not fail its return for that."""
    question = Probe(kind="answer")
    answer = complete(release.endpoint, question.prompt, max_tokens=question.max_tokens, key=key, timeout_s=release.deadlines.probe_s)
    if isinstance(answer, Reply):
        raise PreconditionError(f"{release.name}: expected an answer to {question.prompt!r}, found {answer}", hint="look at its log")
    if problem := judge_answer(question, answer.text, answer.tokens, answer.completion_tokens):
        warn(f"{problem}; it is adopted as it stands")
        return release.model_copy(update={"probes": [question.model_copy(update={"not_degenerate": False})]})
    return release
