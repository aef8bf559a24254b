"""What uv would install for an engine: exact versions with hashes. Changes nothing but uv's cache; needs the package index unless the host
already has an environment for the same request, whose lock then answers (a release must not move because a package appeared meanwhile).
"""

import platform
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from modelpivot.errors import CommandFailed, PreconditionError, UsageError
from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.lock import parse_pins, parse_yanked
from modelpivot.facts.uv import Uv, build_environment, read_uv
from modelpivot.files import digest_text, read_model
from modelpivot.host import run_command
from modelpivot.models.cuda import backend_for, driver_cuda, parse_cuda
from modelpivot.models.engine import Engine, Pin, Request, Resolution, Unresolved
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.locked import resolved_packages
from modelpivot.models.names import canonical
from modelpivot.models.recipe import EngineChoice

DEADLINE_S = 300.0
KEPT = ".modelpivot/resolution.json"
"""Below an environment: the resolution it was made of."""
NIGHTLY = "nightly"
NO_LOCAL_TORCH = re.compile(r"no version of torch(\{[^}]*\})?==\S*\+")
NO_WHEEL = re.compile(
    r"has no (usable )?wheels|no wheels with a matching|there (is|are) no versions? of|was not found in the (package registry|provided package locations)"
    r"|only the following versions? of .* (is|are) available"
)
NO_BACKEND = re.compile(r"invalid value '[^']*' for '--torch-backend")
AWAY = re.compile(r"failed to fetch|error sending request|dns error|timed out|connection (refused|reset)", re.IGNORECASE)


class Answer(NamedTuple):
    """What is known: the resolution, or why there is none."""

    resolution: Resolution | Unread
    problem: Unresolved | None = None


def read_resolution(host: HostConfig, engine: Engine, choice: EngineChoice) -> Resolution | Unread:
    """The resolution; Unread with uv's last lines when there is none (no network, nothing that fits, no uv)."""
    return resolve_choice(host, engine, choice).resolution


def resolve_choice(host: HostConfig, engine: Engine, choice: EngineChoice, *, is_fresh: bool = False) -> Answer:
    """The resolution of a recipe's engine on this host, or why there is none. `is_fresh`: the index is asked whatever was kept. UsageError for a
    torch_backend that uv does not know."""
    try:
        if choice.resolution and (pinned := find_pinned(host, engine.name, choice.resolution)):
            return Answer(pinned)
        request = read_request(host, engine, choice)
        if not is_fresh and request.version != NIGHTLY and (kept := find_kept(host, request)):
            return Answer(kept)
        return Answer(_resolve(read_uv(host), host, request, engine))
    except CommandFailed as error:
        said = [line for line in error.last_lines if not line.startswith("warning:")] or [error.message]
        return Answer(Unread(unread="; ".join(said)), judge_words("\n".join(said)))
    except UsageError:
        raise
    except PreconditionError as error:
        return Answer(Unread(unread=str(error)), "no_tool")


def judge_words(said: str) -> Unresolved:
    """Pure: uv's words for why it found nothing, in one."""
    if AWAY.search(said):
        return "unreachable"
    if NO_WHEEL.search(said):
        return "no_wheel"
    return "no_tool" if "does not start" in said else "conflict"


def read_request(host: HostConfig, engine: Engine, choice: EngineChoice) -> Request:
    """The request of a recipe on this host. CommandFailed when the interpreter does not run; PreconditionError for a nightly without an index."""
    is_nightly = choice.channel == NIGHTLY
    if is_nightly and not host.nightly_index:
        raise PreconditionError(
            "the recipe wants a nightly engine and this host knows no index of nightlies", hint="set MODELPIVOT_NIGHTLY_INDEX"
        )
    version = choice.version or (NIGHTLY if is_nightly else engine.tested[0])
    return Request(
        engine=engine.name,
        version=version,
        requirements=[_with_version(line, version) for line in choice.requirements or engine.requirements] + choice.extra_requirements,
        excluded=sorted({*engine.exclude_packages, *choice.exclude_packages}),
        python=read_python_version(host),
        overrides=choice.overrides,
        index=host.nightly_index if is_nightly else None,
        torch_backend=read_backend(choice.torch_backend or ("driver" if engine.torch_backend == "driver" else None)),
        build=choice.build,
    )


def _with_version(line: str, version: str) -> str:
    """A requirement for a version; a nightly is any version, development ones too."""
    return line.replace("=={version}", ">=0.dev0") if version == NIGHTLY else line.format(version=version)


def read_backend(stated: str | None) -> str | None:
    """uv's `--torch-backend` as it is stated, or as the driver wants it. PreconditionError when there is no driver to ask."""
    if stated != "driver":
        return stated
    gpus = read_gpus()
    reason = str(gpus) if isinstance(gpus, Unread) else "this host has no GPU"
    for gpu in [] if isinstance(gpus, Unread) else gpus.gpus:
        offered = parse_cuda(str(gpu.cuda)) or driver_cuda(str(gpu.driver))
        if offered and (backend := backend_for(offered)):
            return backend
        reason = f"driver {gpu.driver} offers no CUDA that PyTorch is published for"
    raise PreconditionError(f"torch_backend: driver: {reason}", hint="state the CUDA in the recipe, such as torch_backend: cu128")


