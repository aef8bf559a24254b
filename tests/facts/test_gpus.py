"""GPUs: what cannot be read is never a zero, and a broken driver is told from a missing one. `nvidia-smi` is a fake that prints captures."""

from pathlib import Path

import pytest

from modelpivot.facts.gpus import read_gpus
from modelpivot.facts.nvidia_smi import BrokenTable, parse_gpus, parse_matrix, parse_processes
from modelpivot.models.facts import Gpus
from modelpivot.models.frozen import Unread

CAPTURES = Path(__file__).parents[1] / "captures"
MIB = 2**20
HEADER = "index, uuid, name, memory.total [MiB], memory.used [MiB], compute_cap, driver_version, mig.mode.current\n"


def capture(name: str) -> str:
    """Real output."""
    return (CAPTURES / name).read_text()


class FakeNvidiaSmi:
    """A shell script on the PATH that answers the two queries; written anew for every test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def answers(self, *, gpus: str = "", apps: str = "", code: int = 0, apps_code: int = 0, before: str = "") -> None:
        """What it prints and exits with for --query-gpu and --query-compute-apps. `before`: shell lines that run first."""
        for name, text in (("gpus", gpus), ("apps", apps)):
            (self._folder / name).write_text(text)
        script = self._folder / "nvidia-smi"
        script.write_text(
            f'#!/bin/sh\n{before}\ncase "$1" in\n'
            f"--query-gpu=*) /bin/cat {self._folder}/gpus; exit {code};;\n"
            f"--query-compute-apps=*) /bin/cat {self._folder}/apps; exit {apps_code};;\nesac\nexit 64\n"
        )
        script.chmod(0o755)


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNvidiaSmi:
    """The only thing on the PATH."""
    fake = FakeNvidiaSmi(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return fake


def unread(fact: object) -> str:
    """The reason of an Unread; fails for anything else."""
    assert isinstance(fact, Unread), fact
    return fact.unread


def test_an_idle_gpu_is_read_in_bytes(smi: FakeNvidiaSmi) -> None:
    """MiB become bytes, an idle GPU has a real zero in use, and a header alone means no process."""
    smi.answers(gpus=capture("nvidia-smi-h200-idle.csv"), apps=capture("nvidia-smi-h200-apps.csv").splitlines()[0] + "\n")
    found = read_gpus()
    assert isinstance(found, Gpus)
    [gpu] = found.gpus
    assert (gpu.total_bytes, gpu.used_bytes, gpu.compute_capability, gpu.driver) == (143771 * MIB, 0, "9.0", "580.159.04")
    assert found.processes == []


def test_who_holds_a_gpu_is_read(smi: FakeNvidiaSmi) -> None:
    """Eight workers on eight GPUs, each with its process number and bytes."""
    smi.answers(gpus=capture("nvidia-smi-rtx-pro-6000.csv"), apps=capture("nvidia-smi-rtx-pro-6000-apps.csv"))
    found = read_gpus()
    assert isinstance(found, Gpus)
    assert [gpu.index for gpu in found.gpus] == list(range(8))
    assert {(process.pid, process.used_bytes) for process in found.processes} == {(4100 + index, 93770 * MIB) for index in range(8)}


@pytest.mark.parametrize(
    "word",
    [
        "[N/A]",
        "N/A",
        "[Not Supported]",
        "[Insufficient Permissions]",
        "[Unknown Error]",
        "Unknown",
        "Requested functionality has been deprecated",
        "[GPU requires reset]",
        "",
        "-1 MiB",
        "0x10 MiB",
    ],
)
def test_a_word_where_a_number_should_be_is_unread_with_the_word(word: str) -> None:
    """H1: never 0, and the reason keeps what the tool said."""
    [gpu] = parse_gpus(f"{HEADER}0, GPU-1, NVIDIA GB10, {word}, {word}, 12.1, 580.126.09, [N/A]\n")
    assert word in unread(gpu.total_bytes)
    assert word in unread(gpu.used_bytes)


def test_an_unread_text_is_no_text() -> None:
    """`[N/A]` is no compute capability and no MIG mode."""
    [gpu] = parse_gpus(capture("nvidia-smi-gb10.csv"))
    assert gpu.compute_capability == "12.1"
    assert "[N/A]" in unread(gpu.mig)


def test_mig_is_read_beside_memory_that_is_not() -> None:
    """One unreadable cell leaves the others as they are."""
    [gpu] = parse_gpus(capture("nvidia-smi-a100-mig.csv"))
    assert gpu.mig == "Enabled"
    assert gpu.total_bytes == 81920 * MIB
    assert "Insufficient Permissions" in unread(gpu.used_bytes)


@pytest.mark.parametrize(
    ("header", "cell", "size"), [("[MiB]", "97250", 97250 * MIB), ("[GiB]", "96", 96 * 2**30), ("[MiB]", "3 GiB", 3 * 2**30)]
)
def test_the_unit_is_that_of_the_cell_or_else_of_the_header(header: str, cell: str, size: int) -> None:
    """A bare number takes the header's unit; a cell with a unit speaks for itself."""
    text = HEADER.replace("memory.total [MiB]", f"memory.total {header}")
    [gpu] = parse_gpus(f"{text}0, GPU-1, X, {cell}, 0 MiB, 9.0, 1, Disabled\n")
    assert gpu.total_bytes == size


