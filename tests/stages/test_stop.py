"""What must be free before another engine starts: port and GPUs, the latter told by a fake nvidia-smi."""

import os
import socket
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path

from modelpivot.facts.services import parse_sockets
from modelpivot.models.release import Release
from modelpivot.plans.wait import judge_free
from modelpivot.stages.spent import EndedWhenSpent, is_tracker
from modelpivot.stages.stop import name_blockers, read_free
from modelpivot.waiting import wait_for
from tests.stages.fake_gpu import FakeGpu
from tests.switching import SwitchHost


def _needs_gpu(host: SwitchHost, name: str) -> Release:
    return host.write(host.release(name).model_copy(update={"gpus": 1}))


def test_memory_of_the_old_release_blocks_nothing(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """Before the stop the GPUs may be full of the release that goes."""
    old, new = switch_host.serve(switch_host.release("old")), _needs_gpu(switch_host, "new")
    fake_gpu.hold(93_783, *switch_host.engines())
    assert name_blockers(switch_host.supervisor, old, new) == []


def test_memory_of_a_stranger_blocks(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """A stranger on a GPU is named before anything is stopped."""
    old, new = switch_host.serve(switch_host.release("old")), _needs_gpu(switch_host, "new")
    fake_gpu.hold(93_783, os.getpid())
    blockers = name_blockers(switch_host.supervisor, old, new)
    assert len(blockers) == 1
    assert f"held by {os.getpid()} (VLLM::EngineCore)" in blockers[0]


def test_free_only_when_the_memory_is_back(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """A stopped engine's place is free when the memory is measured back, not when its process is gone (H5)."""
    old, new = switch_host.release("old"), _needs_gpu(switch_host, "new")
    fake_gpu.hold(93_783)
    assert judge_free(read_free(switch_host.supervisor, old, new), 0) is None
    fake_gpu.hold(4)
    assert judge_free(read_free(switch_host.supervisor, old, new), 0) is True


def test_running_release_holds_its_own_place(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """On the way back an old release that still runs is not in its own way."""
    old = switch_host.serve(_needs_gpu(switch_host, "old"))
    fake_gpu.hold(93_783, *switch_host.engines())
    assert judge_free(read_free(switch_host.supervisor, switch_host.release("new"), old), 0) is True


def test_no_gpu_is_asked_for(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """A release without GPUs does not care who holds them."""
    fake_gpu.hold(93_783, os.getpid())
    assert name_blockers(switch_host.supervisor, None, switch_host.release("new")) == []


def test_an_engine_that_left_the_gpus_is_not_waited_for(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """Its server waits for clients for ever: it is ended, although its deadline is an hour away."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", fault="ignore_term").model_copy(update={"gpus": 1})))
    engines = switch_host.engines()
    fake_gpu.hold_until_seen(93_783, *engines)
    with EndedWhenSpent(switch_host.supervisor, old) as watch:
        switch_host.supervisor.stop(old, timeout_s=3600)
    assert [process.pid for process in watch.ended] == engines and switch_host.engines() == []


def test_an_engine_on_its_gpus_has_its_time(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """What still answers somebody is not cut short, however long it takes."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", args=("--stop-s", "4")).model_copy(update={"gpus": 1})))
    fake_gpu.hold(93_783, *switch_host.engines())
    with EndedWhenSpent(switch_host.supervisor, old) as watch:
        switch_host.supervisor.stop(old, timeout_s=3600)
    assert watch.ended == []


def test_an_engine_that_was_on_no_gpu_has_its_time(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """One whose processes the driver never showed cannot be seen to leave."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", args=("--stop-s", "4")).model_copy(update={"gpus": 1})))
    fake_gpu.hold(4)
    with EndedWhenSpent(switch_host.supervisor, old) as watch:
        switch_host.supervisor.stop(old, timeout_s=3600)
    assert watch.ended == []


def test_an_engine_that_has_answered_everybody_is_not_waited_for(switch_host: SwitchHost) -> None:
    """Nobody can reach it and nobody is connected: how long it tidies up is nobody's time."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", fault="linger")))
    engines = switch_host.engines()
    with EndedWhenSpent(switch_host.supervisor, old) as watch:
        switch_host.supervisor.stop(old, timeout_s=3600)
    assert [process.pid for process in watch.ended] == engines and switch_host.engines() == []
    assert "answered everybody" in watch.why


def test_an_engine_with_a_client_has_its_time(switch_host: SwitchHost) -> None:
    """Somebody who is connected may wait for an answer."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", fault="linger")))
    with socket.create_connection(("127.0.0.1", old.endpoint.port)):
        wait_for(lambda: is_taken(old.endpoint.port), lambda yes, _: yes or None, what="the engine to take the client", deadline_s=60)
        with EndedWhenSpent(switch_host.supervisor, old) as watch:
            switch_host.supervisor.stop(old, timeout_s=4)
    assert watch.ended == []


def is_taken(port: int) -> bool:
    """Whether the process that listens there has taken a connection out of the kernel's queue: then it is a descriptor of its own."""
    established = ("01",)
    return any(one.port == port and one.inode for one in parse_sockets(Path("/proc/net/tcp").read_text(), established))


def test_a_foreign_unit_tidies_up_as_long_as_it_likes(switch_host: SwitchHost) -> None:
    """What its own text makes it do at its end is not known."""
    old = switch_host.serve(switch_host.write(switch_host.release("old", fault="linger")))
    with EndedWhenSpent(switch_host.supervisor, old.model_copy(update={"origin": "adopted"})) as watch:
        switch_host.supervisor.stop(old, timeout_s=4)
    assert watch.ended == []


def test_what_removes_shared_memory_is_left_to_end_by_itself() -> None:
    """Python's own tracker is told from an engine."""
    held = shared_memory.SharedMemory(create=True, size=16)
    try:
        tracker = resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]
        wait_for(lambda: is_tracker(tracker), lambda yes, _: yes or None, what="the tracker's own command line", deadline_s=60)
        assert not is_tracker(os.getpid())
    finally:
        held.close()
        held.unlink()
