"""Power, clocks and memory as nvidia-smi tells them: what it does not say is unknown, never zero."""

from pathlib import Path

import pytest

from modelpivot.benchmark.gpu_load import parse_samples, read_samples, summarize

HEADER = "index, uuid, power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], memory.used [MiB], temperature.gpu, utilization.gpu [%]"
BUSY = f"{HEADER}\n0, GPU-0, 118.32 W, 1980 MHz, 3201 MHz, 132772 MiB, 34, 97 %\n1, GPU-1, [N/A], [N/A], 3201 MHz, [N/A], [Unknown Error], [N/A]\n"


def test_a_real_gpu_tells_everything() -> None:
    """One H200 that holds a model."""
    (sample,) = parse_samples((Path(__file__).parents[1] / "captures" / "nvidia-smi-h200-load.csv").read_text())
    assert (sample.index, sample.memory_clock_mhz) == (0, 3201.0)
    assert None not in (sample.power_w, sample.sm_clock_mhz, sample.used_bytes, sample.temperature_c, sample.utilization)
    assert (sample.used_bytes or 0) > 100 * 2**30


def test_what_is_told_is_read_and_what_is_not_is_unknown() -> None:
    """H1: one GPU that tells all, one that tells its memory clock alone."""
    busy, silent = parse_samples(BUSY)
    assert (busy.power_w, busy.sm_clock_mhz, busy.used_bytes, busy.utilization) == (118.32, 1980.0, 132772 * 2**20, 0.97)
    assert (silent.power_w, silent.sm_clock_mhz, silent.used_bytes, silent.temperature_c, silent.utilization) == (None,) * 5
    assert silent.memory_clock_mhz == 3201.0


def test_samples_become_means_and_peaks_of_each_gpu() -> None:
    """Unknown ones count for nothing, also beside known ones."""
    later = BUSY.replace("118.32 W", "130 W").replace("1, GPU-1, [N/A]", "1, GPU-1, 70.5 W")
    first, second = summarize([*parse_samples(BUSY), *parse_samples(later)])
    assert first.mean_power_w == pytest.approx(124.16)
    assert (first.peak_power_w, first.samples) == (130.0, 2)
    assert (second.mean_power_w, second.peak_memory_bytes) == (70.5, None)


@pytest.mark.parametrize("text", ["", HEADER, "No devices were found", f"{HEADER}\n0, GPU-0, 1 W"])
def test_another_shape_is_no_sample(text: str) -> None:
    """A benchmark does not fail for want of its temperature."""
    assert parse_samples(text) == []


@pytest.mark.parametrize(("script", "count"), [(f"cat <<'END'\n{BUSY}END", 2), ("echo 'Driver/library version mismatch'; exit 18", 0)])
def test_the_tool_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, count: int) -> None:
    """A fake nvidia-smi that answers, and one that fails."""
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert len(read_samples()) == count
