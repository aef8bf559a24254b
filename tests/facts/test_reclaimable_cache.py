"""What of the Hub library's cache nothing references: by real links, across repositories, releases and weights."""

import os
from pathlib import Path

import pytest

from tests.reclaiming import Pile, only_item

COMMIT, OLD = "a" * 40, "b" * 40


class Cache:
    """The cache of a pile."""

    def __init__(self, pile: Pile) -> None:
        self.pile, self.root = pile, pile.cache

    def blob(self, repo: str, name: str, size: int = 50_000) -> Path:
        """Bytes under their digest."""
        path = self.root / repo / "blobs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"b" * size)
        return path

    def link(self, repo: str, commit: str, name: str, blob: Path) -> None:
        """A name in a snapshot."""
        path = self.root / repo / "snapshots" / commit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(blob, path.parent))

    def ref(self, repo: str, commit: str) -> None:
        """What `main` stands for."""
        path = self.root / repo / "refs/main"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(commit)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache with one repository, all of it referenced."""
    made = Cache(Pile(tmp_path))
    made.link("models--acme--m", COMMIT, "model.safetensors", made.blob("models--acme--m", "one"))
    made.ref("models--acme--m", COMMIT)
    return made


def test_a_cache_that_is_all_referenced_is_left_alone(cache: Cache) -> None:
    """The brief's 247 MB: nothing to offer."""
    assert cache.pile.items() == []


def test_blobs_that_no_link_leads_to_go(cache: Cache) -> None:
    """Orphans of interrupted downloads, one by one; what is referenced stays."""
    orphans = [cache.blob("models--acme--m", name) for name in ("two", "three.ab12.incomplete")]
    done = cache.pile.reclaim()
    assert len(done.items) == 2 and not any(orphan.exists() for orphan in orphans)
    assert (cache.root / "models--acme--m/snapshots" / COMMIT / "model.safetensors").exists()


def test_a_blob_that_another_repository_links_to_stays(cache: Cache) -> None:
    """W8: blobs may be shared; a link from anywhere in the cache counts."""
    shared = cache.blob("models--acme--m", "shared")
    cache.link("models--acme--other", COMMIT, "model.safetensors", shared)
    cache.ref("models--acme--other", COMMIT)
    assert cache.pile.items() == []


def test_a_revision_without_a_name_goes_by_its_id_with_its_own_blobs(cache: Cache) -> None:
    """Somebody may have pinned it by its commit, so a plain yes is not enough; blobs that `main` has too stay."""
    own = cache.blob("models--acme--m", "own")
    cache.link("models--acme--m", OLD, "model.safetensors", own)
    cache.link("models--acme--m", OLD, "config.json", cache.root / "models--acme--m/blobs/one")
    item = only_item(cache.pile.plan(), f"snapshots/{OLD}")
    assert (item.ask, len(item.found.parts)) == ("named", 2)
    cache.pile.reclaim()
    assert own.exists()
    cache.pile.reclaim(named=(item.id,))
    assert not own.exists() and (cache.root / "models--acme--m/blobs/one").exists()
    assert not (cache.root / "models--acme--m/snapshots" / OLD).exists()


def test_a_view_on_the_cache_keeps_its_blobs(cache: Cache) -> None:
    """A release served straight from the cache: revision and blobs behind its links are its own, hop by hop."""
    pile, blob = cache.pile, cache.blob("models--acme--m", "own")
    cache.link("models--acme--m", OLD, "model.safetensors", blob)
    release = pile.release("now", pile.weights())
    link = next(release.view_dir.glob("*.safetensors"))
    link.unlink()
    link.symlink_to(cache.root / "models--acme--m/snapshots" / OLD / "model.safetensors")
    pile.promote(release)
    assert pile.items("cache") == []


def test_weights_that_link_into_the_cache_keep_it(cache: Cache) -> None:
    """A folder below the weights root made of links to blobs: they are referenced."""
    blob = cache.blob("models--acme--m", "own")
    folder = cache.pile.host.weights_root / "by-hand"
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(blob)
    assert cache.pile.items("cache") == []


def test_a_repository_that_is_a_link_is_not_looked_into(cache: Cache) -> None:
    """Whatever it leads to lies elsewhere."""
    outside = cache.pile.root / "outside"
    (outside / "blobs").mkdir(parents=True)
    (outside / "blobs/precious").write_bytes(b"p" * 1000)
    (cache.root / "models--acme--linked").symlink_to(outside)
    assert cache.pile.items() == []
