"""How the engine's client is started, and what becomes of one that fails. (The real one: tests/inside/test_real_engine.py.)"""

from itertools import pairwise
from pathlib import Path

from modelpivot.benchmark.run import bench_arguments, bench_environ, deadline_s, run_workload
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.models.workload import Workload
from tests.weights.told import Told

WORKLOAD = Workload(name="many at once", prompts=40, concurrency=8, input_tokens=100, output_tokens=50, seed=7)


def release(folder: Path, *flags: str, key: Path | None = None) -> Release:
    """A release whose environment has a fake Python: a script that says why it ends."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text("#!/bin/sh\necho 'ModuleNotFoundError: vllm' >&2\nexit ${FAKE_EXIT:-1}\n")
    python.chmod(0o755)
    return Release(
        id="a-1",
        name="a",
        serving_digest="0",
        repo="a/b",
        commit="0" * 40,
        weights_dir=folder,
        view_dir=folder / "view",
        environment_dir=folder,
        engine="vllm",
        engine_version="0",
        start=StartSpec(argv=["python", *flags], environment={"NCCL_PROTO": "LL"}, working_directory=folder),
        endpoint=Endpoint(bind="0.0.0.0", port=8000, served_name="kimi", api_key_file=key),
    )


def test_the_workload_is_what_the_client_is_told(tmp_path: Path) -> None:
    """Lengths, number, concurrency, seed, exact length of answers, and every request's own result."""
    words = bench_arguments(release(tmp_path), WORKLOAD, tmp_path / "r.json")
    told = dict(pairwise(words))
    assert told["--base-url"] == "http://127.0.0.1:8000"
    assert (told["--model"], told["--tokenizer"]) == ("kimi", str(tmp_path / "view"))
    assert (told["--num-prompts"], told["--max-concurrency"], told["--seed"]) == ("40", "8", "7")
    assert (told["--random-input-len"], told["--random-output-len"]) == ("100", "50")
    assert {"--ignore-eos", "--save-detailed"} <= set(words)
    assert "--trust-remote-code" not in words


def test_remote_code_is_trusted_only_where_the_release_does(tmp_path: Path) -> None:
    """A tokenizer with code of its own needs it; the recipe has decided that."""
    assert "--trust-remote-code" in bench_arguments(release(tmp_path, "--trust-remote-code"), WORKLOAD, tmp_path / "r.json")


def test_the_client_gets_the_key_and_no_gpu(tmp_path: Path) -> None:
    """The endpoint's key from its file; GPU memory belongs to the engine."""
    key = tmp_path / "key"
    key.write_text("secret\n")
    environ = bench_environ(release(tmp_path, key=key))
    assert (environ["OPENAI_API_KEY"], environ["CUDA_VISIBLE_DEVICES"], environ["NCCL_PROTO"]) == ("secret", "", "LL")


def test_a_client_that_fails_gives_its_reason_and_no_figures(tmp_path: Path) -> None:
    """Its last words in the measurement, all of them in the log."""
    measurement = run_workload(release(tmp_path), WORKLOAD, tmp_path / "out", Told())
    assert "ModuleNotFoundError: vllm" in measurement.invalid[0]
    assert (tmp_path / "out" / "many_at_once.log").read_text() == "ModuleNotFoundError: vllm\n"


def test_a_client_that_writes_nothing_is_invalid_whatever_lies_there(tmp_path: Path) -> None:
    """Exit code 0 without a result; the result of an earlier run is not taken for it."""
    made = release(tmp_path)
    quiet = made.model_copy(update={"start": made.start.model_copy(update={"environment": {"FAKE_EXIT": "0"}})})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "many_at_once.json").write_text("{}")
    measurement = run_workload(quiet, WORKLOAD, tmp_path / "out", Told())
    assert "wrote no result" in measurement.invalid[0]


def test_the_deadline_grows_with_the_work() -> None:
    """Prompts in rounds of the concurrency, at one token a second, beside the client's own start."""
    assert deadline_s(WORKLOAD) == 600 + 6 * 50
