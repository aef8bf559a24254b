"""A GPU that the tests set: a fake nvidia-smi, called one."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

FAKE = """#!/bin/sh
case "$1" in
*query-gpu*)
    echo "index, uuid, name, memory.total [MiB], memory.used [MiB], compute_cap, driver_version, mig.mode.current"
    echo "0, GPU-0, fake card, 97887 MiB, $(cat {folder}/used) MiB, 12.0, 590.48.01, Disabled" ;;
*)
    echo "gpu_uuid, pid, process_name, used_gpu_memory [MiB]"
    cat {folder}/apps
    if [ -e {folder}/left ]; then mv {folder}/left {folder}/apps; fi ;;
esac
"""


@dataclass
class FakeGpu:
    """One card whose memory and processes the test sets."""

    folder: Path

    def hold(self, used_mib: int, *pids: int) -> None:
        """So much memory, held by these processes."""
        (self.folder / "used").write_text(str(used_mib))
        (self.folder / "apps").write_text("".join(f"GPU-0, {pid}, VLLM::EngineCore, {used_mib} MiB\n" for pid in pids))

    def fall_silent(self) -> None:
        """The driver tells nothing any more."""
        (self.folder / "nvidia-smi").write_text("#!/bin/sh\necho 'Failed to initialize NVML: Unknown Error'; exit 255\n")

    def hold_until_seen(self, used_mib: int, *pids: int) -> None:
        """The same until somebody has looked; nobody holds it from then on."""
        self.hold(used_mib, *pids)
        (self.folder / "left").touch()


@pytest.fixture
def fake_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    """A fake nvidia-smi, first on the PATH."""
    folder = tmp_path / "fake"
    folder.mkdir()
    tool = folder / "nvidia-smi"
    tool.write_text(FAKE.format(folder=folder))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return FakeGpu(folder)
