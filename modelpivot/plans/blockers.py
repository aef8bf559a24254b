"""What stands in the way of a pivot, all of it at once: Hub, engine, patches, port, an open switch. Pure."""

from modelpivot.models.cutover import Cutover
from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts, HostFacts, Listener, ModelFacts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.model_files import lacks_config
from modelpivot.models.plan import Blocker
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Endpoint, Release
from modelpivot.plans.devices import device_blockers, gpus_needed
from modelpivot.plans.environment import unresolved_blockers
from modelpivot.plans.foreign import find_foreign_engines, foreign_blockers, is_in_the_way, without_engines
from modelpivot.plans.patched import patch_blockers
from modelpivot.plans.release import release_endpoint
from modelpivot.plans.space import space_blockers

ANY_ADDRESS = ("0.0.0.0", "::", "")
HUB_REMEDIES = {
    "unreachable": ("HUB_UNREACHABLE", "check the network and {endpoint}, then run it again; nothing was touched"),
    "unauthorized": ("HUB_UNAUTHORIZED", "the token is wrong or expired: log in again (hf auth login), or set HF_TOKEN"),
    "gated": ("HUB_GATED", "ask for access on the model's page, then run it again with that account's token"),
    "not_found": ("HUB_NOT_FOUND", "check model.repo and model.revision; a private repository needs a token that may read it"),
    "revision_gone": ("REVISION_GONE", "the commit is no longer there: name a revision that is"),
}


def find_blockers(recipe: Recipe, host: HostConfig, facts: Facts, engine: Engine, candidate: Release | None) -> list[Blocker]:
    """Every blocker, in the order in which a person would mend them."""
    endpoint, needed = release_endpoint(recipe, host), gpus_needed(recipe, engine)
    foreign = [it for it in find_foreign_engines(facts.host) if is_in_the_way(it, endpoint, facts.host, needed)]
    facts = without_engines(facts, foreign)
    return [
        *foreign_blockers(foreign),
        *hub_blockers(recipe, host, facts),
        *config_blockers(recipe, facts),
        *engine_blockers(facts),
        *patch_blockers(recipe, facts),
        *space_blockers(facts, engine, host),
        *device_blockers(recipe, engine, facts),
        *port_blockers(endpoint, facts),
        *key_blockers(recipe, host, facts),
        *supervisor_blockers(host, facts),
        *state_blockers(facts.host),
        *switch_blockers(facts, candidate),
    ]


def state_blockers(host: HostFacts) -> list[Blocker]:
    """Only in recorded facts: what reads a state to change this host does not begin without it."""
    if host.state is None:
        return []
    return [
        _blocker(
            "STATE_UNREAD",
            "the state of this host",
            "what serves, and whether a switch is open",
            str(host.state),
            "mend it, read the facts again",
        )
    ]


def is_whole_on_disk(facts: Facts) -> bool:
    """Every file of the pinned commit lies there by its receipt, so that the Hub is not needed."""
    on_disk = facts.model.on_disk
    return not isinstance(facts.model.manifest, Unread) and not isinstance(on_disk, Unread) and on_disk.missing_files == 0


def hub_blockers(recipe: Recipe, host: HostConfig, facts: Facts) -> list[Blocker]:
    """The Hub's answer, unless everything is on disk already; a model whose weights on disk cannot be told, and a repository without a file."""
    model = facts.model
    what = f"{recipe.model.repo} at {recipe.model.revision}"
    if model.hub_problem or isinstance(model.manifest, Unread):
        if model.hub_problem and is_whole_on_disk(facts):
            return []
        code, remedy = HUB_REMEDIES.get(model.hub_problem, ("MODEL_UNREAD", "mend what the reason names, then plan again"))
        found = _hub_reason(model) if isinstance(model.manifest, Unread) else f"{model.hub_problem}, and the files on disk are not whole"
        return [_blocker(code, what, "a commit with its file list", found, remedy.format(endpoint=host.hub_endpoint))]
    if not model.manifest.files:
        return [_blocker("REPO_EMPTY", what, "files to serve", "none after include and exclude", "mend model.include and model.exclude")]
    if isinstance(model.on_disk, Unread):
        return [_blocker("WEIGHTS_UNREAD", f"weights of {what}", "a readable folder", str(model.on_disk), "make it readable")]
    return []


def config_blockers(recipe: Recipe, facts: Facts) -> list[Blocker]:
    """Weights without the file that says what they are: known before they are fetched."""
    manifest = facts.model.manifest
    if isinstance(manifest, Unread) or not lacks_config(file.path for file in manifest.files):
        return []
    remedy = "take it in with model.include, or name a repository or revision that has one"
    what = f"{recipe.model.repo} at {recipe.model.revision}"
    return [_blocker("CONFIG_MISSING", what, "a config.json beside the weights", "none after include and exclude", remedy)]


def _hub_reason(model: ModelFacts) -> str:
    """The reason without the remedy that stands behind it: the blocker has its own."""
    return model.manifest.unread.partition("; ")[0] if model.hub_problem and isinstance(model.manifest, Unread) else str(model.manifest)


