"""An alert channel of every kind becomes the block of Prefect's own that delivers, goes where it should, and leaves no secret where it can be read."""

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator

import pytest
from prefect.blocks.abstract import NotificationBlock
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import BlockDocumentUpdate
from prefect.client.schemas.objects import BlockDocument
from prefect.exceptions import ObjectNotFound
from pydantic import SecretStr, ValidationError

from blocks import AlertChannel
from deployments.channels import deliver_channels, to_delivering_block
from modelpivot.errors import UsageError
from modelpivot.host import run_command
from modelpivot.models.alert_address import AlertAddress
from tests.world import PROJECT, World

WORKFLOW = "https://prod-1.westus.logic.azure.com:443/workflows/643e69f8/triggers/manual/paths/invoke?sp=%2Ftriggers&sv=1.0&sig=KXukPlanted"
ADDRESSES = {
    "hooks.slack.com": AlertAddress(kind="slack", url=SecretStr("https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnPlanted")),
    "prod-1.westus.logic.azure.com": AlertAddress(kind="teams", url=SecretStr(WORKFLOW)),
    "events.pagerduty.com": AlertAddress(kind="pagerduty", key=SecretStr("keyPlanted"), routing_key=SecretStr("routePlanted")),
    "api.sendgrid.com": AlertAddress(kind="email", key=SecretStr("SG.Planted"), sender="pivot@example.com", to=["ops@example.com"]),
}


class Gateway:
    """An HTTPS proxy that opens no connection; it notes where to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(4096).decode().split()[1].partition(":")[0])
                connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    """The only way out of this process to HTTPS."""
    gateway = Gateway()
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, gateway.url)
    yield gateway
    gateway.close()


@pytest.mark.parametrize("host", ADDRESSES)
def test_a_message_goes_to_the_service_of_its_kind(gateway: Gateway, host: str) -> None:
    """The block that delivers asks for a connection to that service and to no other; that it got none is no error of a flow."""
    block = to_delivering_block(ADDRESSES[host])
    assert isinstance(block, NotificationBlock)
    _ = block.notify("body", "subject")  # outside an event loop it is done when it returns
    assert set(gateway.asked) == {host}


def test_an_address_names_everything_that_its_kind_lacks() -> None:
    """All of it at once, by the names of the fields."""
    with pytest.raises(ValidationError, match="pagerduty needs key, routing_key; not given: key, routing_key"):
        AlertAddress(kind="pagerduty")


@pytest.fixture
def client() -> SyncPrefectClient:
    """A client of the session's server."""
    return get_client(sync_client=True)


def read(client: SyncPrefectClient, slug: str, name: str) -> BlockDocument | None:
    """A block as the API shows it to somebody who may not read secrets."""
    try:
        return client.read_block_document_by_name(name, slug, include_secrets=False)
    except ObjectNotFound:
        return None


def test_a_channel_of_another_kind_leaves_nothing_of_the_old_one(client: SyncPrefectClient) -> None:
    """Webhook, then Slack, then gone: one delivering block at a time, and none in the end. Twice the same: nothing is written."""
    AlertChannel(address=AlertAddress(url=SecretStr("http://127.0.0.1:9/Planted"), key=SecretStr("Planted"))).save("moving", overwrite=True)
    assert "alert channel moving (webhook): made" in deliver_channels(client)[1]
    shown = read(client, "webhook", "modelpivot-moving")
    assert shown and "Planted" not in json.dumps(shown.data)
    assert "alert channel moving (webhook): there" in deliver_channels(client)[1]
    AlertChannel(address=ADDRESSES["hooks.slack.com"]).save("moving", overwrite=True)
    deliver_channels(client)
    assert read(client, "webhook", "modelpivot-moving") is None
    assert read(client, "slack-webhook", "modelpivot-moving") is not None
    delete(client)
    assert any("slack-webhook/modelpivot-moving: deleted" in line for line in deliver_channels(client)[1])


INCOMPLETE = {"kind": "pagerduty", "key": "keyPlantedThatMustNotBeSeen"}


def test_an_incomplete_channel_is_named_and_its_key_is_not_shown(client: SyncPrefectClient, deployed: World) -> None:
    """As its page saves it, with a field left empty: 2, the channel, the field that lacks and what to do; no traceback, and no value of any field."""
    AlertChannel(address=ADDRESSES["events.pagerduty.com"]).save("moving", overwrite=True)
    document = client.read_block_document_by_name("moving", "alert-channel")
    client.update_block_document(document.id, BlockDocumentUpdate(data={"address": INCOMPLETE}, merge_existing_data=False))
    try:
        argv = [sys.executable, "-m", "deployments.apply"]
        result = run_command(argv, timeout_s=400, env={**os.environ, **deployed.environment}, cwd=PROJECT, is_checked=False)
    finally:
        delete(client)
    assert result.returncode == 2 and "alert channel moving: document: Value error, pagerduty needs key, routing_key" in result.stderr
    assert "not given: routing_key" in result.stderr and not [
        word for word in ("Traceback", "Planted") if word in result.stdout + result.stderr
    ]


def delete(client: SyncPrefectClient) -> None:
    """Take the channel away, as its page does."""
    document = client.read_block_document_by_name("moving", "alert-channel")
    client.delete_block_document(document.id)


def test_a_block_that_is_there_already_delivers_as_it_is(client: SyncPrefectClient) -> None:
    """By type and name, for what has no kind of its own; one that is not there is named."""
    to_delivering_block(ADDRESSES["hooks.slack.com"]).save("theirs", overwrite=True)
    AlertChannel(address=AlertAddress(kind="block", block="slack-webhook/theirs")).save("moving", overwrite=True)
    theirs = read(client, "slack-webhook", "theirs")
    assert theirs and deliver_channels(client)[0]["moving"].block == theirs.id
    AlertChannel(address=AlertAddress(kind="block", block="slack-webhook/nobody")).save("moving", overwrite=True)
    with pytest.raises(UsageError, match="slack-webhook/nobody"):
        deliver_channels(client)
    delete(client)
