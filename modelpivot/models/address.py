"""An address on the web, as a person writes it into a variable or behind an option. Pure."""

from urllib.parse import urlsplit


def check_address(text: str) -> str:
    """The address without the slash at its end. ValueError unless it is http:// or https:// with a host, and with a port that exists if it has one."""
    expected = "expected an address such as https://huggingface.co"
    if not text.isprintable() or " " in text:
        raise ValueError(f"{expected}, found a blank or control character")
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise ValueError(f"{expected}: {error}") from None
    if not is_whole:
        raise ValueError(f"{expected}, found {text!r}")
    return text.rstrip("/")
