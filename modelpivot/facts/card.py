"""What a model's card says: licence in its front matter, and the flags of its first example that serves it. Advice, never believed over what is read.

---
license: mit
base_model: moonshotai/Kimi-K2.5
---
vllm serve nvidia/Kimi-K2.5-NVFP4 --tensor-parallel-size 4 --tool-call-parser kimi_k2 --trust-remote-code
"""

import re
import shlex

from modelpivot.models.model_parts import ModelCard
from modelpivot.models.yaml_text import read_yaml

FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
SERVES = re.compile(r"(?:vllm serve|vllm\.entrypoints[\w.]*api_server|trtllm-serve)((?:[^\n`\\]|\\\s*\n)*)")
PARALLEL = re.compile(r"(?:--tensor-parallel-size|--tensor_parallel_size|-tp|--tp_size|tensor_parallel_size\s*=)[ =]*(\d{1,4})\b")
VERSION = re.compile(
    r"\bvllm\b(?:\s+version)?[\s`*]*(>=|==|>|from|or (?:newer|later))?[\s`*v]*(\d+\.\d+(?:\.\d+)?(?:\.?(?:rc|post|dev)\d+)?)", re.IGNORECASE
)
LONGEST_CARD = 400_000


def parse_card(text: str) -> ModelCard:
    """Never raises: what a card does not say, or says in another shape, is empty."""
    text = text[:LONGEST_CARD]
    front = _front(text)
    example = next((_words(match[1]) for match in SERVES.finditer(text) if "-" in match[1]), [])
    parallel = PARALLEL.search(" ".join(example)) or PARALLEL.search(text)
    version = VERSION.search(text)
    return ModelCard(
        license=_word(front.get("license_name")) or _word(front.get("license")),
        license_link=_word(front.get("license_link")),
        base_model=_word(front.get("base_model")),
        tensor_parallel=int(parallel[1]) if parallel else None,
        engine_version=f"{version[1] if version[1] in ('==', '>') else '>='}{version[2]}" if version else "",
        flags=example,
    )


def _front(text: str) -> dict[str, object]:
    match = FRONT.match(text)
    try:
        document = read_yaml(match[1]) if match else None
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _word(value: object) -> str:
    if isinstance(value, list):
        value = next(iter(value), "")
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _words(line: str) -> list[str]:
    """Flags and their values; a line that is no shell is taken by its spaces."""
    plain = re.sub(r"\\\s*\n", " ", line)
    try:
        words = shlex.split(plain, comments=True)
    except ValueError:
        words = plain.split()
    start = next((number for number, word in enumerate(words) if word.startswith("-")), len(words))
    return words[start:]
