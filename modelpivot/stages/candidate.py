"""Check engine: the candidate held against its own environment before anything is stopped. Loads no weights, changes nothing but caches."""

from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter

from modelpivot.errors import GateFailed, PreconditionError
from modelpivot.facts.engine import BESIDE_LIVE, ask_engine, ask_inside
from modelpivot.facts.environments import read_answers
from modelpivot.models.benchmark import Check
from modelpivot.models.counted import counted
from modelpivot.models.json_text import read_json
from modelpivot.models.release import Release
from modelpivot.plans.candidate import judge_candidate
from modelpivot.recipes import read_engine
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.state.runs import Journal


def check_candidate(context: Context, release: Release) -> list[Check]:
    """What the target environment's engine says of the frozen release; GateFailed carries every check that failed.

    CommandFailed when the engine does not even import. About 20 s with vLLM the first time.
    """
    engine = read_engine(release.engine)
    with told(context.journal, "check engine", f"{engine.distribution} {release.engine_version} on {release.id}") as (tell, ending):
        answers = read_answers(release.environment_dir) or ask_engine(release.environment_dir, engine)
        accepted = ask_accepted(release, tell) if engine.module == "vllm" else None
        checks = judge_candidate(read_config(release), release.start.argv, answers, accepted, release.patches)
        failed = [str(check) for check in checks if not check.passed]
        ending.finish(
            f"{len(checks) - len(failed)} of {counted(len(checks), 'check')} passed",
            checks=[check.model_dump(mode="json") for check in checks],
        )
        if failed:
            hint = "mend the recipe, or name another engine version; nothing that serves was touched"
            raise GateFailed(f"the engine does not take the release: {'; '.join(failed)}", failed=failed, hint=hint)
    return checks


def ask_accepted(release: Release, tell: Journal) -> dict[str, JsonValue]:
    """The engine's own verdict on the release's flags, config.json and quantization block."""
    flags = release.start.argv[release.start.argv.index("--model") :]
    answer = ask_inside(release.environment_dir, "accepts.py", ["--", *flags], release.start.environment | BESIDE_LIVE)
    if answer.pop("cuda_context", False):
        tell("warning", "asking the engine made a CUDA context: for that moment it took GPU memory beside what serves")
    if "unasked" in answer:
        tell("warning", f"the engine's own verdict on the release is skipped: {answer['unasked']}")
    return answer


def read_config(release: Release) -> Mapping[str, JsonValue]:
    """config.json of the view, patches included; empty for weights that have none (GGUF). PreconditionError when it is no JSON object."""
    path = release.view_dir / "config.json"
    if not path.exists():
        return {}
    try:
        return TypeAdapter(dict[str, JsonValue]).validate_python(read_json(path.read_text()))
    except ValueError as error:
        raise PreconditionError(f"{path}: expected a JSON object, found {error}", hint="the model's repository is broken") from error
