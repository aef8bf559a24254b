"""Alert channels as the notification blocks of Prefect's own that deliver for them. Needs an API whose documents may be read with secrets.

A server loads only block types that it knows: our AlertChannel says where alerts go, and `modelpivot-<its name>`, a block of Prefect's, takes
them there, on a self-hosted server and on Prefect Cloud alike.
"""

from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.notifications import (
    CustomWebhookNotificationBlock,
    MicrosoftTeamsWebhook,
    PagerDutyWebHook,
    SendgridEmail,
    SlackWebhook,
)
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import BlockDocument
from prefect.exceptions import ObjectNotFound
from prefect.types import SecretDict
from pydantic import SecretStr

from blocks import AlertChannel
from modelpivot.errors import UsageError
from modelpivot.models.alert_address import AlertAddress, Kind

PREFIX = "modelpivot-"


def deliver_channels(client: SyncPrefectClient) -> tuple[dict[str, UUID], list[str]]:
    """The delivering block of every alert channel by the channel's name, and what was done for each in words. UsageError names a wrong one."""
    known = client.read_block_documents_by_type(AlertChannel.get_block_type_slug(), include_secrets=True)
    ids: dict[str, UUID] = {}
    lines = []
    for document in known:
        name = str(document.name)
        address = AlertAddress.model_validate(document.data["address"])
        ids[name], done = _deliver(client, name, address)
        lines.append(f"alert channel {name} ({address.kind}): {done}")
    return ids, [*lines, *remove_left_over(client, set(ids), known)]


def to_notification_block(address: AlertAddress) -> NotificationBlock:
    """The block of Prefect's own that delivers to this address; it holds every secret as one."""
    return MAKERS[address.kind](address)


def _deliver(client: SyncPrefectClient, name: str, address: AlertAddress) -> tuple[UUID, str]:
    if address.kind == "block":
        return _find_block(client, str(address.block)), "there"
    block = to_notification_block(address)
    found = _read(client, block.get_block_type_slug(), f"{PREFIX}{name}")
    if found and type(block).model_validate(found.data).model_dump() == block.model_dump():
        return found.id, "there"
    saved = block.save(f"{PREFIX}{name}", overwrite=True)
    assert isinstance(saved, UUID)
    return saved, "changed" if found else "made"


def remove_left_over(client: SyncPrefectClient, names: set[str], known: list[BlockDocument]) -> Iterator[str]:
    """Delete delivering blocks whose channel is gone or of another kind now: a secret that nothing needs is not kept."""
    kinds = {str(document.name): MAKERS.get(document.data["address"]["kind"]) for document in known}
    for slug, maker in SLUGS.items():
        for document in client.read_block_documents_by_type(slug, include_secrets=False):
            name = str(document.name)
            if name.startswith(PREFIX) and kinds.get(name.removeprefix(PREFIX)) is not maker:
                client.delete_block_document(document.id)
                yield f"block {slug}/{name}: deleted, no alert channel needs it"


def _find_block(client: SyncPrefectClient, slug_and_name: str) -> UUID:
    slug, _, name = slug_and_name.partition("/")
    if found := _read(client, slug, name):
        return found.id
    raise UsageError(f"alert channel: no block {slug_and_name!r}", hint="make it in the UI, or mend the field `block` (type/name)")


def _read(client: SyncPrefectClient, slug: str, name: str) -> BlockDocument | None:
    try:
        return client.read_block_document_by_name(name, slug)
    except ObjectNotFound:
        return None


def _webhook(address: AlertAddress) -> NotificationBlock:
    """The address goes into the secrets of the block: its own field for it is none."""
    secrets = {"address": _text(address.url)} | ({"key": _text(address.key)} if address.key else {})
    return CustomWebhookNotificationBlock(
        name="modelpivot",
        url="{{ address }}",
        json_data={"subject": "{{ subject }}", "body": "{{ body }}"},
        headers={"Authorization": "Bearer {{ key }}"} if address.key else None,
        secrets=SecretDict(secrets),
    )


def _text(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""


MAKERS: Mapping[Kind, Callable[[AlertAddress], NotificationBlock]] = {
    "webhook": _webhook,
    "slack": lambda address: SlackWebhook(url=address.url),
    "teams": lambda address: MicrosoftTeamsWebhook(url=address.url),
    "pagerduty": lambda address: PagerDutyWebHook(api_key=address.key, integration_key=address.routing_key, notify_type="failure"),
    "email": lambda address: SendgridEmail(api_key=address.key, sender_email=address.sender, to_emails=address.to),
}
SLUGS = {
    CustomWebhookNotificationBlock.get_block_type_slug(): MAKERS["webhook"],
    SlackWebhook.get_block_type_slug(): MAKERS["slack"],
    MicrosoftTeamsWebhook.get_block_type_slug(): MAKERS["teams"],
    PagerDutyWebHook.get_block_type_slug(): MAKERS["pagerduty"],
    SendgridEmail.get_block_type_slug(): MAKERS["email"],
}
