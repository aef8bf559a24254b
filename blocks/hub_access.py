"""How the Hub is reached."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, HttpUrl

from blocks.icons import icon
from modelpivot.models.hub_account import HubAccount


class HubAccess(Block):
    """Address and token of a Hub; the token is a secret and stays one.

    Example:
        ```python
        from blocks import HubAccess
        from modelpivot.models.hub_account import HubAccount

        HubAccess(account=HubAccount(token="hf_...")).save("BLOCK_NAME")
        hub_access = HubAccess.load("BLOCK_NAME")
        ```
    """

    _block_type_name: ClassVar[str] = "Hub Access"
    _block_type_slug: ClassVar[str] = "hub-access"
    _description: ClassVar[str] = "Address of a model Hub and the token for gated and private repositories."
    _logo_url: ClassVar[HttpUrl | None] = icon("secret")

    account: HubAccount = Field(default=HubAccount(), title="Account", description="Address and read token.")
