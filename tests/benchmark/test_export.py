"""A result on one line: everything that was measured has its column, with the unit in its name."""

from typing import Any

import pytest

from modelpivot.benchmark.export import COLUMNS, flat_row
from modelpivot.models.benchmark import GpuLoad, Measurement, ServerLoad, Setup
from tests.benchmark.results import LOAD, SETUP, result

ELSEWHERE = {"workload", "invalid", "warnings", "workload_digest", "server", "gpus", "output_tokens"}
"""Fields of a measurement whose columns have other names or are made of several."""


def gpu(index: int, **said: Any) -> GpuLoad:
    """One of the two GPUs."""
    load = {
        "mean_power_w": 300.0,
        "peak_power_w": 400.0,
        "mean_sm_clock_mhz": 1900.0 + 100 * index,
        "mean_memory_clock_mhz": 3201.0,
        "peak_memory_bytes": 2**34,
        "peak_temperature_c": 60.0 + index,
        "mean_utilization": 0.8 + index / 10,
        "samples": 9 + index,
    }
    return GpuLoad.model_validate({"index": index, "uuid": f"GPU-{index}", **load, **said})


def test_gpus_become_one_figure_each() -> None:
    """Powers and memory are added, clocks and utilization averaged, of temperatures the highest, of samples the fewest."""
    row = flat_row(result(gpus=[gpu(0), gpu(1)]))
    assert {name: value for name, value in row.items() if name.startswith("gpu_")} == {
        "gpu_power_w": 600.0,
        "gpu_peak_power_w": 800.0,
        "gpu_peak_memory_bytes": 2**35,
        "gpu_sm_clock_mhz": 1950.0,
        "gpu_memory_clock_mhz": 3201.0,
        "gpu_utilization": pytest.approx(0.85),
        "gpu_peak_temperature_c": 61.0,
        "gpu_samples": 9,
    }


def test_what_one_gpu_does_not_say_is_unknown_for_all() -> None:
    """A sum that lacks a part is no sum; a host without GPUs has none."""
    row = flat_row(result(gpus=[gpu(0), gpu(1, mean_power_w=None)]))
    assert (row["gpu_power_w"], row["gpu_peak_power_w"]) == (None, 800.0)
    assert flat_row(result())["gpu_power_w"] is None


def test_flags_variables_warnings_and_tokens_have_columns() -> None:
    """Flags and variables as a shell takes them; the engine's tokens beside the client's."""
    setup = SETUP.model_copy(update={"argv": ["--max-model-len", "4096"], "environment": {"NCCL_PROTO": "LL", "X": "a b"}})
    row = flat_row(result(server=LOAD, setup=setup, warnings=["short", "loud"]))
    assert (row["flags"], row["variables"], row["warnings"]) == ("--max-model-len 4096", "NCCL_PROTO=LL 'X=a b'", "short; loud")
    assert (row["prompt_tokens"], row["generation_tokens"], row["answered_tokens"]) == (700, 352, 320)


def test_every_field_of_set_up_and_measurement_has_a_column() -> None:
    """So that a new one is not forgotten; the line and its columns are the same."""
    row = flat_row(result())
    assert tuple(row) == COLUMNS
    assert Measurement.model_fields.keys() - ELSEWHERE <= row.keys()
    assert ServerLoad.model_fields.keys() <= row.keys()
    assert Setup.model_fields.keys() - {"argv", "environment"} <= row.keys()
