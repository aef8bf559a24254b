"""The mirror speaks what the Hub's own library expects, and sends exactly the bytes that were asked for."""

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.hf_api import RepoFile, RepoFolder

from modelpivot.files import hash_file
from modelpivot.mirror.server import Mirror
from tests.weights.repos import make_repo

REPO, SHARD = "acme/tiny", "model-00001-of-00003.safetensors"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_repo(tmp_path / "hub")
    return tmp_path / "hub"


@pytest.fixture
def mirror(root: Path) -> Iterator[Mirror]:
    with Mirror(root, page_size=3) as running:
        yield running


def test_model_info_pins_commit_and_names_sizes_and_digests(mirror: Mirror, root: Path) -> None:
    """The library reads a 40-hex commit, and for every file its size and digest: sha256 for large ones, git's blob id for small ones."""
    info = HfApi(endpoint=mirror.base_url, token=False).model_info(REPO, files_metadata=True)
    assert info.sha is not None and len(info.sha) == 40 and info.siblings
    by_name = {each.rfilename: each for each in info.siblings}
    shard, config = by_name[SHARD], by_name["config.json"]
    assert shard.lfs is not None and shard.lfs.sha256 == hash_file(root / REPO / SHARD)
    content = (root / REPO / "config.json").read_bytes()
    assert config.lfs is None and config.blob_id == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    assert {each.size for each in (shard, config)} == {(root / REPO / SHARD).stat().st_size, len(content)}


def test_tree_comes_in_pages_and_is_complete(mirror: Mirror, root: Path) -> None:
    """The tree is followed over its pages to every file and folder."""
    rows = list(HfApi(endpoint=mirror.base_url, token=False).list_repo_tree(REPO, recursive=True))
    files = {each.path for each in rows if isinstance(each, RepoFile)}
    assert files == {each.relative_to(root / REPO).as_posix() for each in (root / REPO).rglob("*") if each.is_file()}
    assert [each.path for each in rows if isinstance(each, RepoFolder)] == ["figures"]
    assert len([each for each in mirror.served.requests if "/tree/" in each.path]) > 3


def test_paths_info_answers_for_what_is_there(mirror: Mirror) -> None:
    """Asked for two paths of which one exists, one comes back."""
    found = HfApi(endpoint=mirror.base_url, token=False).get_paths_info(REPO, [SHARD, "nothing.bin"])
    assert [each.path for each in found] == [SHARD]


def test_library_downloads_a_file_and_a_snapshot(mirror: Mirror, root: Path, tmp_path: Path) -> None:
    """Single file into a cache and whole snapshot into a folder arrive byte for byte."""
    path = hf_hub_download(REPO, SHARD, endpoint=mirror.base_url, cache_dir=tmp_path / "cache", token=False)
    assert hash_file(Path(path)) == hash_file(root / REPO / SHARD)
    folder = snapshot_download(REPO, endpoint=mirror.base_url, local_dir=tmp_path / "snapshot", token=False)
    for each in (root / REPO).rglob("*"):
        if each.is_file():
            assert hash_file(Path(folder) / each.relative_to(root / REPO)) == hash_file(each)


def test_large_files_come_from_another_host_by_a_link_that_ends(root: Path) -> None:
    """A large file's answer is a redirect to another host name; after its time the link is refused."""
    with Mirror(root, link_s=0.0) as mirror:
        head = httpx.head(f"{mirror.base_url}/{REPO}/resolve/main/{SHARD}")
        assert head.status_code == 302 and head.headers["X-Linked-Etag"].strip('"') == hash_file(root / REPO / SHARD)
        assert int(head.headers["X-Linked-Size"]) == (root / REPO / SHARD).stat().st_size
        location = httpx.URL(head.headers["Location"])
        assert location.host != httpx.URL(mirror.base_url).host
        assert httpx.get(location).status_code == 403


