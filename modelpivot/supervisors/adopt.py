"""A foreign service taken as a release: stopped, and brought back, by its own name and its own text. Writes to the state alone.

<state>/releases/<id>/release.json   what is known of it; secrets masked
                      adopted.json   0600: its files as they stood, put back should they be gone when it must return
                      api_key        0600: the key that it asks for
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from modelpivot.errors import PreconditionError, UsageError
from modelpivot.files import digest_text, read_model, write_atomic, write_model
from modelpivot.models.frozen import Frozen
from modelpivot.models.recipe import Deadlines, Hooks, Probe
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import write_release
from modelpivot.supervisors.foreign_unit import ForeignUnit, UnitFile, find_container_tool, read_foreign_unit
from modelpivot.supervisors.systemctl import systemctl
from modelpivot.supervisors.unit_files import ReleaseUnitPaths

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
MASK = "***"
ENGINE_PORT = 8000
"""Where vLLM listens when its command line does not say."""
FOR_EVER_S = 600.0
"""Seconds that a unit gets to stop which gives itself no limit."""


class AdoptedFiles(Frozen):
    """A foreign unit's files as they stood when it was adopted (`adopted.json`)."""

    files: list[UnitFile]


@dataclass(frozen=True)
class Seen:
    """What is known of a foreign service beside its unit: measured, or said by a person. It goes before its command line."""

    gpus: int = 0
    port: int | None = None
    bind: str | None = None
    served_name: str | None = None
    model: str | None = None
    """Path or repository, where the command line tells none."""
    key: str | None = None
    engine_version: str = ""
    probes: list[Probe] = field(default_factory=lambda: [Probe(kind="answer")])
    hooks: Hooks = field(default_factory=Hooks)


def read_adopted_units(state: StatePaths) -> list[str]:
    """Names of the units that releases of this host were adopted from. A release that cannot be read is told on standard error and left out: it must
    not keep another one from being prepared."""
    found = []
    for path in sorted((state.root / "releases").glob("*/release.json")):
        try:
            release = read_model(path, Release)
        except (UsageError, OSError) as error:
            message = error.message if isinstance(error, UsageError) else f"{path}: {error.strerror}"
            print(f"{message}; it is left out of the boot unit", file=sys.stderr)
            continue
        found += [release.name] if release and release.origin == "adopted" else []
    return found


def adopt_unit(state: StatePaths, name: str, seen: Seen) -> Release:
    """Freeze a running foreign service as a release; idempotent. PreconditionError when it cannot be stopped and brought back whole."""
    unit = read_foreign_unit(name)
    refuse_what_cannot_return(unit)
    return freeze_unit(state, unit, release_of_unit(state, unit, seen), key_of_unit(unit, seen))


def freeze_unit(state: StatePaths, unit: ForeignUnit, release: Release, key: str | None) -> Release:
    """Write the release, its key and the unit's files as they stand."""
    paths = state.release(release.id)
    if key:
        write_atomic(paths.root / "api_key", f"{key}\n", mode=0o600)
    write_model(ReleaseUnitPaths(paths.root).adopted, AdoptedFiles(files=unit.files), mode=0o600)
    write_release(state, release)
    return release


def refuse_what_cannot_return(unit: ForeignUnit) -> None:
    """PreconditionError for a unit that we would handle by halves."""
    if unit.name.startswith("modelpivot-"):
        raise PreconditionError(f"{unit.name} is one of ours", hint="modelpivot history lists the releases of this host")
    if tool := find_container_tool(unit):
        raise PreconditionError(
            f"{unit.name} runs its engine through {tool}: the engine's processes are {tool}'s and not the unit's, "
            "so that neither its end nor its return could be proved",
            hint="run the engine in the unit itself, or stop this service by hand; then there is nothing to go back to",
        )
    if unit.main is None:
        raise PreconditionError(
            f"{unit.name} has no running main process (Type={unit.type}): a release to go back to must be seen to serve",
            hint=f"systemctl start {unit.name}, and wait until it answers",
        )


def words_of_unit(unit: ForeignUnit) -> list[str]:
    """Its command line with its variables replaced."""
    return [Template(word).safe_substitute(unit.environment) for word in unit.argv]


def key_of_unit(unit: ForeignUnit, seen: Seen) -> str | None:
    """The API key that its clients must send; None: it asks for none, as far as its unit tells."""
    return seen.key or read_option(words_of_unit(unit), "api-key") or unit.environment.get("VLLM_API_KEY")


