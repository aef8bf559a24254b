"""Where a repository names its quantization: every block, in the order in which vLLM looks for one (0.12 to 0.32 alike).

config.json           /quantization_config               whatever stands there but null, an empty one included
hf_quant_config.json  the whole file, its /quantization  read only where config.json has no such key, or null
config.json           /text_config/quantization_config   then
config.json           /compression_config                last; other holders are read by some models' own code only
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from modelpivot.models.model_config import Quantization

Config = Mapping[str, JsonValue]
TOP = "/quantization_config"
ASIDE = "hf_quant_config.json"
TEXT = "/text_config/quantization_config"
COMPRESSION = "/compression_config"
ELSEWHERE = tuple(
    f"{holder}/{name}"
    for holder in ("/text_config", "/llm_config", "/language_config", "/thinker_config/text_config")
    for name in ("quantization_config", "compression_config")
    if f"{holder}/{name}" != TEXT
)


class Block(NamedTuple):
    """One place that holds a quantization, whatever is in it."""

    file: str
    pointer: str
    """Empty: the whole file."""
    body: Config
    """Empty for what is no object."""
    is_object: bool = True

    @property
    def inner(self) -> Config:
        """The older form's `quantization` inside the block; empty: there is none."""
        inner = self.body.get("quantization")
        return inner if isinstance(inner, Mapping) else {}

    @property
    def method(self) -> str:
        """As vLLM names it: its own word, or modelopt by the producer that the older form names; empty: none, so nothing is quantized."""
        if self.inner.get("quant_algo") is not None and self._is_by_modelopt:
            return "modelopt"
        return _word(self.body.get("quant_method")).lower().replace("compressed_tensors", "compressed-tensors")

    @property
    def algorithm(self) -> str:
        """NVFP4, FP8, MIXED_PRECISION; empty: none named."""
        return _word(self.inner.get("quant_algo")) or _word(self.body.get("quant_algo"))

    @property
    def _is_by_modelopt(self) -> bool:
        producer = self.body.get("producer")
        return (isinstance(producer, Mapping) and producer.get("name") == "modelopt") or "modelopt_quant_config" in self.inner


def find_blocks(config: Config, quantization_file: Config | None) -> list[Block]:
    """Every block that is there, in the engine's order: the first is the one that it reads."""
    return [block for block in _blocks(config, quantization_file) if block is not None]


def find_quantizations(config: Config, quantization_file: Config | None) -> list[Quantization]:
    """Every place with a method or an algorithm; the first counts."""
    return [
        Quantization(
            file=block.file,
            pointer=f"{block.pointer}/quantization" if block.inner else block.pointer,
            method=block.method or ("modelopt" if block.file == ASIDE else ""),
            algorithm=block.algorithm,
            counts=number == 0,
        )
        for number, block in enumerate(find_blocks(config, quantization_file))
        if block.body
    ]


def say_quantization(found: list[Quantization], config: Config) -> str:
    """`modelopt NVFP4`; empty: none."""
    if not found or not found[0].counts:
        return ""
    first = found[0]
    bits = _bits(config, first) if not first.algorithm else ""
    return " ".join(filter(None, (first.method, first.algorithm or bits)))


def _blocks(config: Config, quantization_file: Config | None) -> Iterator[Block | None]:
    yield _block(config, TOP)
    yield None if quantization_file is None else Block(ASIDE, "", quantization_file)
    for pointer in (TEXT, COMPRESSION, *ELSEWHERE):
        yield _block(config, pointer)


def _block(config: Config, pointer: str) -> Block | None:
    """None: nothing stands there, or null."""
    holder, _, name = pointer.rpartition("/")
    body = _at(config, holder).get(name)
    is_object = isinstance(body, Mapping)
    return None if body is None else Block("config.json", pointer, body if isinstance(body, Mapping) else {}, is_object)


def _at(config: Config, holder: str) -> Config:
    place: JsonValue | Config = config
    for name in filter(None, holder.split("/")):
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}


def _bits(config: Config, found: Quantization) -> str:
    """The weights' type where the method leaves it open: compressed-tensors, FP8 blocks."""
    block = _at(config, found.pointer)
    groups = block.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if isinstance(weights, Mapping) and isinstance(bits := weights.get("num_bits"), int):
        return f"{_word(weights.get('type')).upper() or 'INT'}{bits}"
    bits = block.get("bits") or block.get("w_bit")
    return f"INT{bits}" if isinstance(bits, int) and not isinstance(bits, bool) else ""


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