def interpreter(host: HostConfig) -> str:
    """The interpreter that engine environments are made with."""
    return host.python or sys.executable


def read_python_version(host: HostConfig) -> str:
    """`3.11.7`, of the interpreter that engine environments are made with."""
    if host.python is None:
        return platform.python_version()
    return run_command([host.python, "-c", "import platform; print(platform.python_version())"], timeout_s=20).stdout.strip()


def find_kept(host: HostConfig, request: Request) -> Resolution | None:
    """The resolution of an environment on this host that was made for this very request, proved or only begun."""
    for path in sorted(host.environments_root.glob(f"{request.engine}-*-*/{KEPT}")):
        kept = read_model(path, Resolution)
        if kept and kept.request == request.digest:
            return kept
    return None


def find_pinned(host: HostConfig, engine: str, digest: str) -> Resolution | None:
    """The resolution with this digest, where its environment was begun on this host."""
    kept = [read_model(path, Resolution) for path in host.environments_root.glob(f"{engine}-*-{digest}/{KEPT}")]
    return next((resolution for resolution in kept if resolution and resolution.engine == engine), None)


def _resolve(uv: Uv, host: HostConfig, request: Request, engine: Engine) -> Resolution:
    fallback = None if request.torch_backend else engine.torch_backend
    try:
        return _compile(uv, host, request, engine, request.torch_backend)
    except CommandFailed as error:
        if fallback is None or not NO_LOCAL_TORCH.search("\n".join(error.last_lines)):
            raise
        plain = error
    try:
        return _compile(uv, host, request, engine, fallback)
    except CommandFailed as error:
        error.last_lines = (*plain.last_lines[-6:], f"and with --torch-backend {fallback}:", *error.last_lines[-6:])
        raise


def _compile(uv: Uv, host: HostConfig, request: Request, engine: Engine, torch_backend: str | None) -> Resolution:
    with tempfile.TemporaryDirectory(prefix="modelpivot-resolve-") as folder:
        requirements, overrides = Path(folder, "requirements.in"), Path(folder, "overrides.txt")
        requirements.write_text("\n".join(request.requirements) + "\n")
        argv: list[str | Path] = [uv.path, "pip", "compile", requirements, "--python", interpreter(host)]
        if lines := leave_out(request.excluded) + "".join(f"{line}\n" for line in request.overrides):
            overrides.write_text(lines)
            argv += ["--overrides", overrides]
        argv += ["--generate-hashes", "--no-header", "--no-annotate", *compile_flags(request, engine, torch_backend)]
        try:
            said = run_command(argv, timeout_s=DEADLINE_S, env=build_environment(uv, host, request.build), cwd=Path(folder))
        except CommandFailed as error:
            if NO_BACKEND.search(words := " ".join(" ".join(error.last_lines).split())):
                raise UsageError(f"torch_backend: {words}", hint="state one that uv names, or use a newer uv") from error
            raise
    return make_resolution(request, said.stdout, torch_backend, parse_yanked(said.stderr), distribution=engine.distribution)


def compile_flags(request: Request, engine: Engine, torch_backend: str | None) -> list[str]:
    """Pure: uv's flags for a request. The engine itself is never built by chance where its wheel does not fit this machine, and a
    nightly index is asked anew whatever uv still remembers of it."""
    is_built = engine.distribution in request.build.from_source or any("git+" in line for line in request.requirements)
    flags = [] if is_built else ["--only-binary", engine.distribution]
    flags += ["--torch-backend", torch_backend] if torch_backend else []
    if request.index:
        flags += ["--index", request.index, "--index-strategy", "first-index", "--prerelease", "if-necessary-or-explicit"]
        flags += ["--refresh-package", engine.distribution]
    return flags


def leave_out(names: list[str]) -> str:
    """uv overrides that no interpreter fulfils: the packages are left out of the resolution."""
    return "".join(f'{name} ; python_version < "3"\n' for name in names)


def make_resolution(
    request: Request, lock_text: str, torch_backend: str | None = None, yanked: list[str] | None = None, *, distribution: str | None = None
) -> Resolution:
    """Pure: the resolution that a lock text is. The digest names the environment and holds the lock, the exclusions and Python."""
    pins = parse_pins(lock_text)
    return Resolution(
        engine=request.engine,
        engine_version=_engine_version(request, pins, distribution) if distribution else request.version,
        pins=pins,
        lock_text=lock_text,
        digest=digest_text(lock_text, *request.excluded, request.python)[:10],
        python=request.python,
        request=request.digest,
        excluded=request.excluded,
        torch_backend=torch_backend,
        yanked=yanked or [],
        asked=request,
    )


def _engine_version(request: Request, pins: list[Pin], distribution: str) -> str:
    """The engine's own version among the pins; the start of the commit where git gives none."""
    package = next((one for one in resolved_packages(pins) if one.name == canonical(distribution)), None)
    if package is None:
        return request.version
    if package.commit:
        return f"git{package.commit[:10]}"
    return package.version if "/" not in package.version else request.version
