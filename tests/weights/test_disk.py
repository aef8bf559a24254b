"""The disk says no: full in the middle, or not writable at all. On real file systems, mounted in a namespace of the test's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from modelpivot.files import write_model
from modelpivot.mirror.server import Mirror
from modelpivot.models.manifest import Manifest
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.verify import verify_directory
from tests.lab.sandbox import UNABLE
from tests.weights.conftest import Lab, manifest_of
from tests.weights.repos import make_repo
from tests.weights.told import Told

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
HAS_NAMESPACES = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
needs_namespaces = pytest.mark.skipif(not HAS_NAMESPACES, reason=f"{UNABLE}: no user namespaces, so that a test mounts nothing")


def mounted(script: str, *words: str) -> dict[str, object]:
    """Run a shell line in a mount namespace; its last line of output is JSON."""
    done = subprocess.run([*NAMESPACE, "sh", "-ec", script, "sh", *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.fixture
def manifest_file(lab: Lab, tmp_path: Path) -> Path:
    write_model(tmp_path / "manifest.json", lab.manifest)
    return tmp_path / "manifest.json"


@needs_namespaces
def test_full_disk_is_said_before_the_first_byte(tmp_path: Path) -> None:
    """80 MB into 64 MB: blocked, both numbers named, nothing written (D9)."""
    make_repo(tmp_path / "hub", "acme/big", shards=4, bytes_each=20_000_000)
    with Mirror(tmp_path / "hub") as mirror:
        write_model(tmp_path / "manifest.json", manifest_of(mirror, "acme/big"))
        script = 'mkdir "$1/mnt"; mount -t tmpfs -o size=64m none "$1/mnt"; exec "$2" -m tests.weights.disk_child plain "$1/manifest.json" "$1/mnt/w" "$3"'
        found = mounted(script, str(tmp_path), sys.executable, mirror.base_url)
        assert found["kind"] == "PreconditionError" and "bytes free" in str(found["message"])
        assert found["used_bytes"] == 0 and not mirror.served.of("acme/big/model-00001-of-00004.safetensors")


@needs_namespaces
def test_disk_that_fills_in_the_middle_stops_clean_and_goes_on_later(tmp_path: Path) -> None:
    """Somebody else takes the space meanwhile: a precondition, every byte that came is kept, and with room again the rest follows (D9)."""
    make_repo(tmp_path / "hub", "acme/big", shards=2, bytes_each=25_000_000)
    with Mirror(tmp_path / "hub", max_rate=20e6) as mirror:
        write_model(tmp_path / "manifest.json", manifest_of(mirror, "acme/big"))
        script = 'mkdir "$1/mnt"; mount -t tmpfs -o size=64m none "$1/mnt"; exec "$2" -m tests.weights.disk_child squeezed "$1/manifest.json" "$1/mnt/w" "$3"'
        found = mounted(script, str(tmp_path), sys.executable, mirror.base_url)
    assert found["kind"] == "PreconditionError" and "No space left" in str(found["message"])
    assert found["wrong"] == [] and int(str(found["kept_bytes"])) > 1_000_000
    assert int(str(found["resumed_bytes"])) >= int(str(found["kept_bytes"])) and found["verdict"] == "complete"


@needs_namespaces
def test_read_only_directory_is_refused_for_a_fetch(lab: Lab, manifest_file: Path, tmp_path: Path) -> None:
    """Not writable: said with the path, before any request."""
    script = (
        'mkdir "$1/mnt"; mount -t tmpfs -o ro none "$1/mnt"; exec "$2" -m tests.weights.disk_child plain "$1/manifest.json" "$1/mnt/w" "$3"'
    )
    found = mounted(script, str(tmp_path), sys.executable, lab.mirror.base_url)
    assert found["kind"] == "PreconditionError" and "Read-only file system" in str(found["message"])
    assert lab.mirror.served.requests == []


@needs_namespaces
def test_read_only_directory_is_verified_with_receipts_elsewhere(lab: Lab, manifest_file: Path, tmp_path: Path) -> None:
    """A mount that cannot be written to is proved, and its receipts lie in the host's state: the second time nothing is hashed."""
    lab.fetch()
    WeightsFolder(lab.directory).receipts.unlink()
    script = 'mount --bind "$2" "$2"; mount -o remount,ro,bind "$2"; exec "$3" -m tests.weights.disk_child verify "$1/manifest.json" "$2" "$1/receipts"'
    found = mounted(script, str(tmp_path), str(lab.directory), sys.executable)
    assert found == {"verdicts": ["complete", "complete"], "hashed": [len(lab.manifest.files), 0]}


def test_manifest_beside_the_files_reads_back(lab: Lab) -> None:
    """The manifest file is the manifest, as design states it."""
    lab.fetch()
    document = json.loads(WeightsFolder(lab.directory).manifest.read_text())
    assert set(document) == {"repo", "commit", "files"} and set(document["files"][0]) == {"path", "size", "sha256", "git_oid"}
    assert verify_directory(lab.directory, Manifest.model_validate(document), tell=Told()).verdict.verdict == "complete"
