"""A service that was not made by us, as systemd holds it: exact command line, environment and files. Reads only; needs systemctl, busctl and root.

    $ busctl --json=short get-property org.freedesktop.systemd1 /org/freedesktop/systemd1/unit/vllm_2dglm5_2eservice \\
          org.freedesktop.systemd1.Service ExecStart
    {"type":"a(sasbttttuii)","data":[["/opt/venv/bin/vllm",["vllm","serve","/pool/glm5.gguf"],false,0,0,0,0,0,0,0]]}
"""

import json
import re
from pathlib import Path
from typing import Any

from pydantic import Field

from modelpivot.errors import CommandFailed, PreconditionError
from modelpivot.host import run_command
from modelpivot.models.cutover import ProcessId
from modelpivot.models.frozen import Frozen
from modelpivot.supervisors.control_group import read_group_processes
from modelpivot.supervisors.systemctl import CALL_S, show

SERVICE = "org.freedesktop.systemd1.Service"
UNIT = "org.freedesktop.systemd1.Unit"
SERVICE_NAME = re.compile(r"[A-Za-z0-9:_.@\\-]{1,240}\.service")
CONTAINER_TOOLS = ("docker", "docker-compose", "podman", "podman-compose", "nerdctl", "ctr", "conmon")
CONTAINER_CALL = re.compile(r"(?:^|[\s/;&|'\"(])(docker|podman|nerdctl)(?:-compose)?\s[^\n;&|]*\b(?:run|start|up|exec|create)\b")
SCRIPT_BYTES = 65_536


class UnitFile(Frozen):
    """One file of a unit: its fragment or a drop-in."""

    path: Path
    text: str
    """Byte for byte, as latin-1."""


class ForeignUnit(Frozen):
    """A service as systemd holds it."""

    name: str
    type: str
    program: str
    argv: list[str]
    """As the unit says it: specifiers are replaced, variables are not."""
    environment: dict[str, str]
    """Set by the unit's text and its environment files."""
    user: str | None
    working_directory: Path
    stop_s: float | None
    """TimeoutStopSec in seconds; None: it waits for ever."""
    other_commands: list[list[str]] = Field(default_factory=list)
    """ExecStartPre, ExecStartPost, ExecStop, ExecStopPost."""
    files: list[UnitFile]
    """The fragment first, then the drop-ins in their order."""
    source: str = ""
    """What the unit was generated from; empty: it was not."""
    main: ProcessId | None = None
    processes: list[ProcessId] = Field(default_factory=list)
    """All that run in it now."""
    command_names: list[str] = Field(default_factory=list)
    """Names of its processes."""


def read_foreign_unit(name: str) -> ForeignUnit:
    """The unit. PreconditionError when there is no such service, or it starts no single program."""
    if not SERVICE_NAME.fullmatch(name):
        raise PreconditionError(
            f"unit: expected the name of a service, found {name!r}", hint="systemctl list-units --type=service names them"
        )
    facts = show(name)
    if facts["LoadState"] != "loaded":
        raise PreconditionError(
            f"{name}: expected a loaded unit, found {facts['LoadState']}", hint="systemctl status tells what is wrong with it"
        )
    service = _read_properties(
        name,
        SERVICE,
        "Type ExecStart ExecStartPre ExecStartPost ExecStop ExecStopPost Environment EnvironmentFiles User WorkingDirectory TimeoutStopUSec",
    )
    unit = _read_properties(name, UNIT, "FragmentPath DropInPaths SourcePath")
    if len(service["ExecStart"]) != 1:
        raise PreconditionError(
            f"{name}: expected one program to start, found {len(service['ExecStart'])}", hint="adopt a unit that is one engine"
        )
    processes = read_group_processes({facts["ControlGroup"]}, {facts["InvocationID"]})
    return ForeignUnit(
        name=name,
        type=service["Type"],
        program=service["ExecStart"][0][0],
        argv=service["ExecStart"][0][1],
        environment=_read_environment(service),
        user=service["User"] or None,
        working_directory=Path(service["WorkingDirectory"].lstrip("!-") or "/"),
        stop_s=_seconds(service["TimeoutStopUSec"]),
        other_commands=[entry[1] for key in ("ExecStartPre", "ExecStartPost", "ExecStop", "ExecStopPost") for entry in service[key]],
        files=[UnitFile(path=path, text=path.read_bytes().decode("latin-1")) for path in map(Path, _paths(unit))],
        source=unit["SourcePath"],
        main=next((process for process in processes if process.pid == facts.main_pid), None),
        processes=processes,
        command_names=sorted({_command_name(process.pid) for process in processes} - {""}),
    )


def find_container_tool(unit: ForeignUnit) -> str | None:
    """The container tool that runs the unit's engine, by its commands, its script, its source and its processes; None: there is none."""
    commands = [[unit.program, *unit.argv[1:]], *unit.other_commands]
    words = [Path(word).name for argv in commands for word in argv[:1]] + unit.command_names
    if named := next((word for word in words if word in CONTAINER_TOOLS), None):
        return named
    texts = [" ".join(argv) for argv in commands] + [_read_script(word) for argv in commands for word in argv[:2]]
    if called := next((found.group(1) for text in texts if (found := CONTAINER_CALL.search(text))), None):
        return called
    return "podman" if unit.source.endswith((".container", ".kube", ".pod")) else None


def object_path(name: str) -> str:
    """Where D-Bus has the unit."""
    escaped = "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):02x}" for char in name)
    return f"/org/freedesktop/systemd1/unit/{escaped}"


def parse_environment_file(text: str) -> dict[str, str]:
    """The assignments of an environment file, simple quotes removed; lines that are none are passed over."""
    pairs = (line.strip().split("=", 1) for line in text.splitlines() if "=" in line and line.strip()[:1] not in ("#", ";"))
    return {name.strip(): _unquoted(value.strip()) for name, value in pairs}


def _read_properties(name: str, interface: str, properties: str) -> dict[str, Any]:
    names = properties.split()
    argv = ["busctl", "--json=short", "get-property", "org.freedesktop.systemd1", object_path(name), interface, *names]
    try:
        lines = run_command(argv, timeout_s=CALL_S).stdout.splitlines()
    except CommandFailed as error:
        raise PreconditionError(f"{name}: {error.message}", hint="adopting a unit needs busctl and a running D-Bus") from error
    return dict(zip(names, (json.loads(line)["data"] for line in lines), strict=True))


def _read_environment(service: dict[str, Any]) -> dict[str, str]:
    environment = dict(entry.split("=", 1) for entry in service["Environment"])
    for path, is_optional in service["EnvironmentFiles"]:
        try:
            environment |= parse_environment_file(Path(path).read_text(errors="replace"))
        except OSError as error:
            if not is_optional:
                raise PreconditionError(
                    f"environment file {path}: {error.strerror}", hint="the unit itself cannot start without it"
                ) from error
    return environment


def _paths(unit: dict[str, Any]) -> list[str]:
    return [path for path in (unit["FragmentPath"], *unit["DropInPaths"]) if path]


def _seconds(microseconds: int) -> float | None:
    return None if microseconds >= 2**63 else microseconds / 1e6


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _command_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _read_script(word: str) -> str:
    """The start of a file that is text, comments left out; empty for anything else."""
    try:
        with Path(word).open("rb") as file:
            content = file.read(SCRIPT_BYTES)
    except (OSError, ValueError):
        return ""
    lines = [] if b"\0" in content else content.decode(errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))