def test_a_process_name_may_hold_commas() -> None:
    """The name is what stands between number and memory."""
    [process] = parse_processes("gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-1, 7, python3 -c print(1, 2), 12 MiB\n")
    assert (process.name, process.used_bytes) == ("python3 -c print(1, 2)", 12 * MIB)


def test_a_process_without_a_number_makes_the_list_unread(smi: FakeNvidiaSmi) -> None:
    """Somebody is on the GPU and we cannot say who: that is no empty list."""
    apps = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-1, [Insufficient Permissions], [Not Found], [N/A]\n"
    smi.answers(gpus=capture("nvidia-smi-h200-idle.csv"), apps=apps)
    assert "Insufficient Permissions" in unread(read_gpus())


@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        ("No devices were found", 6, "dmesg"),
        ("No devices were found", 0, "dmesg"),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95", 18, "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9, "modprobe"),
        ("Unable to determine the device handle for GPU0: 0000:01:00.0: GPU is lost. Reboot the system", 15, "reboot"),
        ("", 2, "nvidia-smi"),
        ("", 0, "nvidia-smi"),
    ],
)
def test_a_broken_driver_is_unread_with_its_words_and_a_remedy(smi: FakeNvidiaSmi, words: str, code: int, remedy: str) -> None:
    """H2: the exit code comes first, the message on standard output is kept, the next move is named."""
    smi.answers(gpus=words + "\n", code=code)
    reason = unread(read_gpus())
    assert all(line in reason for line in words.splitlines())
    assert remedy in reason


def test_a_good_table_with_a_bad_exit_code_is_not_believed(smi: FakeNvidiaSmi) -> None:
    """The exit code decides even when the table looks whole."""
    smi.answers(gpus=capture("nvidia-smi-h200-idle.csv"), code=15)
    assert "exit code 15" in unread(read_gpus())


def test_a_failed_question_for_processes_is_no_empty_list(smi: FakeNvidiaSmi) -> None:
    """GPUs read and processes refused: the whole is unread."""
    smi.answers(gpus=capture("nvidia-smi-h200-idle.csv"), apps="Insufficient Permissions\n", apps_code=4)
    assert "Insufficient Permissions" in unread(read_gpus())


def test_a_field_that_an_old_driver_does_not_know_is_left_out(smi: FakeNvidiaSmi) -> None:
    """compute_cap is refused, the rest is read, and the missing one says why."""
    old = "index, uuid, name, memory.total [MiB], memory.used [MiB], driver_version, mig.mode.current\n0, GPU-1, Tesla T4, 15360 MiB, 0 MiB, 450.80.02, [N/A]\n"
    refuse = 'case "$1" in *compute_cap*) echo \'Field "compute_cap" is not a valid field to query.\'; exit 2;; esac'
    smi.answers(gpus=old, apps="gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n", before=refuse)
    found = read_gpus()
    assert isinstance(found, Gpus)
    assert found.gpus[0].total_bytes == 15360 * MIB
    assert "does not know" in unread(found.gpus[0].compute_capability)


def test_a_needed_field_that_is_refused_is_unread_and_ends(smi: FakeNvidiaSmi) -> None:
    """No endless asking: memory.used cannot be left out."""
    smi.answers(gpus='Field "memory.used" is not a valid field to query.\n', code=2)
    assert "memory.used" in unread(read_gpus())


def test_no_tool_and_no_driver_is_a_host_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list, which a CPU engine may be planned on."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_gpus(tmp_path) == Gpus()


@pytest.mark.parametrize("mark", ["dev/nvidia0", "dev/nvidiactl", "proc/driver/nvidia/version"])
def test_a_driver_without_its_tool_is_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    """There are GPUs, and nothing that could tell of them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / mark).parent.mkdir(parents=True)
    (tmp_path / mark).touch()
    assert mark in unread(read_gpus(tmp_path))


@pytest.mark.parametrize(
    "row", ["0, GPU-1, X, 1 MiB", "x, GPU-1, X, 1 MiB, 1 MiB, 9.0, 1, Disabled", "0, GPU-1, X, 1 MiB, 1 MiB, 9.0, 1, Disabled, more"]
)
def test_a_row_of_another_shape_is_refused(row: str) -> None:
    """Columns that do not fit the header are never guessed at."""
    with pytest.raises(BrokenTable):
        parse_gpus(f"{HEADER}{row}\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia-smi-topo-h200-x2.txt", {(0, 1): "NV18"}),
        ("nvidia-smi-topo-p2p-h200-x2.txt", {(0, 1): "OK"}),
    ],
)
def test_topology_as_the_tool_prints_it(name: str, expected: dict[tuple[int, int], str]) -> None:
    """Escape codes, tabs, a column too many and a legend; each pair once."""
    assert parse_matrix(capture(name)) == expected


def test_topology_of_eight_cards_beside_a_network_card() -> None:
    """28 pairs; what is no GPU is passed over."""
    found = parse_matrix(capture("nvidia-smi-topo-rtx-pro-6000.txt"))
    assert len(found) == 28 and set(found.values()) == {"PIX", "NODE", "SYS"}


def test_one_gpu_has_no_topology() -> None:
    """Nothing to join."""
    assert parse_matrix("\t\x1b[4mGPU0\tCPU Affinity\x1b[0m\nGPU0\t X \t0-15\n") == {}
