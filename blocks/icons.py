"""Pictures of the block catalogue, from the set that Prefect shows for its own blocks: a page of the server takes no others offline either."""

from pydantic import HttpUrl

LOGOS = "https://raw.githubusercontent.com/PrefectHQ/prefect/420d0d6a78bb6df1fc18bcf188fdad43c1d22ea9/assets/block-logos"


def icon(name: str) -> HttpUrl:
    """One of the set: process, secret, webhook, email ..."""
    return HttpUrl(f"{LOGOS}/{name}.png")
