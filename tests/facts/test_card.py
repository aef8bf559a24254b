"""A model's card: licence and advice; whatever else it is, nothing raises."""

import pytest

from modelpivot.facts.card import parse_card
from modelpivot.models.model_parts import ModelCard

CARD = """---
license: other
license_name: modified-mit
license_link: LICENSE
base_model:
- moonshotai/Kimi-K2.5
---
# Kimi K2.5 NVFP4

Serve with vLLM >= 0.15.0:

```sh
vllm serve nvidia/Kimi-K2.5-NVFP4 \\
  --tensor-parallel-size 4 --tool-call-parser kimi_k2 \\
  --trust-remote-code
```
"""


def test_licence_and_advice_are_read() -> None:
    """Front matter, the first serving example over its continued lines, and the version asked for."""
    found = parse_card(CARD)
    assert (found.license, found.license_link, found.base_model) == ("modified-mit", "LICENSE", "moonshotai/Kimi-K2.5")
    assert (found.tensor_parallel, found.engine_version) == (4, ">=0.15.0")
    assert found.flags == ["--tensor-parallel-size", "4", "--tool-call-parser", "kimi_k2", "--trust-remote-code"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("needs `vllm>=0.8.5`", ">=0.8.5"),
        ("pip install vllm==0.9.1", "==0.9.1"),
        ("vLLM version 0.11.0 or newer", ">=0.11.0"),
        ("vLLM is fine", ""),
    ],
)
def test_the_version_that_it_asks_for(text: str, version: str) -> None:
    """In the forms that cards use."""
    assert parse_card(text).engine_version == version


@pytest.mark.parametrize(
    "text", ["", "---\nlicense: [\n---\n", "---\n- a\n- b\n---\n", "vllm serve 'unclosed --x 1", "---\nlicense: 3\n", "\0\0"]
)
def test_a_card_of_another_shape_says_nothing(text: str) -> None:
    """Advice may be missing; it never breaks the reading."""
    assert parse_card(text).license == ""


def test_an_empty_card_is_an_empty_one() -> None:
    """Nothing is made up."""
    assert parse_card("") == ModelCard()
