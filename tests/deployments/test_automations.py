"""Automations from files: made once, changed when their file changes, gone with it; what they expect is what flows end in."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.events.schemas.automations import Automation, AutomationCore
from prefect.server.events.schemas.events import Resource, ResourceSpecification
from prefect.server.utilities.user_templates import render_user_template_sync
from pydantic import SecretStr

from blocks import AlertChannel
from deployments.automate import AutomationFile, apply_automations, read_automations
from deployments.channels import Channel, deliver_channels
from flows.carry import ASKING, COMPLETED_NAMES, FAILED_NAMES, GATE_NAMES
from flows.settling import UNANSWERED
from modelpivot.errors import UsageError
from modelpivot.models.alert_address import AlertAddress

NAME = "modelpivot: failed"
FAILED = {"Failed", "HostHeld", *FAILED_NAMES.values(), *GATE_NAMES.values()}
"""Names of all states in which a flow of ours ends badly by itself."""


@pytest.fixture
def client() -> SyncPrefectClient:
    """A client of the session's server."""
    return get_client(sync_client=True)


@pytest.fixture
def folder(tmp_path: Path, client: SyncPrefectClient) -> Iterator[Path]:
    """A folder of automations with one file; in the end nothing of it is left."""
    write(tmp_path, "one")
    yield tmp_path
    put(client, tmp_path / "empty")


def write(folder: Path, name: str, **changes: object) -> None:
    """One automation as a file."""
    trigger = {"posture": "Reactive", "expect": ["nothing.like.it"], "threshold": 1, "within": 0}
    document = {"name": f"test: {name}", "description": "", "trigger": trigger, "alert": {"subject": "s", "body": "b"}, **changes}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(document))


def copy_of(automation: Automation, **changes: object) -> AutomationCore:
    """One more like it, to be made."""
    return AutomationCore.model_validate({**automation.model_dump(exclude={"id"}), **changes})


def put(client: SyncPrefectClient, folder: Path, channels: Mapping[str, Channel] | None = None) -> list[str]:
    """Apply the folder; the lines about its own automations."""
    return [line for line in apply_automations(client, channels or {}, folder=folder) if "test:" in line]


def read(client: SyncPrefectClient, name: str = "test: one") -> Automation | None:
    """An automation by its name."""
    found = client.read_automations_by_name(name)
    assert len(found) <= 1
    return found[0] if found else None


def test_a_second_time_changes_nothing(client: SyncPrefectClient, folder: Path) -> None:
    """The same file twice: one automation, not written again, so that its open windows go on."""
    assert "made" in put(client, folder)[0]
    before = client.request("POST", "/automations/filter", json={}).json()
    assert "there" in put(client, folder)[0]
    assert client.request("POST", "/automations/filter", json={}).json() == before


def test_a_changed_file_changes_its_automation_and_leaves_it_paused(client: SyncPrefectClient, folder: Path) -> None:
    """The same id, the new trigger; what somebody paused stays paused."""
    put(client, folder)
    before = read(client)
    assert before
    client.pause_automation(before.id)
    write(folder, "one", description="changed")
    assert "changed" in put(client, folder)[0]
    after = read(client)
    assert after and (after.id, after.description, after.enabled) == (before.id, "changed", False)


def test_an_automation_without_its_file_is_deleted_and_those_of_others_stay(client: SyncPrefectClient, folder: Path) -> None:
    """What came from a file goes with it; one that a person made is not ours, whatever it is called."""
    put(client, folder)
    ours = read(client)
    assert ours
    theirs = client.create_automation(copy_of(ours, name="modelpivot: by hand", tags=[]))
    (folder / "one.yaml").unlink()
    assert put(client, folder) == ["automation test: one: deleted, its file is gone"]
    assert read(client) is None and client.read_automation(theirs)
    client.delete_automation(theirs)


def test_two_of_one_name_become_one(client: SyncPrefectClient, folder: Path) -> None:
    """Applied twice at once there may be two, and every alert would come twice; the next time one is left."""
    put(client, folder)
    twin = read(client)
    assert twin
    client.create_automation(copy_of(twin))
    put(client, folder)
    assert read(client)