def engine_blockers(facts: Facts) -> list[Blocker]:
    """uv missing, or no answer to what would be installed; an environment that is there and proved needs neither."""
    uv = facts.host.tools.get("uv", Unread(unread="not looked for"))
    blockers = []
    if isinstance(uv, Unread) and not facts.engine.environment_proved:
        remedy = "install uv, for example with `python -m pip install uv` beside modelpivot"
        blockers.append(_blocker("UV_MISSING", "uv", "on the PATH or beside modelpivot", str(uv), remedy))
    return [*blockers, *unresolved_blockers(facts)]


def port_blockers(endpoint: Endpoint, facts: Facts) -> list[Blocker]:
    """The port held by a stranger; the current release's own engine leaves it in the switch."""
    listeners = facts.host.listeners
    what, free = f"port {endpoint.port} on {endpoint.bind}", "free, or held by the current release"
    if isinstance(listeners, Unread):
        return [_blocker("PORT_UNREAD", what, free, str(listeners), "run on a host whose /proc can be read")]
    strangers = [it for it in listeners if collides(it, endpoint) and it.pid not in facts.host.own_pids]
    if not strangers:
        return []
    found = ", ".join(dict.fromkeys(_say_listener(it) for it in strangers))
    return [_blocker("PORT_IN_USE", what, free, found, "end it, or choose another port (MODELPIVOT_PORT, or serve.port in the recipe)")]


def collides(listener: Listener, endpoint: Endpoint) -> bool:
    """Whether a second socket cannot listen there: same port, and the same address or one of them every address."""
    is_any = listener.address in ANY_ADDRESS or endpoint.bind in ANY_ADDRESS
    bind = "127.0.0.1" if endpoint.bind == "localhost" else endpoint.bind
    return listener.port == endpoint.port and (is_any or listener.address == bind)


def _say_listener(listener: Listener) -> str:
    return f"process {listener.pid} ({listener.command or 'unknown'})" if listener.pid else "a process of another user"


def key_blockers(recipe: Recipe, host: HostConfig, facts: Facts) -> list[Blocker]:
    """A recipe that asks for a key on a host that keeps none."""
    if not recipe.serve.api_key or facts.host.has_api_key:
        return []
    path = host.state_dir / "api_key"
    return [_blocker("API_KEY_MISSING", "key for requests", f"a file {path}", "none", f"write the key into {path} with mode 0600")]


def supervisor_blockers(host: HostConfig, facts: Facts) -> list[Blocker]:
    """The supervisor that the host's configuration asks for is not here, or cannot start engines as the user that it names."""
    found = facts.host.supervisor
    if found == "process" and host.engine_user:
        remedy = "run under systemd, or run modelpivot as that user and unset MODELPIVOT_ENGINE_USER"
        return [
            _blocker("ENGINE_USER", "user of engines", host.engine_user, "the process supervisor starts engines as its own user", remedy)
        ]
    if not isinstance(found, Unread):
        return []
    return [_blocker("SUPERVISOR_MISSING", "supervisor of engines", host.supervisor, str(found), "mend it, or set MODELPIVOT_SUPERVISOR")]


def switch_blockers(facts: Facts, candidate: Release | None) -> list[Blocker]:
    """An open switch that this run cannot take up."""
    cutover = facts.host.cutover
    if cutover is None or resumes(facts, candidate):
        return []
    found = f"switch {cutover.id} from {cutover.from_release} to {cutover.to_release} is open ({cutover.phase})"
    return [
        _blocker("SWITCH_OPEN", "switches of this host", "none open, or one to this very release", found, _switch_remedy(cutover, facts))
    ]


def _switch_remedy(cutover: Cutover, facts: Facts) -> str:
    if not facts.host.switch_lives:
        return "its process is gone: `modelpivot recover` finishes it backwards"
    if cutover.trial:
        return "a trial, which ends by itself: wait for it (modelpivot watch), or end it with `modelpivot rollback`"
    if cutover.phase == "unconfirmed":
        return "decide it: `modelpivot promote` or `modelpivot rollback`"
    return "wait for it (modelpivot watch)"


def resumes(facts: Facts, candidate: Release | None) -> bool:
    """Whether an open switch goes to this very candidate, lives, and is not on its way back."""
    cutover = facts.host.cutover
    if cutover is None or candidate is None or not facts.host.switch_lives:
        return False
    return cutover.to_release == candidate.id and cutover.phase not in ("returning", "closed")


def new_blockers(before: list[Blocker], after: list[Blocker]) -> list[Blocker]:
    """Those that were not there in an earlier plan: the reason to stop right before the switch."""
    known = {(blocker.code, blocker.what) for blocker in before}
    return [blocker for blocker in after if (blocker.code, blocker.what) not in known]


def _blocker(code: str, what: str, expected: str, found: str, remedy: str) -> Blocker:
    return Blocker(code=code, what=what, expected=expected, found=found, remedy=remedy)