def release_of_unit(state: StatePaths, unit: ForeignUnit, seen: Seen) -> Release:
    """The release. Pure but for the clock and a look for its weights. PreconditionError names what its command line does not tell."""
    words, digest = words_of_unit(unit), digest_text(unit.name, *(file.text for file in unit.files))
    release_id = f"{unit.name.removesuffix('.service').lower().replace('@', '-').replace(':', '-')}-{digest[:10]}"
    model = model_of_words(words) or seen.model
    weights = _weights(unit, model)
    return Release(
        id=release_id,
        name=unit.name,
        origin="adopted",
        serving_digest=digest,
        repo=model or _served_name(unit, words, seen),
        commit="",
        weights_dir=weights,
        view_dir=weights,
        environment_dir=Path(unit.program).parent.parent,
        engine="vllm" if "vllm" in " ".join(words) else Path(unit.program).name,
        engine_version=seen.engine_version,
        start=StartSpec(
            argv=[unit.program, *masked_words(words[1:])],
            environment={name: masked(name, value) for name, value in unit.environment.items()},
            working_directory=unit.working_directory,
            user=unit.user,
        ),
        endpoint=Endpoint(
            bind=seen.bind if seen.bind is not None else read_option(words, "host") or "",
            port=seen.port or port_of_words(unit.name, words),
            served_name=_served_name(unit, words, seen),
            api_key_file=state.release(release_id).root / "api_key" if key_of_unit(unit, seen) else None,
        ),
        gpus=seen.gpus,
        probes=seen.probes,
        hooks=seen.hooks,
        deadlines=Deadlines(stop_s=unit.stop_s or FOR_EVER_S),
        created_at=time.time(),
    )


def _served_name(unit: ForeignUnit, words: Sequence[str], seen: Seen) -> str:
    name = seen.served_name or read_option(words, "served-model-name") or model_of_words(words)
    if name is None:
        raise PreconditionError(
            f"{unit.name}: its command line tells no model: {' '.join(masked_words(words))[:200]}",
            hint="say which name it serves, and on which port",
        )
    return name


def _weights(unit: ForeignUnit, model: str | None) -> Path:
    """Its weights on this host, a folder or one file; where they lie elsewhere (a repository by its name) the working directory."""
    path = unit.working_directory / (model or "")
    return path if path.exists() else unit.working_directory


def restore_files(adopted: AdoptedFiles) -> None:
    """Put back those of a unit's files that are gone; one that stands there, changed or not, is its owner's and stays."""
    for file in adopted.files:
        if not file.path.exists():
            write_atomic(file.path, file.text.encode("latin-1"))
    systemctl("daemon-reload")


def read_option(words: Sequence[str], name: str) -> str | None:
    """The first value behind `--name`, or after its equals sign; None: the option is not there."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, _, value = word.replace("_", "-").partition("=") if word.startswith("--") else ("", "", "")
        if option == f"--{name}":
            return word.partition("=")[2] if value else following
    return None


def read_served_path(words: Sequence[str]) -> str | None:
    """What stands behind `serve` in `vllm serve MODEL`; None: it is no such command line."""
    places = [number for number, word in enumerate(words[:-1]) if word == "serve" and not words[number + 1].startswith("-")]
    return words[places[0] + 1] if places else None


def model_of_words(words: Sequence[str]) -> str | None:
    """The model that a command line names; None: none."""
    return read_option(words, "model") or read_served_path(words)


def port_of_words(name: str, words: Sequence[str]) -> int:
    """The port that a command line names, else vLLM's own. PreconditionError when it is no number."""
    text = read_option(words, "port") or str(ENGINE_PORT)
    if not text.isdigit():
        raise PreconditionError(f"{name}: --port: expected a number, found {text!r}", hint="say on which port it serves")
    return int(text)


def masked_words(words: Sequence[str]) -> list[str]:
    """The words without the API key."""
    return list(_masked_words(words))


def _masked_words(words: Sequence[str]) -> Iterator[str]:
    is_secret = False
    for word in words:
        option = word.partition("=")[0].replace("_", "-")
        yield MASK if is_secret else f"{option}={MASK}" if option == "--api-key" and "=" in word else word
        is_secret = word.replace("_", "-") == "--api-key"


def masked(name: str, value: str) -> str:
    """The value, unless the variable's name says that it is secret."""
    return MASK if any(word in name.upper() for word in SECRET_WORDS) else value
