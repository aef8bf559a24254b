"""Where a pivot happens: one GPU host."""

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, HttpUrl

from blocks.icons import icon
from modelpivot.models.host import HostConfig


class GpuHost(Block):
    """One GPU host: where weights, environments and state lie on it, and how it may be changed.

    Example:
        ```python
        from blocks import GpuHost
        from modelpivot.models.host import HostConfig

        GpuHost(config=HostConfig(name="gpu-01", weights_root="/pool/models")).save("BLOCK_NAME")
        gpu_host = GpuHost.load("BLOCK_NAME")
        ```
    """

    _block_type_name: ClassVar[str] = "GPU Host"
    _block_type_slug: ClassVar[str] = "gpu-host"
    _description: ClassVar[str] = "One GPU host: roots for weights, environments and state, supervisor, Hub, hooks."
    _logo_url: ClassVar[HttpUrl | None] = icon("process")

    config: HostConfig = Field(
        default=HostConfig(), title="Host configuration", description="What MODELPIVOT_* says on a worker without a block."
    )
