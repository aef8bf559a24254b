"""The newest version of an engine that an index has for this machine. Changes nothing but uv's cache; dependencies are not looked at: they
decide whether it can be installed, not what is newest.
"""

import tempfile
from pathlib import Path
from typing import NamedTuple

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.facts.lock import parse_pins
from modelpivot.facts.resolution import interpreter, judge_words
from modelpivot.facts.uv import Uv, build_environment, read_uv
from modelpivot.host import run_command
from modelpivot.models.engine import Engine, Unresolved
from modelpivot.models.host import HostConfig
from modelpivot.models.names import canonical
from modelpivot.models.recipe import BuildSettings
from modelpivot.models.upgrade import Channel

DEADLINE_S = 120.0
PRERELEASE: dict[Channel, str] = {"stable": "disallow", "pre-release": "allow", "nightly": "allow"}


class NoVersion(NamedTuple):
    """That there is none, in uv's words."""

    problem: Unresolved
    said: str


def read_newest(host: HostConfig, engine: Engine, channel: Channel) -> str | NoVersion:
    """The version; PreconditionError for a nightly on a host that knows no index of nightlies."""
    if channel == "nightly" and not host.nightly_index:
        raise PreconditionError("this host knows no index of nightlies", hint="set MODELPIVOT_NIGHTLY_INDEX, or test another channel")
    try:
        pins = parse_pins(_compile(read_uv(host), host, engine, channel))
    except CommandFailed as error:
        said = "\n".join(error.last_lines) or error.message
        return NoVersion(judge_words(said), "; ".join(error.last_lines) or error.message)
    return next(pin.version for pin in pins if canonical(pin.name) == canonical(engine.distribution))


def newest_flags(host: HostConfig, engine: Engine, channel: Channel) -> list[str]:
    """Pure: uv's flags; the engine is never built, and asked for anew whatever uv still remembers of it."""
    flags = ["--no-deps", "--no-header", "--no-annotate", "--only-binary", engine.distribution, "--prerelease", PRERELEASE[channel]]
    flags += ["--index", host.nightly_index, "--index-strategy", "first-index"] if channel == "nightly" and host.nightly_index else []
    return [*flags, "--refresh-package", engine.distribution]


def _compile(uv: Uv, host: HostConfig, engine: Engine, channel: Channel) -> str:
    with tempfile.TemporaryDirectory(prefix="modelpivot-newest-") as folder:
        requirements = Path(folder, "requirements.in")
        requirements.write_text(f"{engine.distribution}\n")
        argv: list[str | Path] = [
            uv.path,
            "pip",
            "compile",
            requirements,
            "--python",
            interpreter(host),
            *newest_flags(host, engine, channel),
        ]
        said = run_command(argv, timeout_s=DEADLINE_S, env=build_environment(uv, host, BuildSettings()), cwd=Path(folder))
    return said.stdout
