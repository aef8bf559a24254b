"""Judges of what a switch waits for."""

import pytest

from modelpivot.errors import SwitchFailed
from modelpivot.models.facts import Gpu, GpuProcess, Gpus, Listener
from modelpivot.models.frozen import Unread
from modelpivot.models.readiness import FreeFact, Readiness, StartFact, StartPhase
from modelpivot.plans.wait import judge_free, judge_start, name_obstacles

GIB = 2**30


def _gpu(used: int | Unread) -> Gpu:
    unread = Unread(unread="not asked")
    return Gpu(
        index=3, uuid="GPU-3", name="card", total_bytes=96 * GIB, used_bytes=used, compute_capability=unread, driver=unread, mig=unread
    )


def _start(*, is_alive: bool = True, missing: str | None = "port", quiet_s: float = 0.0, **phase: object) -> StartFact:
    ready = Readiness.model_validate({"missing": missing})
    return StartFact(is_alive=is_alive, phase=StartPhase.model_validate(phase), ready=ready, quiet_s=quiet_s)


def test_nothing_left_is_free() -> None:
    """No process, no listener, no GPU asked for: free."""
    assert judge_free(FreeFact(port=8000), 0) is True


def test_idle_driver_is_free() -> None:
    """Some hundred MB that the driver holds are no engine's."""
    assert judge_free(FreeFact(port=8000, gpus=Gpus(gpus=[_gpu(600_000_000)])), 0) is True


def test_every_obstacle_is_named() -> None:
    """Leftovers, the stranger on the port and the process on the GPU are all told at once, with number and name."""
    process = GpuProcess(gpu_uuid="GPU-3", pid=860, name="VLLM::EngineCore", used_bytes=90 * GIB)
    fact = FreeFact(
        port=8000,
        leftovers=[41],
        holders=[Listener(port=8000, address="0.0.0.0", pid=42, command="nginx")],
        gpus=Gpus(gpus=[_gpu(90 * GIB)], processes=[process]),
    )
    words = " / ".join(name_obstacles(fact))
    assert judge_free(fact, 0) is None
    assert all(part in words for part in ("process 41", "process 42 (nginx)", "GPU 3", "860 (VLLM::EngineCore)"))


def test_memory_without_a_process_needs_a_reset() -> None:
    """Memory that nobody holds never comes back by waiting: the remedy is said (H5)."""
    assert "needs a reset" in name_obstacles(FreeFact(port=1, gpus=Gpus(gpus=[_gpu(50 * GIB)])))[0]


@pytest.mark.parametrize("gpus", [Unread(unread="driver mismatch"), Gpus(gpus=[_gpu(Unread(unread="[N/A]"))])])
def test_unread_memory_is_not_free(gpus: Gpus | Unread) -> None:
    """Memory that cannot be read is never taken for zero (H1)."""
    assert judge_free(FreeFact(port=1, gpus=gpus), 0) is None


def test_unread_listeners_are_not_free() -> None:
    """A port whose listeners cannot be read is not taken for free."""
    assert judge_free(FreeFact(port=1, holders=Unread(unread="no /proc")), 0) is None


def test_ready() -> None:
    """Every rung holds: ready, however quiet it was."""
    assert judge_start(_start(missing=None, quiet_s=1e9), ready_s=1) is True


def test_progress_moves_the_deadline() -> None:
    """A start that goes on is waited for."""
    assert judge_start(_start(quiet_s=9.9), ready_s=10) is None


def test_death_ends_the_wait() -> None:
    """A dead engine ends the wait at once, with its own words."""
    with pytest.raises(SwitchFailed, match="KeyError: 'x'") as caught:
        judge_start(_start(is_alive=False, cause=['File "a.py", line 1', "KeyError: 'x'"]), ready_s=10)
    assert caught.value.cause == ('File "a.py", line 1', "KeyError: 'x'")


def test_silence_ends_the_wait() -> None:
    """No progress for `ready_s` ends the wait and says where it stood."""
    with pytest.raises(SwitchFailed, match=r"no progress for 10 s .phase weights 3 of 9"):
        judge_start(_start(quiet_s=10, word="weights", done=3, total=9), ready_s=10)


def test_silence_between_gpus_has_its_remedy() -> None:
    """An engine that is silent where the GPUs find each other is a hang of NCCL, and what to try is said (E12)."""
    with pytest.raises(SwitchFailed) as caught:
        judge_start(_start(quiet_s=10, word="engine"), ready_s=10)
    assert "NCCL_P2P" in caught.value.hint