def test_without_a_channel_it_is_said_that_nobody_is_told(client: SyncPrefectClient, folder: Path) -> None:
    """It shows in the event feed that it fired; with the channel there it sends."""
    assert "tells nobody" in put(client, folder)[0]
    found = read(client)
    assert found and [action.type for action in found.actions] == ["do-nothing"]
    AlertChannel(address=AlertAddress(url=SecretStr("http://127.0.0.1:9/"))).save("alerts", overwrite=True)
    channels, _ = deliver_channels(client)
    assert put(client, folder, channels) == ["automation test: one: changed"]
    found = read(client)
    assert found and [action.type for action in found.actions] == ["call-webhook"]


def test_two_files_of_one_name_are_refused(folder: Path) -> None:
    """The second would silently take the first one's place."""
    (folder / "two.yaml").write_text((folder / "one.yaml").read_text())
    with pytest.raises(UsageError, match=r"two\.yaml: name: 'test: one' is the name of .*one\.yaml"):
        read_automations(folder)


def test_a_wrong_file_is_named_with_its_field(folder: Path) -> None:
    """File, field and what was found."""
    write(folder, "bad", trigger={"posture": "Proactive", "within": 3})
    with pytest.raises(UsageError, match=r"bad\.yaml: trigger"):
        read_automations(folder)


def by_name() -> dict[str, AutomationFile]:
    """The project's own automations."""
    return {file.name: file for file in read_automations()}


def test_every_bad_ending_has_exactly_one_alert() -> None:
    """One ending, one alert, and one for a question: no name of a state is expected twice, and none is forgotten."""
    reactive = [file for file in by_name().values() if file.trigger["posture"] == "Reactive" and file.alert]
    expected = [
        event.removeprefix("prefect.flow-run.") for file in reactive for event in file.trigger["expect"] if event.startswith("prefect.")
    ]
    assert sorted(expected) == sorted(FAILED | {"Crashed", "TimedOut", "Suspended"})


def test_no_ending_is_taken_for_a_lost_heartbeat() -> None:
    """A run that ended in a state of our own naming must not be marked Crashed 90 seconds later."""
    expected = set(by_name()["modelpivot: no heartbeat"].trigger["expect"])
    names = (
        FAILED
        | set(COMPLETED_NAMES.values())
        | {"Completed", "Cancelled", "Crashed", "TimedOut", "Suspended", "AwaitingHost", UNANSWERED, ASKING}
    )
    assert {f"prefect.flow-run.{name}" for name in names} <= expected


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("The flow was paused and never resumed.", "modelpivot: unanswered"),  # what Prefect's server says of it, in both places
        ("The flow was resuming and never resumed.", "modelpivot: unanswered"),
        ("the Hub answers 503", "modelpivot: failed"),
        ("", "modelpivot: failed"),
    ],
)
def test_a_question_without_an_answer_is_no_failure(message: str, name: str) -> None:
    """Exactly one automation takes a run that Prefect failed: the one that starts it once more, or the one that tells."""
    labels = {"prefect.resource.id": f"prefect.flow-run.{uuid4()}", "prefect.state-message": message}
    files = [
        file for file in by_name().values() if "prefect.flow-run.Failed" in file.trigger["expect"] and file.trigger["posture"] == "Reactive"
    ]
    found = [
        file.name for file in files if ResourceSpecification.model_validate(file.trigger["match"]).matches(Resource.model_validate(labels))
    ]
    assert found == [name]


@pytest.mark.parametrize("file", by_name().values(), ids=lambda file: file.name)
def test_every_alert_says_what_where_and_what_to_do(file: AutomationFile) -> None:
    """What happened, on which host, the next move, and a link; the host's name is without what else a run's name says."""
    if file.alert:
        words = [line.partition(":")[0] for line in file.alert.body.strip().splitlines()]
        assert words[0] == "What happened" and words[1] == "Host" and words[2].startswith("What to do") and words[3] in ("Run", "Pool")


@pytest.mark.parametrize("file", by_name().values(), ids=lambda file: file.name)
@pytest.mark.parametrize("name", ["demo on gpu-01", "demo on gpu-01 (dry run)"])
def test_an_alert_names_the_host_alone(file: AutomationFile, name: str) -> None:
    """Where the host is taken from the run's name, nothing else of that is."""
    if file.alert and "flow_run.name.split" in (line := file.alert.body.splitlines()[1]):
        run = {"name": name, "infrastructure_pid": None}
        told = render_user_template_sync(line, {"flow_run": run})
        assert told.removesuffix(" (process unknown)") == "Host: gpu-01"
