"""Alert channels as the notification blocks of Prefect's own that deliver for them. Needs an API whose documents may be read with secrets.

A server loads only block types that it knows: our AlertChannel says where alerts go, and `modelpivot-<its name>`, a block of Prefect's, takes
them there, on a self-hosted server and on Prefect Cloud alike.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from prefect.blocks.core import Block
from prefect.blocks.notifications import MicrosoftTeamsWebhook, PagerDutyWebHook, SendgridEmail, SlackWebhook
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import BlockDocument
from prefect.exceptions import ObjectNotFound
from prefect.types import SecretDict
from pydantic import ValidationError

from blocks import AlertChannel
from modelpivot.errors import UsageError
from modelpivot.files import describe_invalid
from modelpivot.models.alert_address import AlertAddress, Kind

PREFIX = "modelpivot-"


@dataclass(frozen=True)
class Channel:
    """The block that delivers for an alert channel."""

    block: UUID
    is_called: bool
    """A webhook, which an automation calls; any other one is told to notify."""


def deliver_channels(client: SyncPrefectClient) -> tuple[dict[str, Channel], list[str]]:
    """The delivering block of every alert channel by the channel's name, and what was done for each in words. UsageError names a wrong one."""
    documents = client.read_block_documents_by_type(AlertChannel.get_block_type_slug(), include_secrets=True)
    addresses = {str(document.name): parse_address(str(document.name), document.data) for document in documents}
    channels: dict[str, Channel] = {}
    lines = []
    for name, address in addresses.items():
        channels[name], done = _deliver(client, name, address)
        lines.append(f"alert channel {name} ({address.kind}): {done}")
    return channels, [*lines, *remove_left_over(client, addresses)]


def parse_address(name: str, data: Mapping[str, object]) -> AlertAddress:
    """The address of a channel's block. UsageError names the channel and every field that is wrong, and shows no value: any may be a secret."""
    try:
        return AlertAddress.model_validate(data.get("address"))
    except ValidationError as error:
        wrong = describe_invalid(error, with_values=False)
    # outside the clause: the first error, which shows values, must not come along as the context of this one
    raise UsageError(
        f"alert channel {name}: {wrong}", hint="mend the block Alert Channel of this name: its page, or Python, has the fields"
    )


def to_delivering_block(address: AlertAddress) -> Block:
    """The block of Prefect's own that delivers to this address; it holds every secret as one."""
    return MAKERS[address.kind](address)


def _deliver(client: SyncPrefectClient, name: str, address: AlertAddress) -> tuple[Channel, str]:
    if address.kind == "block":
        return _find_block(client, str(address.block)), "there"
    block, is_called = to_delivering_block(address), address.kind == "webhook"
    found = _read(client, block.get_block_type_slug(), f"{PREFIX}{name}")
    if found and type(block).model_validate(found.data).model_dump() == block.model_dump():
        return Channel(found.id, is_called), "there"
    saved = block.save(f"{PREFIX}{name}", overwrite=True)
    assert isinstance(saved, UUID)
    return Channel(saved, is_called), "changed" if found else "made"


def remove_left_over(client: SyncPrefectClient, known: Mapping[str, AlertAddress]) -> Iterator[str]:
    """Delete delivering blocks whose channel is gone or of another kind now: a secret that nothing needs is not kept."""
    kinds = {name: MAKERS.get(address.kind) for name, address in known.items()}
    for slug, maker in SLUGS.items():
        for document in client.read_block_documents_by_type(slug, include_secrets=False):
            name = str(document.name)
            if name.startswith(PREFIX) and kinds.get(name.removeprefix(PREFIX)) is not maker:
                client.delete_block_document(document.id)
                yield f"block {slug}/{name}: deleted, no alert channel needs it"


def _find_block(client: SyncPrefectClient, slug_and_name: str) -> Channel:
    slug, _, name = slug_and_name.partition("/")
    if found := _read(client, slug, name):
        return Channel(found.id, slug == Webhook.get_block_type_slug())
    raise UsageError(f"alert channel: no block {slug_and_name!r}", hint="make it in the UI, or mend the field `block` (type/name)")


def _read(client: SyncPrefectClient, slug: str, name: str) -> BlockDocument | None:
    try:
        return client.read_block_document_by_name(name, slug)
    except ObjectNotFound:
        return None


def _webhook(address: AlertAddress) -> Block:
    """Prefect's Webhook, not its Custom Webhook: when the receiver answers an error, that one's address goes into the server's log."""
    key = {"Authorization": f"Bearer {address.key.get_secret_value()}"} if address.key else {}
    return Webhook(url=address.url, headers=SecretDict({"Content-Type": "application/json", **key}))


MAKERS: Mapping[Kind, Callable[[AlertAddress], Block]] = {
    "webhook": _webhook,
    "slack": lambda address: SlackWebhook(url=address.url),
    "teams": lambda address: MicrosoftTeamsWebhook(url=address.url),
    "pagerduty": lambda address: PagerDutyWebHook(api_key=address.key, integration_key=address.routing_key, notify_type="failure"),
    "email": lambda address: SendgridEmail(api_key=address.key, sender_email=address.sender, to_emails=address.to),
}
SLUGS = {
    Webhook.get_block_type_slug(): MAKERS["webhook"],
    SlackWebhook.get_block_type_slug(): MAKERS["slack"],
    MicrosoftTeamsWebhook.get_block_type_slug(): MAKERS["teams"],
    PagerDutyWebHook.get_block_type_slug(): MAKERS["pagerduty"],
    SendgridEmail.get_block_type_slug(): MAKERS["email"],
}
