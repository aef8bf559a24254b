"""A small Hub with one repository, and a fetch against it that gives up in minutes instead of days."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from modelpivot.files import hash_file
from modelpivot.mirror.server import Mirror
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.fetch import FetchOptions, FetchResult, fetch_manifest
from modelpivot.weights.layout import OWN
from modelpivot.weights.reconnect import Patience
from modelpivot.weights.space import file_key
from tests.weights.repos import make_repo
from tests.weights.told import Told

REPO = "acme/tiny"
SHARD = "model-00002-of-00003.safetensors"
QUICK = Patience(idle_s=60, deadline_s=240, first_s=0.02, longest_s=0.2)
NEVER_S = 30.0
"""Stall time of a fetch on whose way nothing stalls: no test is about a machine that does."""


def manifest_of(mirror: Mirror, repo: str = REPO) -> Manifest:
    """The manifest of all files of a repository, as the mirror would name them."""
    found = mirror.catalog.repo(repo)
    assert found is not None
    files = [
        ManifestFile(
            path=each.path, size=each.size, sha256=each.sha256 if each.is_large else None, git_oid=None if each.is_large else each.git_oid
        )
        for each in found.entries.values()
    ]
    return Manifest(repo=repo, commit=found.commit, files=files)


@dataclass
class Lab:
    """A mirror with one repository, and a directory to fetch into."""

    mirror: Mirror
    source: Path
    directory: Path
    manifest: Manifest
    told: Told = field(default_factory=Told)

    def fetch(self, **options: object) -> FetchResult:
        """Fetch with quick patience; keyword arguments are FetchOptions."""
        chosen = FetchOptions(**{"patience": QUICK, "stall_s": NEVER_S, **options})  # type: ignore[arg-type]
        return fetch_manifest(
            self.manifest, self.directory, endpoint=self.mirror.base_url, token="hf_secret", tell=self.told, options=chosen
        )

    def assert_no_wrong_file(self) -> int:
        """Every file under a final name has the manifest's bytes; returns how many there are."""
        named = [path for path in self.directory.rglob("*") if path.is_file() and OWN not in path.relative_to(self.directory).parts]
        for path in named:
            assert hash_file(path) == hash_file(self.source / path.relative_to(self.directory)), path
        return len(named)

    def assert_complete(self) -> None:
        """Every file of the manifest is there, right, and nothing is left over."""
        assert self.assert_no_wrong_file() == len(self.manifest.files)
        assert not list((self.directory / OWN / "partial").iterdir())

    def partial(self, path: str = SHARD) -> Path:
        """Where a file's bytes gather."""
        from modelpivot.weights.layout import WeightsFolder

        return WeightsFolder(self.directory).partial(path, file_key(self.file(path)))

    def file(self, path: str = SHARD) -> ManifestFile:
        """Its entry in the manifest."""
        return next(each for each in self.manifest.files if each.path == path)

    def served(self, path: str = SHARD) -> int:
        """Body bytes that went out for a file."""
        return self.mirror.served.bytes_by_file().get(f"{self.manifest.repo}/{path}", 0)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Three shards of 200 kB and small files."""
    source = make_repo(tmp_path / "hub", REPO, bytes_each=200_000)
    with Mirror(tmp_path / "hub") as mirror:
        yield Lab(mirror, source, tmp_path / "weights" / "acme--tiny" / "x", manifest_of(mirror))
