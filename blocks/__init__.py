"""With what: Prefect blocks, each holding one model of modelpivot and adding nothing. `python -m deployments.apply` registers them."""

from blocks.alert_channel import AlertChannel
from blocks.gpu_host import GpuHost
from blocks.hub_access import HubAccess

__all__ = ["AlertChannel", "GpuHost", "HubAccess"]
