"""Prove an installed environment: what was resolved is there, byte for byte, fits together, imports, and can be read by who serves from it."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from modelpivot.errors import CommandFailed, IntegrityError, PreconditionError
from modelpivot.facts.access import find_closed
from modelpivot.facts.engine import ask_engine
from modelpivot.facts.environments import StoredProof, answers_file, environment_python, proof_file, read_stamp
from modelpivot.facts.lock import parse_pins
from modelpivot.facts.records import find_altered
from modelpivot.facts.uv import Uv
from modelpivot.files import digest_text, write_model
from modelpivot.models.engine import Engine, EngineAnswers, EnvironmentProof, Resolution
from modelpivot.models.event import Tell
from modelpivot.models.host import HostConfig
from modelpivot.operations.build import run_uv
from modelpivot.operations.proof import judge_answers, judge_freeze, judge_gpus, judge_pip_check

SHOWN = 8


def prove_environment(uv: Uv, host: HostConfig, path: Path, resolution: Resolution, engine: Engine, tell: Tell) -> EnvironmentProof:
    """Freeze, RECORD digests, `uv pip check`, import of the compiled parts, version; the proof is written when all of it holds.

    IntegrityError names every finding; PreconditionError when the engine's user cannot read it; CommandFailed when the engine does not import.
    """
    tell("log", f"proving {path.name}: freeze, digests of every file, dependencies, import of {engine.module}")
    with ThreadPoolExecutor(1) as pool:
        altered = pool.submit(find_altered, path)
        freeze = run_uv(uv, ["pip", "freeze", "--python", environment_python(path)]).stdout
        check = run_uv(uv, ["pip", "check", "--python", environment_python(path)], is_checked=False)
        _require_readable(path, host.engine_user)
        answers = _try_import(path, engine)
        findings = judge_freeze(resolution.pins, parse_pins(freeze)) + altered.result()
    _require_none(path, findings + judge_pip_check(check.stdout + check.stderr, engine, resolution.excluded))
    if isinstance(answers, CommandFailed):
        raise answers
    _require_none(path, judge_answers(answers, engine, resolution))
    for warning in judge_gpus(answers, engine):
        tell("warning", warning)
    write_model(answers_file(path), answers)
    proof = EnvironmentProof(
        path=path,
        engine=resolution.engine,
        engine_version=answers.version,
        freeze_digest=digest_text(freeze),
        packages=len(resolution.pins),
        proved_at=time.time(),
        new=True,
    )
    write_model(proof_file(path), StoredProof(proof=proof, stamp=read_stamp(path)))
    return proof


def _try_import(path: Path, engine: Engine) -> EngineAnswers | CommandFailed:
    """While files are still hashed: what is wrong with them says more than the import that fails over it."""
    try:
        return ask_engine(path, engine)
    except CommandFailed as error:
        return error


def _require_none(path: Path, findings: list[str]) -> None:
    if findings:
        shown = "; ".join(findings[:SHOWN]) + (f"; and {len(findings) - SHOWN} more" * (len(findings) > SHOWN))
        raise IntegrityError(
            f"{path} is not what was resolved: {shown}", hint="run it again: it is built from scratch, nothing else uses it"
        )


def _require_readable(path: Path, user: str | None) -> None:
    if user and (closed := find_closed(path, user)):
        more = f" and {len(closed) - SHOWN} more" if len(closed) > SHOWN else ""
        hint = "move the environments root (MODELPIVOT_ENVIRONMENTS_ROOT) or the interpreter (MODELPIVOT_PYTHON), or open what is named"
        raise PreconditionError(f"{path}: the engine's user {user} cannot read {', '.join(closed[:SHOWN])}{more}", hint=hint)
