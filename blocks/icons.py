"""Pictures of the block catalogue, from the set that Prefect shows for its own blocks.

An address that holds its picture (`data:`) would need no network, and the page would show it; but clients of Prefect 3.9 take nothing but
http and https, and could no longer read the block. Offline the page shows names without pictures, as it does for Prefect's own blocks.
"""

from pydantic import HttpUrl

LOGOS = "https://raw.githubusercontent.com/PrefectHQ/prefect/420d0d6a78bb6df1fc18bcf188fdad43c1d22ea9/assets/block-logos"


def icon(name: str) -> HttpUrl:
    """One of the set: process, secret, webhook, email ..."""
    return HttpUrl(f"{LOGOS}/{name}.png")
