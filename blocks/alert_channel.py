"""Where alerts go."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, HttpUrl

from blocks.icons import icon
from modelpivot.models.alert_address import AlertAddress


class AlertChannel(Block):
    """Where alerts go: Slack, Teams, PagerDuty, e-mail, any webhook, or a notification block that is there already.

    The automations of `deployments/automations` tell the channel named `alerts`, unless they name another one. After a change run
    `python -m deployments.apply`: it hands the address to the block of Prefect's own that delivers.

    Example:
        ```python
        from blocks import AlertChannel
        from modelpivot.models.alert_address import AlertAddress

        AlertChannel(address=AlertAddress(kind="slack", url="https://hooks.slack.com/services/...")).save("BLOCK_NAME")
        alert_channel = AlertChannel.load("BLOCK_NAME")
        ```
    """

    _block_type_name: ClassVar[str] = "Alert Channel"
    _block_type_slug: ClassVar[str] = "alert-channel"
    _description: ClassVar[str] = "Where alerts go: Slack, Teams, PagerDuty, e-mail, a webhook, or a block that is there already."
    _logo_url: ClassVar[HttpUrl | None] = icon("webhook")

    address: AlertAddress = Field(title="Address", description="What the channel's kind needs to be reached.")
