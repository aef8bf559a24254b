"""A host with things on it that could go: weights, releases, environments, a Hub cache. Real files; times are moved, never waited for."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from modelpivot.facts.environments import StoredProof, proof_file, read_stamp
from modelpivot.facts.resolution import KEPT
from modelpivot.files import write_model
from modelpivot.host import run_command
from modelpivot.models.engine import EnvironmentProof, Pin, Resolution
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.reclaim import Gone, Item, Kind, Reclaimed, ReclaimPlan
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.stages.context import open_context
from modelpivot.stages.reclaim import Agreed, plan, reclaim
from modelpivot.state.paths import StatePaths
from modelpivot.state.releases import record_current, record_proved, write_release
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import write_manifest
from modelpivot.weights.verify import verify_directory
from modelpivot.weights.view import make_view
from tests.lab.sandbox import UNABLE
from tests.weights.repos import make_shard

DAY_S = 86400.0


class Pile:
    """One host in a folder."""

    def __init__(self, root: Path, **changes: object) -> None:
        self.root = root
        self.host = HostConfig(
            state_dir=root / "state",
            weights_root=root / "weights",
            environments_root=root / "environments",
            hub_cache=root / "hub",
            supervisor="process",
            reclaim_after_s=0,
            keep_environments=1,
        ).model_copy(update=changes)
        self.cache = self.host.hub_cache or root / "hub"
        for folder in (self.host.state_dir, self.host.weights_root, self.host.environments_root, self.cache):
            folder.mkdir(parents=True, exist_ok=True)
        self.state = StatePaths(self.host.state_dir)

    def weights(self, name: str = "acme/old", commit: str = "a" * 40, *, shards: int = 2, bytes_each: int = 200_000) -> Path:
        """A fetched directory with its manifest and receipts."""
        folder = self.host.weights_root / name.replace("/", "--") / commit
        for number in range(shards):
            make_shard(folder / f"model-{number + 1:05}-of-{shards:05}.safetensors", [f"w{number}"], bytes_each=bytes_each, seed=number)
        (folder / "config.json").write_text("{}")
        manifest = Manifest(repo=name, commit=commit, files=[_file(path) for path in sorted(folder.iterdir())])
        write_manifest(WeightsFolder(folder), manifest)
        verify_directory(folder, manifest, tell=lambda *_, **__: None)
        return folder

    def stray(self, name: str = "glm5-gguf", size: int = 300_000) -> Path:
        """A folder of weights that was not made by us."""
        folder = self.host.weights_root / name
        folder.mkdir(parents=True)
        (folder / "merged.gguf").write_bytes(b"g" * size)
        return folder

    def release(self, name: str, weights: Path, *, environment: Path | None = None) -> Release:
        """A release on these weights, its view laid out; not proved, not current."""
        manifest = Manifest.model_validate_json((weights / ".modelpivot/manifest.json").read_text())
        view = self.state.release(name).view
        make_view(view, weights, manifest, {})
        release = Release(
            id=name,
            name=name,
            serving_digest="0" * 64,
            repo=manifest.repo,
            commit=manifest.commit,
            weights_dir=weights,
            view_dir=view,
            environment_dir=environment or self.root / "no-environment",
            engine="standin",
            engine_version="0",
            start=StartSpec(argv=["/bin/true", "--model", str(view)], environment={}, working_directory=self.state.release(name).root),
            endpoint=Endpoint(bind="127.0.0.1", port=8000, served_name=name),
        )
        write_release(self.state, release)
        return release

    def promote(self, *releases: Release) -> None:
        """One after the other becomes the current release."""
        for release in releases:
            record_proved(self.state, release.id)
            record_current(self.state, release.id)

    def environment(self, version: str, *, age_s: float = 0.0, cache: Path | None = None) -> Path:
        """A proved environment, as far as anything here looks into it; `cache`: where its library is linked from."""
        digest = hashlib.sha256(version.encode()).hexdigest()[:10]
        resolution = Resolution(
            engine="standin", engine_version=version, pins=[Pin(name="x", version="1")], lock_text="", digest=digest, python="3.11"
        )
        path = self.host.environments_root / resolution.environment_name
        library = path / "lib/python3.11/site-packages/x.so"
        library.parent.mkdir(parents=True)
        library.write_bytes(version.encode() * 50_000)
        if cache is not None:
            cache.mkdir(exist_ok=True)
            os.link(library, cache / "x.so")
        (path / "bin").mkdir()
        (path / "bin/python").symlink_to(sys.executable)
        kept = path / KEPT
        write_model(kept, resolution)
        proof = EnvironmentProof(path=path, engine="standin", engine_version=version, freeze_digest="", packages=1, proved_at=1.0, new=True)
        write_model(proof_file(path), StoredProof(proof=proof, stamp=read_stamp(path)))
        os.utime(kept, (time.time() - age_s, time.time() - age_s))
        return path

    def plan(self, *only: Kind) -> ReclaimPlan:
        """What may go now."""
        return plan(open_context(self.host, name="test"), only=only)

    def items(self, *only: Kind) -> list[str]:
        """Ids of what may go."""
        return [item.id for item in self.plan(*only).items]

    def why(self, item_id: str) -> str:
        """Why something stays."""
        return {kept.id: kept.why for kept in self.plan().kept}[item_id]

    def reclaim(self, made: ReclaimPlan | None = None, *, named: tuple[str, ...] = (), yes: bool = True) -> Reclaimed:
        """What is agreed to goes."""
        made = made or self.plan()
        return reclaim(open_context(self.host, name="test"), made, Agreed(is_agreed=yes, named=named))

    def reclaim_all(self, made: ReclaimPlan | None = None) -> Reclaimed:
        """Everything that is offered, named or not."""
        made = made or self.plan()
        return self.reclaim(made, named=tuple(item.id for item in made.items))


def _file(path: Path) -> ManifestFile:
    return ManifestFile(path=path.name, size=path.stat().st_size, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def only_item(made: ReclaimPlan, text: str) -> Item:
    """The one item whose id holds a text."""
    [item] = [item for item in made.items if text in item.id]
    return item


def problem_of(done: Reclaimed, text: str) -> str:
    """Why the one thing whose id holds a text stayed."""
    [gone] = [gone for gone in done.items if text in gone.id]
    return gone.problem


def went(done: Reclaimed) -> list[Gone]:
    """What is gone."""
    return [gone for gone in done.items if not gone.problem]


@contextmanager
def holding(*words: str, under: tuple[str, ...] = ()) -> Iterator[int]:
    """A process of its own that runs a line of Python and waits; its number. `under`: a command that starts it."""
    script = f"{words[0]}\nprint('up', flush=True)\nimport sys\nsys.stdin.read()"
    with subprocess.Popen([*under, sys.executable, "-c", script, *words[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate(b"")


def names(folder: Path) -> set[bytes]:
    """Every name below a folder, at any depth."""
    return {parent + b"/" + name for parent, folders, files in os.walk(os.fsencode(folder)) for name in (*folders, *files)}


def may_mount() -> bool:
    """Whether a command may have mounts of its own here: some containers have a root who may not."""
    argv = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"]
    return os.geteuid() == 0 and run_command(argv, timeout_s=60, is_checked=False).returncode == 0


ROOT_ONLY = pytest.mark.skipif(not may_mount(), reason=f"{UNABLE}: mounts of its own need root and a mount namespace")
BIND = "subprocess.run(['mount', '--bind', {source!r}, {target!r}], check=True)\n"
TMPFS = "subprocess.run(['mount', '-t', 'tmpfs', 'none', {target!r}], check=True)\n"


def in_mounts(pile: Pile, script: str) -> str:
    """What lines of Python print in a mount namespace of their own, with the pile at hand."""
    words = (
        f"import os, subprocess; from pathlib import Path; from tests.reclaiming import *; pile = Pile(Path({str(pile.root)!r}))\n{script}"
    )
    argv = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", words]
    return run_command(argv, timeout_s=300, cwd=Path(__file__).parents[1]).stdout
