"""GPUs by NVML: a fake library, built here and found as the real one is, answers; each test reads in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from pydantic import TypeAdapter

from modelpivot.models.facts import GpuLink, Gpus
from modelpivot.models.frozen import Unread

MIB = 2**20
pytestmark = pytest.mark.skipif(which("gcc") is None, reason="needs gcc to build the fake NVML library")
READ = "from modelpivot.facts.gpus import read_gpus; print(read_gpus().model_dump_json())"
LINKS = (
    "import json; from modelpivot.facts.gpus import read_gpu_links; found = read_gpu_links(); "
    "print(json.dumps([link.model_dump() for link in found]) if isinstance(found, list) else found.model_dump_json())"
)


def build(folder: Path, *flags: str) -> Path:
    """The fake library under the name that a driver installs it with."""
    source = Path(__file__).parent / "fake_nvml.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wno-unused-parameter", *flags, "-o", folder / "libnvidia-ml.so.1", source], check=True)
    return folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    return build(tmp_path_factory.mktemp("nvml"))


def run(code: str, library: Path, tools: str = "", **answers: str | int) -> str:
    """What the code prints where this library is the driver's."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(library), "PATH": tools} | {name: str(value) for name, value in answers.items()}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60).stdout


def read(library: Path, **answers: int) -> Gpus | Unread:
    """The GPUs of that driver."""
    return TypeAdapter[Gpus | Unread](Gpus | Unread).validate_json(run(READ, library, "", **answers))


def test_gpus_and_their_process_are_read(library: Path) -> None:
    """Sizes in bytes with what the driver keeps, driver and CUDA, and who the process is on this host."""
    found = read(library, FAKE_PID=os.getpid())
    assert isinstance(found, Gpus) and found.read_with == "nvml"
    first = found.gpus[0]
    assert (first.total_bytes, first.reserved_bytes, first.used_bytes) == (97887 * MIB, 637 * MIB, 93783 * MIB)
    assert (first.compute_capability, first.driver, first.cuda, first.mig, first.pci) == (
        "12.0",
        "590.48.01",
        "13.1",
        "Disabled",
        "0000:10:00.0",
    )
    [process] = found.processes
    assert (process.pid, process.name, process.used_bytes) == (os.getpid(), "VLLM::Worker_TP0", 93770 * MIB)
    assert process.started_at is not None and "pytest" in process.command and process.user


@pytest.mark.parametrize("code", [3, 4, 999])
def test_a_number_that_nvml_does_not_tell_is_unread(library: Path, code: int) -> None:
    """H1: not supported, not permitted, unknown: never a zero, and what else is told stays."""
    found = read(library, FAKE_MEMORY=code, FAKE_CAPABILITY=code)
    assert isinstance(found, Gpus)
    gpu = found.gpus[0]
    assert all(isinstance(value, Unread) for value in (gpu.total_bytes, gpu.used_bytes, gpu.reserved_bytes, gpu.compute_capability))
    assert gpu.driver == "590.48.01"


@pytest.mark.parametrize(("code", "remedy"), [(18, "reboot"), (9, "modprobe"), (4, "root"), (16, "reset")])
def test_a_driver_that_does_not_answer_is_unread_with_the_remedy(library: Path, code: int, remedy: str) -> None:
    """H2: version mismatch, module not loaded, no permission, a GPU that must be reset."""
    found = read(library, FAKE_INIT=code)
    assert isinstance(found, Unread) and remedy in found.unread


def test_a_lost_gpu_makes_the_list_unread(library: Path) -> None:
    """One that fell off the bus is not silently left out."""
    found = read(library, FAKE_LOST=1)
    assert isinstance(found, Unread) and "lost" in found.unread


def test_no_device_is_unread(library: Path) -> None:
    """A driver that finds none is broken, and no host without GPUs."""
    found = read(library, FAKE_GPUS=0)
    assert isinstance(found, Unread) and "dmesg" in found.unread


def test_a_refused_list_of_processes_is_no_empty_list(library: Path) -> None:
    """Who holds the memory is not known: the whole is unread."""
    assert isinstance(read(library, FAKE_PROCESSES=4), Unread)


def test_memory_of_a_process_that_is_not_told_is_unread(library: Path) -> None:
    """The driver's word for not available is no size."""
    found = read(library, FAKE_PID=os.getpid(), FAKE_UNTOLD=1)
    assert isinstance(found, Gpus) and isinstance(found.processes[0].used_bytes, Unread)


def test_mig_is_told(library: Path) -> None:
    """Split cards are named as such."""
    found = read(library, FAKE_MIG=1)
    assert isinstance(found, Gpus) and {gpu.mig for gpu in found.gpus} == {"Enabled"}


def test_topology_over_pcie(library: Path) -> None:
    """Pairs on one bridge and pairs across the sockets, and whether they reach each other."""
    links = TypeAdapter(list[GpuLink]).validate_json(run(LINKS, library, FAKE_GPUS=4))
    assert {(link.first, link.second): link.level for link in links} == {
        (0, 1): "PIX", (0, 2): "SYS", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS", (2, 3): "PIX",
    }  # fmt: skip
    assert all(link.has_p2p is True for link in links)


def test_topology_over_a_switch(library: Path) -> None:
    """Links that end at an NVSwitch join every pair."""
    links = TypeAdapter(list[GpuLink]).validate_json(run(LINKS, library, FAKE_GPUS=2, FAKE_NVLINK=18))
    assert [link.level for link in links] == ["NV18"]


def test_an_older_library_leaves_it_to_nvidia_smi(tmp_path: Path) -> None:
    """A library without the functions that are asked for is no library; the tool answers then."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    captures = Path(__file__).parents[1] / "captures"
    tool.write_text(
        f'#!/bin/sh\ncase "$1" in\n--query-gpu=*) /bin/cat {captures}/nvidia-smi-h200-idle.csv;;\n'
        f"--query-compute-apps=*) /bin/cat {captures}/nvidia-smi-h200-apps.csv;;\n*) echo '| CUDA Version: 13.0 |';;\nesac\n"
    )
    tool.chmod(0o755)
    text = run(READ, build(tmp_path, "-DFAKE_OLD"), tools=str(tool.parent))
    found = Gpus.model_validate_json(text)
    assert (found.read_with, found.gpus[0].name, found.gpus[0].cuda) == ("nvidia-smi", "NVIDIA H200", "13.0")


def test_a_driver_that_hangs_is_given_up(library: Path) -> None:
    """A wedged driver holds its call for ever: the question ends at its deadline, and says so."""
    code = f"import modelpivot.facts.gpus as gpus; gpus.LIBRARY_DEADLINE_S = 1; {READ}; import os, sys; sys.stdout.flush(); os._exit(0)"
    found = TypeAdapter[Gpus | Unread](Gpus | Unread).validate_json(run(code, library, FAKE_HANG=1))
    assert isinstance(found, Unread) and "hangs" in found.unread
