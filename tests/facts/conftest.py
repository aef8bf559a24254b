"""A host with stand-in engines."""

from tests.switching import switch_host

__all__ = ["switch_host"]