def test_ranges_are_exact(mirror: Mirror, root: Path) -> None:
    """A range gives 206 with its own bytes; one past the end 416; If-Range with another ETag the whole file."""
    content = (root / REPO / SHARD).read_bytes()
    link = httpx.head(f"{mirror.base_url}/{REPO}/resolve/main/{SHARD}").headers["Location"]
    part = httpx.get(link, headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, content[100:200])
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(content)}"
    assert httpx.get(link, headers={"Range": "bytes=-10"}).content == content[-10:]
    assert httpx.get(link, headers={"Range": f"bytes={len(content)}-"}).status_code == 416
    assert httpx.get(link, headers={"Range": "bytes=5-", "If-Range": '"other"'}).content == content


def test_what_has_arrived_is_counted(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as its last byte is there, however long the mirror takes to go on."""
    send, is_counted = os.sendfile, threading.Event()

    def linger(out: int, file: int, start: int, count: int) -> int:
        sent = send(out, file, start, count)
        is_counted.wait(60)
        return sent

    monkeypatch.setattr(os, "sendfile", linger)
    content = httpx.get(httpx.head(f"{mirror.base_url}/{REPO}/resolve/main/{SHARD}").headers["Location"]).content
    assert [each.sent for each in mirror.served.of(f"{REPO}/{SHARD}")] == [len(content)]
    is_counted.set()


def test_store_refuses_credentials(mirror: Mirror) -> None:
    """A token that reaches the store is an error there, as object stores have it."""
    link = httpx.head(f"{mirror.base_url}/{REPO}/resolve/main/{SHARD}").headers["Location"]
    assert httpx.get(link, headers={"Authorization": "Bearer hf_x"}).status_code == 400


def test_unknown_names_have_their_own_codes(mirror: Mirror, tmp_path: Path) -> None:
    """Repository, revision and file that are not there are told apart by the library."""
    api = HfApi(endpoint=mirror.base_url, token=False)
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("acme/none")
    with pytest.raises(RevisionNotFoundError):
        api.model_info(REPO, revision="0" * 40)
    with pytest.raises(EntryNotFoundError):
        hf_hub_download(REPO, "none.json", endpoint=mirror.base_url, cache_dir=tmp_path, token=False)


def test_gate_wants_its_token(root: Path) -> None:
    """No token, a wrong one and the right one are three answers."""
    with Mirror(root, gates={REPO: "hf_right"}) as mirror:
        with pytest.raises(GatedRepoError):
            HfApi(endpoint=mirror.base_url, token=False).model_info(REPO)
        with pytest.raises(HfHubHTTPError, match="Invalid credentials"):
            HfApi(endpoint=mirror.base_url, token="hf_wrong").model_info(REPO)
        assert HfApi(endpoint=mirror.base_url, token="hf_right").model_info(REPO).gated == "auto"


def test_changed_content_is_another_commit(mirror: Mirror, root: Path) -> None:
    """A changed file moves `main`, and the commit of before is gone."""
    api = HfApi(endpoint=mirror.base_url, token=False)
    before = api.model_info(REPO).sha
    (root / REPO / "config.json").write_text("{}")
    assert api.model_info(REPO).sha != before
    with pytest.raises(RevisionNotFoundError):
        api.model_info(REPO, revision=before)


def test_stopped_mirror_answers_nobody(root: Path) -> None:
    """A connection that was kept open is cut with the listener."""
    with Mirror(root) as mirror, httpx.Client(base_url=mirror.base_url) as client:
        assert client.get(f"/api/models/{REPO}").status_code == 200
        mirror.stop()
        with pytest.raises(httpx.TransportError):
            client.get(f"/api/models/{REPO}")


def test_hidden_folders_are_not_shown(mirror: Mirror, root: Path) -> None:
    """What tools leave in folders that start with a dot is no part of the repository."""
    (root / REPO / ".modelpivot").mkdir()
    (root / REPO / ".modelpivot" / "manifest.json").write_text("{}")
    assert not [path for path in mirror.catalog.repo(REPO).entries if path.startswith(".modelpivot")]  # type: ignore[union-attr]
