"""What of prefect.yaml is deployed from which host: a nightly for each that has a name, at its own hour; schedules once."""

import re

import pytest
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES

from deployments.apply import PROJECT
from deployments.entries import Document, Entry, choose_entries, full_name, read_document
from modelpivot.flow_child import HEARTBEAT
from modelpivot.models.host import HostConfig
from modelpivot.up.run import queue_words

RETRIES = "PREFECT_CLIENT_MAX_RETRIES"
COMMON = "upgrade-test/upgrade-test"


@pytest.fixture(scope="module")
def document() -> Document:
    """The project's own prefect.yaml."""
    return read_document(PROJECT / "prefect.yaml")


def nightly_of(document: Document, name: str, **known: object) -> Entry:
    """The nightly that a host brings."""
    host = HostConfig.model_validate({"name": name, **known})
    return find(choose_entries(document, host, lambda _: False), f"upgrade-test/{name}")


def test_how_long_a_run_tries_to_tell_its_end(document: Document) -> None:
    """Prefect waits 2, 4, 8 ... s between its tries: 17 minutes of a deployment's run, one of a command's, as the docs say of each."""

    def minutes(retries: int) -> int:
        return round(sum(1 << count for count in range(1, retries + 1)) / 60)

    deployed = {int(entry["work_pool"]["job_variables"]["env"][RETRIES]) for entry in document["deployments"]}
    assert [minutes(retries) for retries in deployed] == [17]
    assert RETRIES not in HEARTBEAT and minutes(int(PREFECT_CLIENT_MAX_RETRIES.default())) == 1
    for name in ("alerts.md", "prefect.md"):
        text = " ".join((PROJECT / "docs" / name).read_text().split())
        assert "tries for 17 minutes" in text and re.search(r"that a command started,? (tries )?for one minute", text)


def find(document: Document, name: str) -> Entry:
    """The one entry of this name."""
    found: list[Entry] = [one for one in document["deployments"] if full_name(one) == name]
    assert len(found) == 1
    return found[0]


def test_every_host_has_a_nightly_of_its_own(document: Document) -> None:
    """In its own queue, which its own worker polls, with a limit of its own; all else is as in the common one."""
    host, common = HostConfig(name="gpu-01"), find(document, COMMON)
    own = nightly_of(document, "gpu-01")
    assert own["work_pool"] == {**common["work_pool"], "work_queue_name": "gpu-01"}
    assert queue_words(host) == ["--work-queue", "default", "--work-queue", "gpu-01"]
    changed = {key for key in own if own[key] != common[key]}
    assert changed == {"name", "description", "work_pool"}


def test_the_only_host_needs_no_name(document: Document) -> None:
    """What prefect.yaml says and no more; its worker polls every queue."""
    assert choose_entries(document, HostConfig(), lambda _: False) == document
    assert queue_words(HostConfig()) == []


@pytest.mark.parametrize(
    ("window", "cron", "zone"),
    [
        ("Sun-Thu 01:30-05:00 Europe/Berlin", "30 1 * * mon,tue,wed,thu,sun", "Europe/Berlin"),
        ("22:00-04:00", "0 22 * * mon,tue,wed,thu,fri,sat,sun", "UTC"),
    ],
)
def test_its_hour_is_the_begin_of_its_window(document: Document, window: str, cron: str, zone: str) -> None:
    """Days, hour and zone of the window; paused, as every schedule on arrival."""
    assert nightly_of(document, "gpu-01", window=window)["schedules"] == [{"cron": cron, "timezone": zone, "active": False}]


def test_a_schedule_that_is_there_is_not_deployed_again(document: Document) -> None:
    """Its deployment is, without it: the API then keeps the one it has. One that is new brings its own."""
    chosen = choose_entries(document, HostConfig(name="gpu-01"), lambda name: name == COMMON)
    assert find(chosen, COMMON) == {key: value for key, value in find(document, COMMON).items() if key != "schedules"}
    assert "schedules" in find(chosen, "upgrade-test/gpu-01") and "schedules" in find(chosen, "check-weights/check-weights")
