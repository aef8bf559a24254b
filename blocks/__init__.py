"""With what: Prefect blocks, each holding one model of modelpivot and adding nothing. `python -m deployments.apply` registers them."""

from blocks.gpu_host import GpuHost
from blocks.hub_access import HubAccess

__all__ = ["GpuHost", "HubAccess"]
