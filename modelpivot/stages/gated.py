"""A release's engine up to its gate, started while another one serves: it has imported and configured itself, holds no GPU, and listens nowhere.

<state>/releases/<id>/gate/     spec.json, open, told.json: see modelpivot/inside/gate.py, which waits there

The end of the FIFO that this process holds is the only thing that keeps a waiting engine: when the process dies, the engine ends.
"""

import json
import os
import shutil
from pathlib import Path

from modelpivot.errors import PreconditionError
from modelpivot.files import read_model, write_atomic
from modelpivot.models.frozen import Frozen
from modelpivot.models.release import Release
from modelpivot.plans.warm import may_wait_at_device
from modelpivot.supervisors.protocol import Supervisor

LAUNCHER = Path(__file__).resolve().parents[1] / "inside" / "gate.py"
NICE = 10
"""Of a start that waits; what serves comes first."""
TAKE_A_WORD = ("-X", "-W")
"""Options of the interpreter whose value is a word of its own."""


class Told(Frozen):
    """What an engine tells at its gate."""

    seconds: float
    """From its start."""
    cuda: bool
    """Whether it holds a context on a GPU already: then it must not wait there."""
    warm_children: bool
    was_nice: bool
    at_device: bool = False
    """Whether its processes wait where they would take their devices; else it waits before its first line, its imports done."""

    def __str__(self) -> str:
        return f"{'in front of its device' if self.at_device else 'imported'} after {self.seconds:g} s"


class GateFact(Frozen):
    """One look at an engine on its way to the gate."""

    is_alive: bool
    told: Told | None = None

    def __str__(self) -> str:
        return "at the gate" if self.told else "on its way" if self.is_alive else "it ended"


class GatedStart:
    """One engine on its way to the gate, at it, or gone."""

    def __init__(self, supervisor: Supervisor, release: Release, folder: Path) -> None:
        self.release = release
        self._supervisor, self._folder, self._writer = supervisor, folder, -1

    def begin(self) -> None:
        """Start the engine's unit up to the gate. CommandFailed, PreconditionError or OSError when that cannot be; nothing of it is left then."""
        try:
            self._lay_out()
            self._supervisor.start_gated(self.release, gated_argv(self.release, self._folder))
        except BaseException:
            self.close()
            raise

    def _lay_out(self) -> None:
        self.close()
        self._folder.mkdir(mode=0o700)
        write_atomic(self._folder / "spec.json", json.dumps(make_spec(self.release)))
        os.mkfifo(self._folder / "open", 0o600)
        if self.release.start.user is not None:
            for path in (self._folder, *self._folder.iterdir()):
                shutil.chown(path, self.release.start.user)
        # Both ways, so that it neither waits for the engine nor is ever without an end of ours.
        self._writer = os.open(self._folder / "open", os.O_RDWR | os.O_CLOEXEC)

    def read(self) -> GateFact:
        """Told first, then alive: an engine that told and died is dead."""
        told = read_model(self._folder / "told.json", Told)
        return GateFact(is_alive=self._supervisor.status(self.release).state == "running", told=told)

    def open(self) -> bool:
        """Let it go on. False: it is not there any more."""
        is_there = self._writer >= 0 and self.read().is_alive
        if is_there:
            os.write(self._writer, b"open\n")
        self.close()
        return is_there

    def close(self) -> None:
        """Wait no more: an engine that waits ends by itself; one whose gate was opened goes on."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1
        shutil.rmtree(self._folder, ignore_errors=True)


def make_spec(release: Release) -> dict[str, object]:
    """What the launcher is to do, for its spec.json."""
    gate = release.gate
    assert gate is not None
    words = gate.model_dump(include={"preload", "registry", "warm_children"})
    may_run_on = may_wait_at_device(release.start.argv, release.start.environment)
    place = {"device": gate.device if may_run_on else None, "port": release.endpoint.port}
    return words | place | {"architectures": read_architectures(release.view_dir), "nice": NICE}


def read_architectures(view: Path) -> list[str]:
    """As config.json names them; none where it cannot be read: their classes are then imported behind the gate."""
    try:
        config = json.loads((view / "config.json").read_text())
    except (OSError, ValueError):
        return []
    names = config.get("architectures") if isinstance(config, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def gated_argv(release: Release, folder: Path) -> list[str]:
    """The launcher in front of the release's own words, under the same interpreter with the same options. PreconditionError when it runs no module or file."""
    python, *words = release.start.argv
    count = 0
    while count < len(words) and words[count].startswith("-") and words[count] not in ("-m", "-c", "-"):
        count += 2 if words[count] in TAKE_A_WORD else 1
    if count >= len(words) or words[count] in ("-c", "-"):
        raise PreconditionError(f"{release.id}: its command line runs neither a module nor a file", hint="it is started plain")
    return [python, *words[:count], str(LAUNCHER), str(folder), "--", *words[count:]]
