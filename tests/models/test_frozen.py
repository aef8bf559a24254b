"""What every noun can do: be written as JSON, whatever the names on disk are."""

import json

from modelpivot.models.frozen import Unread


def test_half_characters_are_replaced() -> None:
    """A name with bytes that are no UTF-8 comes out with a mark in their place; layout and all else as ever."""
    odd, plain = Unread(unread="a\udcffé"), Unread(unread="aé")
    assert json.loads(odd.model_dump_json()) == {"unread": "a\ufffdé"}
    assert odd.model_dump_json(indent=2).replace("\ufffd", "") == plain.model_dump_json(indent=2)
    assert odd.model_dump_json().replace("\ufffd", "") == plain.model_dump_json()
