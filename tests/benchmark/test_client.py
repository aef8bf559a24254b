"""A client that asks all the time tells what it lost."""

import threading
import time

import pytest

from modelpivot.benchmark.client import Client
from modelpivot.models.cutover import Lost
from tests.switching import SwitchHost, wait_until

QUICK_S = 0.02


def test_never_up_is_no_downtime(switch_host: SwitchHost) -> None:
    """Where nobody ever answered nothing was lost, however often it was asked."""
    client = Client([switch_host.release("one").endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.result().asked > 5, what="some requests")
    lost = client.stop()
    assert not client.was_up
    assert (lost.lost_requests, lost.downtime_s, lost.last_good_at) == (0, 0.0, None)


def test_first_answer_ends_no_downtime(switch_host: SwitchHost) -> None:
    """Waiting for the first answer of all is no downtime."""
    release = switch_host.release("one")
    client = Client([release.endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.result().asked > 5, what="some requests")
    switch_host.serve(release)
    wait_until(lambda: client.was_up, what="an answer")
    assert client.stop().downtime_s == 0.0


def test_gap_is_measured(switch_host: SwitchHost) -> None:
    """From the last good answer to the first good one after a loss, by the endpoint that answers then."""
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new")
    client = Client([old.endpoint, new.endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.was_up, what="an answer")
    before = time.time()
    switch_host.supervisor.stop(old, timeout_s=3)
    wait_until(lambda: client.is_down, what="a loss")
    switch_host.serve(new)
    wait_until(lambda: not client.is_down, what="answers again")
    lost = client.stop()
    assert 0.1 < lost.downtime_s < time.time() - before + 1
    assert lost.lost_requests < lost.asked


def test_open_gap_counts_until_now(switch_host: SwitchHost) -> None:
    """A service that does not come back is down until the client is asked, but not for a client that goes on later."""
    old = switch_host.serve(switch_host.release("old"))
    client = Client([old.endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.was_up, what="an answer")
    switch_host.supervisor.stop(old, timeout_s=3)
    wait_until(lambda: client.is_down, what="a loss")
    assert client.result(has_open_gap=False).downtime_s == 0.0
    first = client.stop().downtime_s
    assert 0 < first < client.result().downtime_s


def test_goes_on_where_another_ended(switch_host: SwitchHost) -> None:
    """A client of a new switch process counts on: the gap began when the earlier one had its last answer."""
    release = switch_host.serve(switch_host.release("one"))
    before = time.time()
    earlier = Lost(asked=10, lost_requests=3, downtime_s=2.0, last_good_at=before - 5)
    client = Client([release.endpoint], every_s=QUICK_S, earlier=earlier, is_down=True).start()
    wait_until(lambda: not client.is_down, what="an answer")
    lost = client.stop()
    assert (lost.lost_requests, lost.asked > 10) == (3, True)
    assert 7 <= lost.downtime_s <= 7 + time.time() - before


def test_pause_counts_for_nothing(switch_host: SwitchHost) -> None:
    """What happens between pause and resume is nobody's loss."""
    release = switch_host.serve(switch_host.release("one"))
    client = Client([release.endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.was_up, what="an answer")
    client.pause()
    wait_until(lambda: _is_still(client), what="no more requests")
    switch_host.supervisor.stop(release, timeout_s=3)
    switch_host.serve(release)
    client.resume()
    asked = client.result().asked
    wait_until(lambda: client.result().asked > asked + 2, what="requests again")
    lost = client.stop()
    assert (lost.lost_requests, lost.downtime_s) == (0, 0.0)


def _is_still(client: Client) -> bool:
    before = client.result().asked
    threading.Event().wait(4 * QUICK_S)
    return client.result().asked == before


@pytest.mark.parametrize("key", [b"two\nlines", b"\xff\xfe", "\u5b57".encode()])
def test_one_that_cannot_be_asked_ends_no_client(switch_host: SwitchHost, key: bytes) -> None:
    """The key of the old release is none that a request can carry: the new one is asked all the same, again and again."""
    path = switch_host.root / "key"
    path.write_bytes(key)
    old, new = switch_host.release("old").endpoint, switch_host.serve(switch_host.release("new"))
    client = Client([old.model_copy(update={"api_key_file": path}), new.endpoint], every_s=QUICK_S).start()
    wait_until(lambda: client.result().asked > 3, what="some requests")
    assert client.stop().lost_requests == 0
    assert client.was_up
