"""The layers of a community recipe, one over the other: variant, hardware, strategy, features, division among GPUs. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from modelpivot.models.recipe import VARIABLE
from modelpivot.plans.engine_words import Value, parse_words

STRATEGIES = {"single_node_tp": (), "single_node_tep": ("enable-expert-parallel",), "single_node_dep": ("enable-expert-parallel",)}
GENERATIONS = {
    "hopper": ("h100", "h200", "h20", "gh200"),
    "blackwell": ("b200", "b300", "gb200", "gb300", "rtx_pro_6000", "rtx_5090", "dgx_spark_gb10", "dgx_station_gb300"),
    "ampere": ("a100", "a10", "a40"),
    "ada": ("l4", "l40", "l40s", "rtx_4090"),
}
WORDS = ("args", "env", "extra_args", "extra_env")
FOR_PEOPLE = ("description", "title", "label", "note", "name")
FEATURE = ("args", "env", "modes", "default_mode", "hardware_overrides", *FOR_PEOPLE)
MOST_GPUS = 1024
MOST_GB = 1_000_000
CARD_GB = 80
"""A card's memory where the file says only how much is needed in all."""


class Gathered(NamedTuple):
    """Flags and variables on the way, the later word over the earlier."""

    flags: dict[str, Value]
    env: dict[str, str]
    reasons: dict[str, str]
    left: list[str]

    def take(self, args: object, env: object, why: str, key: str) -> None:
        """Add one layer's words."""
        words = parse_words(args)
        env_key = f"{key.removesuffix('args')}env"
        if env is not None and not isinstance(env, Mapping | list):
            self.left.append(f"{env_key}: variables expected as names and values, found {type(env).__name__}")
        self.left.extend(f"{key}: {phrase}" for phrase in words.left)
        for name, value in words.flags.items():
            self.flags.pop(name, None)
            self.flags[name] = value
            self.reasons[f"serve.args.{name}"] = why
        for name, value in _variables(env):
            if VARIABLE.fullmatch(name) and "\n" not in value and "\0" not in value:
                self.env[name] = value
                self.reasons[f"serve.env.{name}"] = why
            else:
                self.left.append(f"{env_key}: variable {name!r} is none that a recipe can hold")

    def leave(self, key: str, block: Mapping[str, Any], read: Sequence[str]) -> None:
        """Name what nobody reads."""
        self.left.extend(f"{key}.{name}: no part of a recipe here" for name in block if name not in read)


def take_variant(gathered: Gathered, name: str, chosen: Mapping[str, Any], hardware: str | None) -> None:
    """The chosen variant, and what it says of hardware."""
    key = f"variants.{name}"
    gathered.take(chosen.get("args"), chosen.get("env"), key, f"{key}.args")
    gathered.take(chosen.get("extra_args"), chosen.get("extra_env"), key, f"{key}.extra_args")
    take_overrides(gathered, mapping(chosen.get("hardware_overrides")), hardware, f"{key}.hardware_overrides")


def take_overrides(gathered: Gathered, overrides: Mapping[str, Any], hardware: str | None, key: str) -> None:
    """Those of the brand, the generation and the card itself; all others are for other hardware."""
    wanted = _hardware_keys(hardware)
    for name in [*(each for each in wanted if each in overrides), *(each for each in overrides if each not in wanted)]:
        block = mapping(overrides[name])
        if name not in wanted:
            gathered.left.append(f"{key}.{name}: for other hardware (--hardware takes it)")
            continue
        gathered.take(block.get("args"), block.get("env"), f"{key}.{name}", f"{key}.{name}.args")
        gathered.take(block.get("extra_args"), block.get("extra_env"), f"{key}.{name}", f"{key}.{name}.extra_args")
        gathered.leave(f"{key}.{name}", block, WORDS)


def _hardware_keys(hardware: str | None) -> list[str]:
    if hardware is None:
        return ["nvidia"]
    generation = [name for name, cards in GENERATIONS.items() if hardware in cards]
    return list(dict.fromkeys(["nvidia", *generation, hardware]))


def take_strategy(gathered: Gathered, overrides: Mapping[str, Any], strategy: str) -> None:
    """What the file says of the chosen strategy."""
    for name, block in overrides.items():
        key, values = f"strategy_overrides.{name}", mapping(block)
        if name != strategy:
            gathered.left.append(f"{key}: for another strategy than {strategy} (--strategy takes those of one host)")
            continue
        gathered.take(values.get("args"), values.get("env"), key, f"{key}.args")
        gathered.take(values.get("extra_args"), values.get("extra_env"), key, f"{key}.extra_args")
        gathered.leave(key, values, (*WORDS, "tp"))
        if is_count(values.get("tp")):
            gathered.flags["tensor-parallel-size"] = values["tp"]
            gathered.reasons["serve.args.tensor-parallel-size"] = f"{key}.tp"


