"""What of prefect.yaml is deployed at an API, from this host: all of it, and a nightly of the host's own. Pure but for reading the file.

A schedule comes with its deployment and belongs to the API from then on: a nightly that somebody resumed is not paused again by the next
`apply`, which every start of a worker's unit runs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from modelpivot.models.host import HostConfig
from modelpivot.models.window import Window
from modelpivot.recipes import load_yaml

NIGHTLY = "flows/upgrade_test.py:upgrade_test"
Entry = dict[str, Any]
Document = dict[str, Any]


def read_document(path: Path) -> Document:
    """A prefect.yaml."""
    return cast(Document, load_yaml(path))


def choose_entries(document: Document, host: HostConfig, is_there: Callable[[str], bool]) -> Document:
    """The document to deploy. `is_there`: whether the API has a deployment of this `flow/name` already."""
    entries: list[Entry] = [*document["deployments"], *_own_nightly(document, host)]
    return {**document, "deployments": [_without_schedules(one) if is_there(full_name(one)) else one for one in entries]}


def full_name(entry: Entry) -> str:
    """`flow/name`, as Prefect knows a deployment."""
    return f"{entry['entrypoint'].rpartition(':')[2].replace('_', '-')}/{entry['name']}"


def _own_nightly(document: Document, host: HostConfig) -> list[Entry]:
    """Of a host with a name: in its own queue, with a limit of its own, since one limit would count over all hosts. Its hour is the window's."""
    if host.queue is None:
        return []
    common = next(entry for entry in document["deployments"] if entry["entrypoint"] == NIGHTLY)
    window = host.maintenance_window()
    own = {
        "name": host.queue,
        "description": f"The nightly of {host.name}.\n\n{common['description']}",
        "work_pool": {**common["work_pool"], "work_queue_name": host.queue},
        "schedules": [say_cron(window)] if window else common["schedules"],
    }
    return [{**common, **own}]


def say_cron(window: Window) -> Entry:
    """The schedule that begins with a window, paused."""
    days = ",".join(window.days).lower()
    return {"cron": f"{window.begin.minute} {window.begin.hour} * * {days}", "timezone": window.zone, "active": False}


def _without_schedules(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key != "schedules"}
