"""What was measured, beside the workload: host, model, engine and how it is started. Reading changes nothing."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from modelpivot.facts.environments import read_stored
from modelpivot.facts.gpus import read_gpus
from modelpivot.files import digest_text
from modelpivot.models.benchmark import Setup
from modelpivot.models.facts import Gpus
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.release import Release
from modelpivot.models.size import say_bytes

PLACES = ("--model", "--served-model-name", "--host", "--port", "--api-key")
"""Flags that say where something lies or answers, not how it is served; each has one value."""
CPU_NAME = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)
MEMORY = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)


def read_setup(host: HostConfig, release: Release) -> Setup:
    """The set-up of a release on this host; what cannot be read is left empty."""
    gpus, proof, machine = read_gpus(), read_stored(release.environment_dir), os.uname()
    seen = gpus if isinstance(gpus, Gpus) and release.gpus else Gpus()
    return Setup(
        host=host.name if host.name != HostConfig().name else machine.nodename,
        gpus=[f"{gpu.name} {_say_memory(gpu.total_bytes)}".strip() for gpu in seen.gpus],
        driver=next((gpu.driver for gpu in seen.gpus if isinstance(gpu.driver, str)), ""),
        cpus=f"{os.cpu_count()} x {_find(CPU_NAME, Path('/proc/cpuinfo')) or machine.machine}",
        memory_bytes=int(kilobytes) * 1024 if (kilobytes := _find(MEMORY, Path("/proc/meminfo"))) else None,
        kernel=machine.release,
        repo=release.repo,
        commit=release.commit,
        patches=release.patches,
        engine=release.engine,
        engine_version=release.engine_version,
        freeze_digest=proof.proof.freeze_digest if proof else "",
        argv=without_places(release.start.argv[1:]),
        environment=without_paths(release.start.environment),
    )


def digest_setup(setup: Setup) -> str:
    """sha256: results with the same one may be pooled. Memory and kernel are told and not held against it: they change with a boot."""
    return digest_text(setup.model_dump_json(exclude={"memory_bytes", "kernel"}))


def without_places(words: Iterable[str]) -> list[str]:
    """The command line less the flags that only name places."""
    kept, is_value = [], False
    for word in words:
        is_place = is_value or word.partition("=")[0] in PLACES
        is_value = not is_value and word in PLACES
        if not is_place:
            kept.append(word)
    return kept


def without_paths(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables less those that hold absolute paths."""
    return {name: value for name, value in sorted(variables.items()) if not value.startswith("/")}


def _say_memory(size: int | Unread) -> str:
    return "" if isinstance(size, Unread) else say_bytes(size)


def _find(pattern: re.Pattern[str], file: Path) -> str:
    try:
        match = pattern.search(file.read_text())
    except OSError:
        return ""
    return match[1].strip() if match else ""
