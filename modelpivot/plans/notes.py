"""What a plan asks and what it warns of. Pure."""

from modelpivot.models.engine import Engine
from modelpivot.models.facts import Facts
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.model_files import lacks_tokenizer
from modelpivot.models.plan import Question
from modelpivot.models.recipe import Recipe
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes
from modelpivot.plans.blockers import is_whole_on_disk
from modelpivot.plans.release import changed_settings
from modelpivot.plans.steps import is_serving

NO_WAY_BACK = "no-way-back"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SUPERVISOR_NOTE = (
    "the process supervisor holds its promise while the switch process and the machine live; "
    "after a reboot `modelpivot recover` brings the old release back"
)


def open_questions(recipe: Recipe, facts: Facts, engine: Engine, candidate: Release | None) -> list[Question]:
    """What needs a person's yes and has none in the recipe's consents."""
    asked = [*_remote_code(recipe, facts), *_untested_engine(recipe, engine), *_no_way_back(facts, candidate)]
    return [question for question in asked if question.id not in recipe.consents]


def find_warnings(recipe: Recipe, host: HostConfig, facts: Facts, candidate: Release | None) -> list[str]:
    """What does not stand in the way and should be known before."""
    return [
        *_hub_away(facts),
        *_current_silent(facts),
        *_remote_code_refused(recipe, facts),
        *_no_tokenizer(recipe, facts),
        *_context_too_long(recipe, facts),
        *_memory_small(recipe, facts),
        *_open_endpoint(recipe),
        *_port_of_outgoing(host.port or recipe.serve.port, facts),
        *_same_release(facts, candidate),
        *_settings_changed(facts, candidate),
        *([SUPERVISOR_NOTE] if facts.host.supervisor == "process" else []),
    ]


def _remote_code(recipe: Recipe, facts: Facts) -> list[Question]:
    manifest = facts.model.manifest
    if isinstance(manifest, Unread) or not recipe.serve.args.get("trust-remote-code") or recipe.model.revision == manifest.commit:
        return []
    text = f"run the Python code that {manifest.repo} brings, at commit {manifest.commit} (the recipe names {recipe.model.revision}, which can move)?"
    return [Question(id="remote-code", text=text)]


def _untested_engine(recipe: Recipe, engine: Engine) -> list[Question]:
    version = recipe.engine.version
    if version is None or version in engine.tested:
        return []
    tested = ", ".join(engine.tested)
    return [Question(id="untested-engine", text=f"use {engine.distribution} {version}, which was not tested here (tested: {tested})?")]


def _no_way_back(facts: Facts, candidate: Release | None) -> list[Question]:
    """What serves could not be started again: asked before it is stopped. Not where it is what comes: its parts come back before."""
    current, lacks = facts.host.current, facts.host.current_lacks
    if current is None or not lacks or (candidate and candidate.id == current.id):
        return []
    text = f"stop {current.name} though it cannot be started again ({'; '.join(lacks)}): nothing serves when the new model fails?"
    return [Question(id=NO_WAY_BACK, text=text)]


def _hub_away(facts: Facts) -> list[str]:
    if not facts.model.hub_problem or not is_whole_on_disk(facts):
        return []
    return [f"the Hub did not answer ({facts.model.hub_problem}); the pinned commit is whole on disk, so the plan goes on without it"]


def _current_silent(facts: Facts) -> list[str]:
    current, answers = facts.host.current, facts.host.current_answers
    if current is None or answers is True or facts.host.cutover is not None:
        return []
    why = f": {answers}" if isinstance(answers, Unread) else ""
    return [f"the current release {current.id} does not answer now{why}; going back to it may not bring an answer"]


def _remote_code_refused(recipe: Recipe, facts: Facts) -> list[str]:
    summary = facts.model.summary
    if isinstance(summary, Unread) or not summary.has_remote_code or recipe.serve.args.get("trust-remote-code"):
        return []
    return [
        "the repository brings Python code of its own and the recipe does not set trust-remote-code: the engine must know the model itself"
    ]


def _no_tokenizer(recipe: Recipe, facts: Facts) -> list[str]:
    manifest, args = facts.model.manifest, recipe.serve.args
    if isinstance(manifest, Unread) or args.get("skip-tokenizer-init") or args.get("tokenizer"):
        return []
    if not lacks_tokenizer(file.path for file in manifest.files):
        return []
    return [
        "no tokenizer of a known form comes with the weights (tokenizer.json, tekken.json, *.model, *.tiktoken, vocab.json and merges.txt): an engine "
        "that needs one does not start; take it in with model.include, or set skip-tokenizer-init"
    ]


def _context_too_long(recipe: Recipe, facts: Facts) -> list[str]:
    summary, asked = facts.model.summary, recipe.serve.args.get("max-model-len")
    if isinstance(summary, Unread) or summary.max_positions is None or not isinstance(asked, int) or asked <= summary.max_positions:
        return []
    return [f"max-model-len {asked} is longer than the {summary.max_positions} positions that config.json states"]


def _memory_small(recipe: Recipe, facts: Facts) -> list[str]:
    available, manifest = facts.host.memory_bytes, facts.model.manifest
    if recipe.serve.gpus or isinstance(available, Unread) or isinstance(manifest, Unread) or manifest.bytes_total <= available:
        return []
    return [f"the weights take {say_bytes(manifest.bytes_total)} and {say_bytes(available)} of memory are available now"]


def _open_endpoint(recipe: Recipe) -> list[str]:
    serve = recipe.serve
    if serve.bind in LOOPBACK or serve.api_key:
        return []
    return [f"the endpoint listens on {serve.bind} without a key: whoever reaches this host can use it"]


def _port_of_outgoing(port: int, facts: Facts) -> list[str]:
    outgoing = facts.host.outgoing_ports
    if isinstance(outgoing, Unread) or port not in outgoing:
        return []
    return [
        f"port {port} is one that the kernel gives to outgoing connections ({outgoing.ports.first} to {outgoing.ports.last}): one may hold it in the "
        f"moment of a switch, and then neither model can listen there; choose a port outside, or keep this one out of them "
        f"(sysctl net.ipv4.ip_local_reserved_ports={port})"
    ]


def _same_release(facts: Facts, candidate: Release | None) -> list[str]:
    current = facts.host.current
    if current is None or candidate is None or current.id != candidate.id or facts.host.current_answers is True:
        return []
    return ["the candidate is the current release itself: the switch starts it again, and there is nothing else to go back to"]


def _settings_changed(facts: Facts, candidate: Release | None) -> list[str]:
    current = facts.host.current
    if current is None or candidate is None or not is_serving(facts, candidate) or not (names := changed_settings(current, candidate)):
        return []
    return [
        f"{current.id} was frozen with other {', '.join(names)}: a run writes those of the recipe into its record, and touches nothing else"
    ]
