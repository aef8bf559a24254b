"""What the tests of commands share."""

from tests.switching import switch_host

__all__ = ["switch_host"]
