"""Names of files as text: any bytes that a file system takes, so that they can be shown, written as JSON and read back.

A newline is spelled `\\n`, a byte that is no UTF-8 `\\xff`, a backslash `\\\\`.
"""

import os
import re

ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)
SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}
LONG = {value: name for name, value in SHORT.items()}
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, and what turns the direction of a line: a name must not hide what it is."""


def spell(name: str) -> str:
    """The name on one line; the same for every name that needs no spelling."""
    plain = os.fsencode(name).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return UNSEEN.sub(lambda found: _escape(found[0].encode()), plain)


def unspell(text: str) -> str:
    """The name that was spelled, as the functions of `os` take it."""
    return os.fsdecode(ESCAPED.sub(_unescape, text.encode()))


def _escape(char: bytes) -> str:
    short = LONG.get(char)
    return f"\\{short.decode()}" if short else "".join(f"\\x{byte:02x}" for byte in char)


def _unescape(found: "re.Match[bytes]") -> bytes:
    return bytes([int(found[1], 16)]) if found[1] else SHORT.get(found[2], found[0])
