"""Which files of a repository say what the model is and how its text is cut into tokens, by their names in its root."""

import re
from collections.abc import Iterable

CONFIGS = frozenset({"config.json", "params.json"})
"""Of transformers; of Mistral's own layout."""
TRANSFORMERS_WEIGHTS = re.compile(r"model.*\.safetensors|pytorch_model.*\.bin")
"""Names that transformers gives to weights, which it reads with a config.json alone. An adapter or a part of a pipeline has others."""
TOKENIZER = re.compile(r"tokenizer\.json|tekken\.json|vocab\.txt|.*\.model|tokenizer\.model\..*|.*\.tiktoken")
"""One of these is a whole tokenizer: of the tokenizers library, Mistral's, WordPiece, SentencePiece, tiktoken."""
VOCABULARY = frozenset({"vocab.json", "merges.txt"})
"""Both together are one as well."""
TOKENIZER_CONFIG = "tokenizer_config.json"


def needs_config(path: str) -> bool:
    """Whether a file holds weights that no engine reads without a config.json beside them. GGUF files hold their own."""
    return TRANSFORMERS_WEIGHTS.fullmatch(path) is not None


def lacks_config(paths: Iterable[str]) -> bool:
    """Whether such weights are there, and neither a config.json nor a params.json."""
    names = set(paths)
    return any(map(needs_config, names)) and not names & CONFIGS


def lacks_tokenizer(paths: Iterable[str]) -> bool:
    """Whether there are weights to serve and no tokenizer of a known form. GGUF files hold their own; code of the repository may hold one too."""
    names = {path for path in paths if "/" not in path}
    is_served = any(map(needs_config, names)) or bool(names & CONFIGS and any(name.endswith(".safetensors") for name in names))
    return is_served and not _has_tokenizer(names)


def _has_tokenizer(names: set[str]) -> bool:
    is_own_code = TOKENIZER_CONFIG in names and any(name.endswith(".py") for name in names)
    return is_own_code or names >= VOCABULARY or any(map(TOKENIZER.fullmatch, names))
