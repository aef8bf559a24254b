"""What real logs of starting engines say."""

from pathlib import Path

import pytest

from modelpivot.facts.start_log import parse_start_log, read_last_lines, read_start_log

CAPTURES = Path(__file__).parents[1] / "captures"
ROOT = "KeyError: 'layers.1.mlp.gate.e_score_correction_bias'"


GOOD = [
    "vllm-0.32-cpu-qwen3-ok.log",
    "vllm-0.26-h200-qwen3-7b-cold-ok.log",
    "vllm-0.26-h200-qwen3-7b-gated-ok.log",
    "vllm-0.26-h200-qwen3-ok.log",
]


@pytest.mark.parametrize("name", GOOD)
def test_good_start(name: str) -> None:
    """A start that went well ends in the phase up, without a cause, whatever it warned of."""
    phase = read_start_log(CAPTURES / name)
    assert (phase.word, phase.cause) == ("up", [])


def _phases_of(name: str) -> list[str]:
    lines = (CAPTURES / name).read_text().splitlines()
    return list(dict.fromkeys(parse_start_log("\n".join(lines[:count])).word for count in range(len(lines))))


def test_phases_in_order() -> None:
    """The phases of a compiled start come one after another."""
    order = ["starting", "configuring", "engine", "weights", "memory", "compile", "graphs", "listening", "up"]
    assert [word for word in order if word in _phases_of("vllm-0.26-h200-qwen3-ok.log")] == order


def test_eager_start_compiles_nothing() -> None:
    """A warning that compilation is off is no phase of compiling."""
    assert "compile" not in _phases_of("vllm-0.32-cpu-qwen3-ok.log")


def test_shards_are_counted() -> None:
    """The shard bar gives i of n, also where it is drawn with carriage returns."""
    text = "x\r(EngineCore pid=1) Loading safetensors checkpoint shards:   9% Completed | 5/56 [00:00<00:08,  5.99it/s]\r"
    phase = parse_start_log(text)
    assert (str(phase), phase.done, phase.total) == ("weights 5 of 56", 5, 56)


def test_cause_far_above_the_last_line() -> None:
    """The cause is the first exception with its place, not the wrapper that the log ends in."""
    cause = read_start_log(CAPTURES / "vllm-0.26-h200-missing-tensor-fails.log").cause
    assert cause[-1] == ROOT
    assert "deepseek_v2.py" in cause[0]
    assert not any("See root cause above" in line for line in cause)


def test_cause_of_several_lines() -> None:
    """A message that goes on below its exception is kept."""
    cause = read_start_log(CAPTURES / "vllm-0.32-cpu-no-quantization-config-fails.log").cause
    assert any("Cannot find the config file for gptq" in line for line in cause)
    assert "ValidationError" in cause[2]


def test_usage_error() -> None:
    """A flag that the engine does not know is the cause, though nothing was raised."""
    text = "usage: api_server.py [options]\napi_server.py: error: unrecognized arguments: --no-such-flag\n"
    assert parse_start_log(text).cause == ["api_server.py: error: unrecognized arguments: --no-such-flag"]


def test_waiting_is_no_progress() -> None:
    """Lines that only say that the engine waits, statistics and the access log add nothing to the progress."""
    told = parse_start_log("one\n").progress_lines
    idle = [
        "(APIServer pid=1) INFO 11-30 08:35:21 [utils.py:1] Waiting for 1 local, 0 remote core engine proc(s) to start.",
        "(EngineCore pid=1) INFO 11-30 08:35:21 [shm.py:1] No available shared memory broadcast block found in 60 seconds.",
        '(APIServer pid=1) INFO:     127.0.0.1:35840 - "GET /health HTTP/1.1" 200 OK',
        "(APIServer pid=1) INFO 11-30 08:44:13 [loggers.py:310] Engine 000: Avg prompt throughput: 0.4 tokens/s, Running: 0 reqs",
    ]
    assert parse_start_log("\n".join(["one", *idle])).progress_lines == told


def test_no_log() -> None:
    """An engine that has not written anything yet is starting."""
    assert read_start_log(Path("/nowhere/log")).word == "starting"
    assert read_last_lines(Path("/nowhere/log"), 3) == []


def test_huge_log(tmp_path: Path) -> None:
    """A flooded log is read at both ends: the phase at its end and the cause at its head are found."""
    log = tmp_path / "log"
    head = (CAPTURES / "vllm-0.26-h200-missing-tensor-fails.log").read_text()
    log.write_text(head + "flood of one line\n" * 400_000 + "Application startup complete.\n")
    phase = read_start_log(log)
    assert (phase.word, phase.cause[-1]) == ("up", ROOT)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Invalid UTF-8 is no obstacle, and the last lines come without it."""
    log = tmp_path / "log"
    log.write_bytes(b"\xff\xfe\n" + b"Resolved architecture: X\n" + b"\x00\xff")
    assert read_start_log(log).word == "configuring"
    assert read_last_lines(log, 2)[0] == "Resolved architecture: X"
