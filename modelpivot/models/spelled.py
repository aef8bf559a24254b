"""Text of others on its way to people: names of files, whatever bytes they are, spelled on one line; and any text made plain for a terminal or page.

In a name a newline is spelled `\\n`, a byte that is no UTF-8 `\\xff`, a backslash `\\\\`; what is spelled can be read back.
"""

import os
import re

ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)
SHORT = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}
LONG = {value: name for name, value in SHORT.items()}
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, and what turns the direction of a line: a name must not hide what it is."""


ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""What a terminal obeys: colours and cursor moves, titles and links."""
COMMANDING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""As UNSEEN, but for newlines and tabs."""
UNKNOWN = "\ufffd"


def plain(text: str) -> str:
    """What an engine, a Hub or a file's name says, without anything that a terminal or browser would obey: it must not repaint what we say."""
    return COMMANDING.sub(UNKNOWN, ESCAPES.sub("", text)) if COMMANDING.search(text) else text


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
