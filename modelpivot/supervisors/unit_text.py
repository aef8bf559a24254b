"""The text of our systemd units, rendered from a release alone out of `modelpivot/templates`. Pure; needs systemd 244 or later to be read as meant.

A value goes in quoted, so that it arrives as it stands; one that cannot arrive (control characters, bytes that are no UTF-8) is refused.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template

from modelpivot.errors import PreconditionError
from modelpivot.files import digest_text
from modelpivot.models.release import Release

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
RECOVER_UNIT = "modelpivot-recover.service"
ANYWHERE = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "")
LINE_BYTES = 1_000_000
"""Longest line that systemd reads: 1 MiB."""
USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}|[0-9]{1,9}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
UNIT_NAME = re.compile(r"[A-Za-z0-9:_.@\\-]{1,240}\.(service|target)")
QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "%": "%%"})
NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufdd0-\ufdef]")
"""Characters that systemd refuses wherever they stand; so are the last two of every plane, and half surrogates."""
EXECUTABLE_FORBIDS = "\"'\\"
"""systemd refuses them in the name of a program, quoted or not."""
PATH_FORBIDS = "\"'\\*?[]"
"""What a path setting would read as quotes, as an escape or as a pattern."""


def unit_name(release: Release) -> str:
    """The unit of a release: our own, or the foreign one that it was adopted from."""
    return release.name if release.origin == "adopted" else f"modelpivot-{release.id}.service"


def render_engine(release: Release, secrets: Path) -> str:
    """The unit's full text. PreconditionError names the value that no unit can carry. `secrets`: the environment file, if the release needs one."""
    start = release.start
    lines = [f"Environment={quote(f'{name}={value}', f'variable {name}')}" for name, value in _environment(start.environment).items()]
    if release.endpoint.api_key_file is not None:
        lines.append(f"EnvironmentFile={plain_path(secrets, 'environment file')}")
    return _render(
        "engine.service",
        mark=mark_of(release),
        release_id=quote_plain(release.id, "release id"),
        served_name=quote_plain(release.endpoint.served_name, "served name"),
        mounts=mounts(start.working_directory, release.environment_dir, release.weights_dir),
        # an address of its own is there only when the network is up
        wants="network-online.target" if release.endpoint.bind not in ANYWHERE else "",
        user=_user(start.user or "root"),
        working_directory=plain_path(start.working_directory, "working directory"),
        environment="\n".join(lines),
        exec_start=quote_command(start.argv),
        stop_s=f"{release.deadlines.stop_s:g}",
    )


def mark_of(release: Release) -> str:
    """Names what a unit's text is made of: the same mark, the same text by one version of this program."""
    paths = [str(release.environment_dir), str(release.weights_dir)]
    inputs = [release.start.model_dump_json(), release.endpoint.model_dump_json(), f"{release.deadlines.stop_s:g}", *paths]
    return f"made of {digest_text(release.id, *inputs)[:16]}"


def render_recover(argv: Sequence[str], environment: Mapping[str, str], private: Path, state: Path, before: Iterable[str]) -> str:
    """The boot unit: runs `argv` before `before`, which names foreign units too. `environment`: what all may read; `private`: the file of what not."""
    return _render(
        "recover.service",
        mounts=mounts(state, Path(sys.prefix)),
        before=" ".join(["multi-user.target", *(_unit(name) for name in before)]),
        environment="\n".join(f"Environment={quote(f'{name}={value}', f'variable {name}')}" for name, value in environment.items()),
        environment_file=plain_path(private, "environment file"),
        exec_start=quote_command(argv),
    )


def render_variables(variables: Mapping[str, str]) -> str:
    """An environment file of whatever a configuration holds. PreconditionError names the value that none can carry."""
    for name, value in variables.items():
        _check(value, f"variable {name}")
    return "".join(f'{name}="{_escaped(value)}"\n' for name, value in variables.items())


def render_secrets(secrets: Mapping[str, str]) -> str:
    """An environment file: what a unit must know and its text must not show."""
    return "".join(f'{name}="{_shell_quoted(value, name)}"\n' for name, value in secrets.items())


def quote_command(argv: Sequence[str]) -> str:
    """The words of a command line as ExecStart takes them behind its colon."""
    program = argv[0] if argv else ""
    if not program.startswith("/") or any(char in EXECUTABLE_FORBIDS for char in program):
        raise _refused("program", program, "an absolute path without quotes and backslashes")
    return " ".join(quote(word, f"word {number} of the command line") for number, word in enumerate(argv))


def quote(value: str, what: str) -> str:
    """A value in double quotes that systemd reads back unchanged."""
    _check(value, what)
    return f'"{value.translate(QUOTED)}"'


def quote_plain(value: str, what: str) -> str:
    """A value for a setting that takes its line as it stands."""
    _check(value, what)
    if value != value.strip() or any(char in "\\\n\t" for char in value):
        raise _refused(what, value, "a text of one line without backslashes and without blanks at its ends")
    return value.replace("%", "%%")


def plain_path(path: Path, what: str) -> str:
    """A path for a setting that takes its line as it stands."""
    text = str(path)
    if not path.is_absolute() or any(char in PATH_FORBIDS for char in text):
        raise _refused(what, text, f"an absolute path without any of {PATH_FORBIDS}")
    return quote_plain(text, what)


def mounts(*paths: Path) -> str:
    """Paths for RequiresMountsFor: the unit waits for the file systems that they lie on."""
    return " ".join(f'"{plain_path(path, "path")}"' for path in dict.fromkeys(paths))


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """SPT_NOENV keeps the variables readable in /proc when the engine renames its processes."""
    for name in variables:
        if not VARIABLE.fullmatch(name):
            raise _refused("variable name", name, "letters, digits and _")
    return {"LANG": "C.UTF-8", "SPT_NOENV": "1", **variables}


def _check(value: str, what: str) -> None:
    if NOT_TEXT.search(value) or any("\ud800" <= char <= "\udfff" or ord(char) & 0xFFFE == 0xFFFE for char in value):
        raise _refused(what, value, "UTF-8 without control characters")
    if 2 * len(value.encode()) > LINE_BYTES:
        raise _refused(what, value, f"less than {LINE_BYTES // 2} bytes")


def _shell_quoted(value: str, what: str) -> str:
    if any(ord(char) < 32 or ord(char) >= 127 for char in value):
        raise PreconditionError(f"{what}: expected one line of ASCII without control characters", hint="write the secret's file anew")
    return _escaped(value)


def _escaped(value: str) -> str:
    return re.sub(r'(["\\$`])', r"\\\1", value)


def _user(name: str) -> str:
    if not USER.fullmatch(name):
        raise _refused("user", name, "the name of a system user")
    return name


def _unit(name: str) -> str:
    if not UNIT_NAME.fullmatch(name):
        raise _refused("unit", name, "the name of a service")
    return name


def _refused(what: str, value: str, expected: str) -> PreconditionError:
    shown = value if len(value) < 80 else f"{value[:76]}..."
    return PreconditionError(
        f"{what}: expected {expected}, found {shown!r}: a systemd unit cannot carry it",
        hint="change it in the recipe or the host configuration",
    )


def _render(template: str, **values: str) -> str:
    return Template((TEMPLATES / template).read_text()).substitute(values)
