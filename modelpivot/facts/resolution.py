"""What uv would install for an engine: exact versions with hashes. Changes nothing but uv's cache; needs the package index unless the host
already has an environment for the same request, whose lock then answers (a release must not move because a package appeared meanwhile).

    aiohttp==3.14.5 \\
        --hash=sha256:0133c3c3... \\
        --hash=sha256:01d2bf1a...
"""

import platform
import re
import sys
import tempfile
from pathlib import Path

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.facts.uv import Uv, read_uv
from modelpivot.files import digest_text, read_model
from modelpivot.host import run_command
from modelpivot.models.engine import Engine, Pin, Resolution
from modelpivot.models.frozen import Frozen, Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice

DEADLINE_S = 300.0
KEPT = ".modelpivot/resolution.json"
"""Below an environment: the resolution it was made of."""
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:==(?P<version>[^\s;\\]+)| @ (?P<url>\S+))", re.MULTILINE)
NO_LOCAL_TORCH = re.compile(r"no version of torch(\{[^}]*\})?==\S*\+")


class Request(Frozen):
    """What is asked of the resolver; the same request on a host gives the same environment."""

    engine: str
    version: str
    requirements: list[str]
    excluded: list[str]
    python: str

    @property
    def digest(self) -> str:
        """sha256 over the whole request."""
        return digest_text(self.model_dump_json())


def read_resolution(host: HostConfig, engine: Engine, choice: EngineChoice) -> Resolution | Unread:
    """The resolution; Unread with uv's last lines when there is none (no network, nothing that fits, no uv)."""
    try:
        request = read_request(host, engine, choice)
        return find_kept(host, request) or _resolve(read_uv(host), interpreter(host), request, engine.torch_backend)
    except CommandFailed as error:
        return Unread(unread="; ".join(error.last_lines) or error.message)
    except PreconditionError as error:
        return Unread(unread=str(error))


def read_request(host: HostConfig, engine: Engine, choice: EngineChoice) -> Request:
    """The request of a recipe on this host. CommandFailed when the interpreter does not run."""
    version = choice.version or engine.tested[0]
    return Request(
        engine=engine.name,
        version=version,
        requirements=[line.format(version=version) for line in engine.requirements] + choice.extra_requirements,
        excluded=sorted({*engine.exclude_packages, *choice.exclude_packages}),
        python=read_python_version(host),
    )


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
    for path in sorted(host.environments_root.glob(f"{request.engine}-{request.version}-*/{KEPT}")):
        kept = read_model(path, Resolution)
        if kept and kept.request == request.digest:
            return kept
    return None


def _resolve(uv: Uv, python: str, request: Request, torch_backend: str | None) -> Resolution:
    try:
        return make_resolution(request, _compile(uv, python, request, None))
    except CommandFailed as error:
        if torch_backend is None or not NO_LOCAL_TORCH.search("\n".join(error.last_lines)):
            raise
        plain = error
    try:
        return make_resolution(request, _compile(uv, python, request, torch_backend), torch_backend)
    except CommandFailed as error:
        error.last_lines = (*plain.last_lines[-6:], f"and with --torch-backend {torch_backend}:", *error.last_lines[-6:])
        raise


def _compile(uv: Uv, python: str, request: Request, torch_backend: str | None) -> str:
    with tempfile.TemporaryDirectory(prefix="modelpivot-resolve-") as folder:
        requirements, overrides = Path(folder, "requirements.in"), Path(folder, "overrides.txt")
        requirements.write_text("\n".join(request.requirements) + "\n")
        overrides.write_text(leave_out(request.excluded))
        argv: list[str | Path] = [uv.path, "pip", "compile", requirements, "--overrides", overrides, "--python", python, "--quiet"]
        argv += ["--generate-hashes", "--no-header", "--no-annotate"]
        argv += ["--torch-backend", torch_backend] if torch_backend else []
        return run_command(argv, timeout_s=DEADLINE_S, env=uv.environment, cwd=Path(folder)).stdout


def leave_out(names: list[str]) -> str:
    """uv overrides that no interpreter fulfils: the packages are left out of the resolution."""
    return "".join(f'{name} ; python_version < "3"\n' for name in names)


def make_resolution(request: Request, lock_text: str, torch_backend: str | None = None) -> Resolution:
    """Pure: the resolution that a lock text is. The digest names the environment and holds the lock, the exclusions and Python."""
    return Resolution(
        engine=request.engine,
        engine_version=request.version,
        pins=parse_pins(lock_text),
        lock_text=lock_text,
        digest=digest_text(lock_text, *request.excluded, request.python)[:10],
        python=request.python,
        request=request.digest,
        excluded=request.excluded,
        torch_backend=torch_backend,
    )


def parse_pins(lock_text: str) -> list[Pin]:
    """Name and exact version (or direct address) of every package of a lock."""
    return [Pin(name=found["name"], version=found["version"] or found["url"]) for found in PIN.finditer(lock_text)]
