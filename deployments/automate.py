"""`deployments/automations/*.yaml` as automations of a Prefect API, made or changed by their names. The same files serve Cloud and a server.

A file is what Prefect reads itself (name, description, trigger, actions), and `alert`: the message, and the channel that it goes to, by name,
since ids of blocks differ from API to API.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.filters import AutomationFilter, AutomationFilterTags
from prefect.events.schemas.automations import Automation, AutomationCore, EventTrigger
from pydantic import Field, ValidationError

from deployments.channels import Channel
from modelpivot.errors import UsageError
from modelpivot.files import describe_invalid
from modelpivot.models.frozen import Frozen
from modelpivot.recipes import DEPLOYMENTS, deployments, load_yaml

OURS = "modelpivot-managed"
"""Tag of every automation that comes from a file; one that has it and no file any more is deleted."""
CHANNEL = "alerts"
COMPARED = {"name", "description", "tags", "trigger", "actions"}


class Alert(Frozen):
    """What is told, as templates that Prefect fills in, and where."""

    channel: str = CHANNEL
    """Name of an AlertChannel block."""
    subject: str
    body: str


class AutomationFile(Frozen):
    """One file."""

    name: str
    description: str
    trigger: dict[str, Any]
    alert: Alert | None = None
    actions: list[dict[str, Any]] = Field(default_factory=list)
    """Actions of Prefect beside the alert."""


def read_automations(folder: Path | None = None) -> list[AutomationFile]:
    """Every file of the folder, by name. UsageError names file and field, or the two files that share a name."""
    files: dict[str, Path] = {}
    read = []
    for path in sorted((folder or automations_folder()).glob("*.yaml")):
        try:
            file = AutomationFile.model_validate(load_yaml(path))
            to_automation(file, {})
        except ValidationError as error:
            raise UsageError(f"{path}: {describe_invalid(error)}") from error
        if other := files.get(file.name):
            raise UsageError(f"{path}: name: {file.name!r} is the name of {other} already", hint="automations are known by their names")
        files[file.name] = path
        read.append(file)
    return read


def automations_folder() -> Path:
    """The one beside the host's own recipes (MODELPIVOT_DEPLOYMENTS), if there is one, else the project's."""
    own = deployments() / "automations"
    return own if own.is_dir() else DEPLOYMENTS / "automations"


def to_automation(file: AutomationFile, channels: Mapping[str, Channel], within: timedelta | None = None) -> AutomationCore:
    """The automation of a file. Without its channel it does nothing but show in the event feed that it fired. `within`: another window."""
    actions: list[dict[str, Any]] = list(file.actions)
    if file.alert and (channel := find_channel(file.alert, channels)):
        actions.append(to_action(file.alert, channel))
    automation = AutomationCore.model_validate(
        {
            "name": file.name,
            "description": file.description.strip(),
            "tags": [OURS],
            "trigger": file.trigger,
            "actions": actions or [{"type": "do-nothing"}],
        }
    )
    if within is not None and isinstance(automation.trigger, EventTrigger):
        automation.trigger.within = within
    return automation


def to_action(alert: Alert, channel: Channel) -> dict[str, Any]:
    """The action of Prefect that tells it. A webhook gets `{"subject": ..., "body": ...}`, both quoted by the template itself."""
    subject, body = alert.subject, alert.body.strip()
    if not channel.is_called:
        return {"type": "send-notification", "block_document_id": channel.block, "subject": subject, "body": body}
    said = f"{{% set subject %}}{subject}{{% endset %}}{{% set body %}}{body}{{% endset %}}"
    payload = said + '{"subject": {{ subject|tojson }}, "body": {{ body|tojson }}}'
    return {"type": "call-webhook", "block_document_id": channel.block, "payload": payload}


def find_channel(alert: Alert, channels: Mapping[str, Channel]) -> Channel | None:
    """The block that delivers: of the channel it names, else of `alerts`; None: there is neither."""
    return channels.get(alert.channel) or channels.get(CHANNEL)


def apply_automations(
    client: SyncPrefectClient,
    channels: Mapping[str, Channel],
    *,
    folder: Path | None = None,
    windows: Mapping[str, timedelta] | None = None,
) -> Iterator[str]:
    """Make, change, delete until the API has what the files say; one line each. What is as it should be is not touched, its windows go on.

    Whether one is paused is left as it is. `windows`: others than those of the files, by name (for tests of windows of hours).
    """
    files = read_automations(folder)
    for file in files:
        wanted = to_automation(file, channels, (windows or {}).get(file.name))
        yield f"automation {file.name}: {_put(client, wanted)}{_say_silent(file, channels)}"
    for left in _read_ours(client):
        if left.name not in {file.name for file in files}:
            client.delete_automation(left.id)
            yield f"automation {left.name}: deleted, its file is gone"


def _put(client: SyncPrefectClient, wanted: AutomationCore) -> str:
    known = client.read_automations_by_name(wanted.name)
    if not known:
        client.create_automation(wanted)
        return "made"
    found, *twins = known
    for twin in twins:
        client.delete_automation(twin.id)
    if _compared(found) == _compared(wanted):
        return "there"
    client.update_automation(found.id, wanted)
    return "changed"


def _compared(automation: AutomationCore) -> dict[str, Any]:
    return automation.model_dump(include=COMPARED)


def _read_ours(client: SyncPrefectClient) -> list[Automation]:
    return client.read_automations(automations=AutomationFilter(tags=AutomationFilterTags(any_=[OURS])))


def _say_silent(file: AutomationFile, channels: Mapping[str, Channel]) -> str:
    if file.alert is None or find_channel(file.alert, channels):
        return ""
    return f" (tells nobody: there is no Alert Channel block {file.alert.channel!r})"
