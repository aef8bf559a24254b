"""Names of distributions as indexes compare them."""

import re


def canonical(name: str) -> str:
    """Lower case, one dash for every run of dashes, dots and underscores."""
    return re.sub(r"[-_.]+", "-", name).lower()
