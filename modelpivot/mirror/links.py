"""Signed links to large files: path, expiry and a signature that only this mirror can make."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import parse_qs, quote, urlencode


class Links:
    """Makes and checks links that hold `valid_s` seconds."""

    def __init__(self, valid_s: float) -> None:
        self._valid_s, self._key = valid_s, secrets.token_bytes(16)

    def make(self, path: str, *, is_expired: bool = False) -> str:
        """Path and query of a link to `path`; one that is over already if `is_expired`."""
        expires = f"{time.time() + (-1 if is_expired else self._valid_s):.3f}"
        return f"/{quote(path)}?" + urlencode({"Expires": expires, "Signature": self._sign(path, expires)})

    def is_valid(self, path: str, query: str) -> bool:
        """Whether the link is of this mirror and not over."""
        values = parse_qs(query)
        expires, signature = values.get("Expires", ["0"])[0], values.get("Signature", [""])[0]
        return hmac.compare_digest(signature, self._sign(path, expires)) and time.time() < float(expires)

    def _sign(self, path: str, expires: str) -> str:
        return hmac.new(self._key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