def take_features(gathered: Gathered, whole: Mapping[str, Any], variant: str, hardware: str | None) -> None:
    """All that are on by default; one that a person must ask for is listed."""
    asked_for = _asked_for(gathered, whole, hardware)
    for name, feature in mapping(whole.get("features")).items():
        key, block = f"features.{name}", mapping(feature)
        if name in asked_for:
            gathered.left.append(f"{key}: off unless asked for (opt_in_features); add its flags to serve.args")
            continue
        gathered.take(block.get("args"), block.get("env"), key, f"{key}.args")
        _take_mode(gathered, key, block, variant)
        take_overrides(gathered, mapping(block.get("hardware_overrides")), hardware, f"{key}.hardware_overrides")
        gathered.leave(key, block, FEATURE)


def _asked_for(gathered: Gathered, whole: Mapping[str, Any], hardware: str | None) -> list[str]:
    """Names of the features that are off unless somebody asks: everywhere, or on this hardware."""
    opt_in = whole.get("opt_in_features")
    names = [str(each) for each in opt_in] if isinstance(opt_in, list) else []
    for card, features in mapping(whole.get("hardware_opt_in_features")).items():
        if card not in _hardware_keys(hardware):
            gathered.left.append(f"hardware_opt_in_features.{card}: for other hardware (--hardware takes it)")
        elif isinstance(features, list):
            names += [str(each) for each in features]
    return names


def _take_mode(gathered: Gathered, key: str, block: Mapping[str, Any], variant: str) -> None:
    """The mode that is on by default, unless it is for other variants."""
    chosen = _mode(block)
    for name, value in mapping(block.get("modes")).items():
        mode = mapping(value)
        variants = mode.get("variants")
        if str(name) != chosen or (isinstance(variants, list) and variant not in variants):
            gathered.left.append(f"{key}.modes.{name}: another mode, or for other variants; add its flags to serve.args")
            continue
        gathered.take(mode.get("args"), mode.get("env"), key, f"{key}.modes.{name}.args")
        gathered.leave(f"{key}.modes.{name}", mode, ("args", "env", "variants", *FOR_PEOPLE))


def _mode(block: Mapping[str, Any]) -> str:
    return word(block.get("default_mode")) or str(next(iter(mapping(block.get("modes"))), ""))


def divide(gathered: Gathered, chosen: Mapping[str, Any], strategy: str, asked: int | None) -> int:
    """GPUs, and how the strategy divides the model among them."""
    stated = next((value for value in (gathered.flags.get("tensor-parallel-size"), chosen.get("tp")) if is_count(value)), None)
    needed = chosen.get("vram_minimum_gb")
    guess = _power_of_two(needed / CARD_GB) if isinstance(needed, int | float) and not isinstance(needed, bool) and needed < MOST_GB else 1
    count = asked or stated or guess
    if asked is None:
        said = (
            f"variants.*.vram_minimum_gb is {needed}: as many cards of {CARD_GB} GB; set what the host has"
            if needed
            else "the file does not say"
        )
        gathered.reasons["serve.gpus"] = said if stated is None else "as the file divides it"
    flag = "data-parallel-size" if strategy == "single_node_dep" else "tensor-parallel-size"
    if count > 1 or flag in gathered.flags:
        gathered.flags[flag] = count
        gathered.reasons[f"serve.args.{flag}"] = f"strategy {strategy} over {count} GPUs"
    for flag in STRATEGIES[strategy]:
        gathered.flags[flag] = True
        gathered.reasons[f"serve.args.{flag}"] = f"strategy {strategy}"
    return count


def is_count(value: object) -> TypeGuard[int]:
    """Whether it says how many."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_GPUS


def _power_of_two(cards: float) -> int:
    return next((size for size in (1, 2, 4, 8) if size >= cards), 8)


def _variables(env: object) -> list[tuple[str, str]]:
    if isinstance(env, Mapping):
        return [
            (str(name), "" if value is None else str(value).lower() if isinstance(value, bool) else str(value))
            for name, value in env.items()
        ]
    pairs = [str(each).partition("=") for each in env] if isinstance(env, list) else []
    return [(name, value) for name, _, value in pairs]


def mapping(value: object) -> Mapping[str, Any]:
    """A mapping; an empty one for any other shape."""
    return value if isinstance(value, Mapping) else {}


def word(value: object) -> str:
    """A word; empty for any other shape."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
