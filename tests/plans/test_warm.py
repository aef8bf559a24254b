"""What may be prepared while another release serves: only what memory holds beside it."""

from modelpivot.models.engine import Gate
from modelpivot.models.frozen import Unread
from modelpivot.models.release import Release
from modelpivot.plans.clients import client_changes
from modelpivot.plans.warm import judge_warm, may_wait_at_device, refuse_gate, refuse_reading
from tests.plans.samples import old_release

GB = 10**9
UNREAD = Unread(unread="/proc/meminfo: no such file")


def gated(name: str = "new") -> Release:
    """A release whose engine takes 6 GB at its gate."""
    return old_release().model_copy(update={"id": name, "gate": Gate(preload=["a"], memory_bytes=6 * GB), "gpus": 1})


def test_an_engine_waits_only_where_memory_holds_it() -> None:
    """A tenth of what is available stays free; unread memory is no memory."""
    old, new = gated("old"), gated()
    assert refuse_gate(new, old, is_up=False, available=7 * GB) == ""
    assert "6.0 GB" in refuse_gate(new, old, is_up=False, available=int(6.5 * GB))
    assert "/proc/meminfo" in refuse_gate(new, old, is_up=False, available=UNREAD)


def test_a_release_that_runs_has_no_gate() -> None:
    """Neither the one that serves nor one that is up already is started a second time."""
    assert "serves" in refuse_gate(gated("same"), gated("same"), is_up=False, available=99 * GB)
    assert "runs" in refuse_gate(gated(), gated("old"), is_up=True, available=99 * GB)


def test_an_engine_waits_at_its_device_where_all_its_processes_are_its_children() -> None:
    """Not one that is spread over nodes, replicas or Ray, or that may be by a file of its own, however it is spelled."""
    serve = ["python", "-m", "vllm.entrypoints.openai.api_server", "--tensor-parallel-size", "8", "--distributed-executor-backend"]
    assert may_wait_at_device(
        [*serve, "mp", "--reasoning-parser", "qwen3"], {"NCCL_DEBUG": "WARN", "VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
    )
    for words in (
        "--data-parallel-size=2",
        "--data_parallel_size 2",
        "--data-parallel-siz 2",
        "-dp 2",
        "--nnodes 2",
        "-n 2",
        "-r 1",
        "--uds /run/s",
    ):
        assert not may_wait_at_device([*serve, "mp", *words.split()], {}), words
    assert not may_wait_at_device([*serve[:3], "--config", "serve.yaml"], {})
    assert not may_wait_at_device([*serve, "ray"], {})
    assert not may_wait_at_device([*serve[:-1], "--distributed-executor-backend=ray"], {})
    assert not may_wait_at_device([*serve, "mp"], {"VLLM_WORKER_MULTIPROC_METHOD": "fork"})


def test_each_further_process_at_its_device_takes_memory() -> None:
    """Eight GPUs: eight processes wait, seven more than with one."""
    eight = gated().model_copy(update={"gpus": 8})
    assert "13.0 GB" in refuse_gate(eight, gated("old"), is_up=False, available=14 * GB)
    assert refuse_gate(eight, gated("old"), is_up=False, available=15 * GB) == ""


def test_weights_are_read_only_beside_those_of_the_old_release() -> None:
    """New weights, old weights and the engine at its gate: all of them, or nothing is read."""
    assert refuse_reading(gated(), needed=540 * GB, kept=402 * GB, available=1060 * GB) == ""
    refused = refuse_reading(gated(), needed=540 * GB, kept=402 * GB, available=1050 * GB)
    assert all(words in refused for words in ("540.0 GB", "402.0 GB", "977.9 GiB"))
    assert refuse_reading(gated(), needed=540 * GB, kept=0, available=700 * GB) == ""
    assert "/proc/meminfo" in refuse_reading(gated(), needed=1, kept=0, available=UNREAD)


def test_both_are_waited_for() -> None:
    """Nothing is waited for once the weights are read and the engine waits or will not come."""
    assert judge_warm(is_serving=True, is_reading=False, is_coming=False) is True
    assert judge_warm(is_serving=True, is_reading=True, is_coming=False) is None
    assert judge_warm(is_serving=True, is_reading=False, is_coming=True) is None
    assert judge_warm(is_serving=False, is_reading=True, is_coming=True) is True


def test_clients_are_told_of_flags_that_change_an_answer() -> None:
    """Sampling defaults and media limits are told with both values."""
    old = old_release()
    argv = [*old.start.argv, "--override-generation-config", '{"temperature": 0}']
    new = old.model_copy(update={"id": "other", "start": old.start.model_copy(update={"argv": argv})})
    assert 'the sampling defaults: {"temperature": 0} instead of the engine\'s default' in client_changes(old, new)
