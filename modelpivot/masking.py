"""Secrets of this process's environment taken out of text that others wrote, before anybody reads or keeps it."""

import os
import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"(TOKEN|SECRET|PASSWORD|API_KEY|AUTH_STRING|DATABASE_URL|CONNECTION_URL)$")
SHORTEST = 8
"""Characters below which a value is no secret, and taking it out would spoil words."""
MASK = "***"


def mask_secrets(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The text with the value of every variable named like a secret (HF_TOKEN, ..._API_KEY, ...) replaced by ***."""
    for name, value in environ.items():
        if len(value) >= SHORTEST and SECRET_NAME.search(name):
            for part in (value, value.partition(":")[2]):
                text = text.replace(part, MASK) if len(part) >= SHORTEST else text
    return text
