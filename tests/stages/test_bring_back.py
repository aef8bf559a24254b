"""The way back where the place of the old release is not measured free."""

import socket

import pytest

from modelpivot.models.release import Release
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from modelpivot.state.cutovers import ask_decision
from modelpivot.state.runs import read_events
from tests.ports import free_port
from tests.stages.fake_gpu import FakeGpu
from tests.switching import DEADLINES, SwitchHost, answers

QUICK = DEADLINES.model_copy(update={"free_s": 0.5})


def serve_on_gpu(host: SwitchHost, gpu: FakeGpu) -> Release:
    """An old release on the GPU."""
    old = host.serve(host.write(host.release("old", deadlines=QUICK).model_copy(update={"gpus": 1})))
    gpu.hold(93_783, *host.engines())
    return old


@pytest.mark.parametrize("how", ["late", "silent"])
def test_what_is_not_measured_free_is_tried_all_the_same(switch_host: SwitchHost, fake_gpu: FakeGpu, how: str) -> None:
    """The memory does not come back in time, or the driver says nothing: the last attempt starts the old release, which serves, and says so."""
    old, new = serve_on_gpu(switch_host, fake_gpu), switch_host.release("new", fault="hang_loading")
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    switch_host.wait_for_phase("readying")
    if how == "silent":
        fake_gpu.fall_silent()
    ask_decision(switch_host.state, "return", reason="changed my mind")
    closed = follow_switch(context, cutover, until=is_closed)
    assert (closed.outcome, answers(old)) == ("returned", True), closed.reason
    obstacle = "98.3 GB (91.6 GiB) of GPU 0 are in use" if how == "late" else "the memory of the GPUs is"
    assert closed.reason.startswith(f"changed my mind; old was started although {obstacle}")
    warnings = [event.message for event in read_events(context.run)[0] if event.kind == "warning" and event.stage == "prove free"]
    assert [obstacle in warning for warning in warnings] == [True]


def test_a_port_that_somebody_holds_is_not_tried(switch_host: SwitchHost, fake_gpu: FakeGpu) -> None:
    """A stranger answers there: an engine that is started could not, and who holds the port is named."""
    old, new = serve_on_gpu(switch_host, fake_gpu), switch_host.release("new", fault="hang_loading", port=free_port())
    context = switch_host.context()
    cutover = start_switch(context, to=new, frm=old)
    switch_host.wait_for_phase("readying")
    with socket.create_server(("127.0.0.1", switch_host.port)):
        ask_decision(switch_host.state, "return", reason="changed my mind")
        closed = follow_switch(context, cutover, until=is_closed)
    assert closed.outcome == "nothing_serves"
    assert switch_host.engines() == [] and "old is stopped" in closed.reason
