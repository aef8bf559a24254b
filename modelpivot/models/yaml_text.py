"""A YAML text, read with every odd input refused in words: line, column and what is wrong there. Pure; for files of other people as for our own.

Dates stay words, for no field of ours is one and a card may hold a day that no calendar has. A key that stands twice is refused: PyYAML takes
the last without a word, and whoever reads the first believes in it.
"""

import yaml

DEEPEST = 100
"""Levels of nesting; no recipe has twenty."""
MOST_VALUES = 200_000
"""Values with every alias written out; the largest recipe has two thousand. Ten lines can name a hundred billion."""
LARGEST_NUMBER = 2**64
Sizes = dict[int, int]


class _Loader(yaml.SafeLoader):
    """PyYAML's safe one, whose constructors raise what they like at a value that is none of its kind."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            value: object = super().construct_object(node, deep)
            _require_usable(value)
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
            kind = node.tag.rpartition(":")[2]
            raise yaml.MarkedYAMLError(problem=f"{str(node.value)[:40]!r} is no {kind} ({error})", problem_mark=node.start_mark) from None
        return value

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """PyYAML 6.0.4 leaves a merged pair beside the one written over it, and hands on the wrong one where this mapping is merged again."""
        super().flatten_mapping(node)
        node.value = list({_name_key(key): (key, value) for key, value in node.value}.values())


def _name_key(key: yaml.Node) -> object:
    return (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key)


def _as_it_stands(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> object:
    return loader.construct_scalar(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_it_stands)


def read_yaml(text: str | bytes) -> object:
    """The first document; None: there is none. ValueError with line, column and reason: no YAML, nested too deeply, an alias within itself, more
    values than any file means, a key that stands twice, a number too large, half a character."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {}, 0)
        return loader.construct_document(node)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    except yaml.YAMLError as error:
        raise ValueError(_say(error)) from None


def _require_usable(value: object) -> None:
    if isinstance(value, int) and abs(value) >= LARGEST_NUMBER:
        raise ValueError("more than 64 bits")
    if isinstance(value, str):
        value.encode()


def _count(node: yaml.Node, sizes: Sizes, level: int) -> int:
    """Values at and below a node, aliases written out; ValueError where that has no end, or none that anybody means."""
    if id(node) in sizes and (known := sizes[id(node)]):
        return known
    if id(node) in sizes:
        raise ValueError(f"line {node.start_mark.line + 1}: an alias that holds itself")
    if level > DEEPEST:
        raise ValueError(f"line {node.start_mark.line + 1}: nested deeper than {DEEPEST} levels")
    _refuse_twice(node)
    sizes[id(node)] = 0
    total = 1 + sum(_count(each, sizes, level + 1) for each in _inner(node))
    if total > MOST_VALUES:
        raise ValueError(f"line {node.start_mark.line + 1}: more than {MOST_VALUES} values, aliases written out")
    sizes[id(node)] = total
    return total


def _refuse_twice(node: yaml.Node) -> None:
    """Called before anything is merged: a key of its own over one that `<<` brings is what YAML means."""
    first: dict[object, yaml.Mark] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        mark = key.start_mark
        known = first.setdefault(_name_key(key), mark)
        if known is not mark:
            place = f"line {mark.line + 1}, column {mark.column + 1}"
            raise ValueError(f"{place}: the key {str(key.value)[:40]!r} stands twice, first in line {known.line + 1}: keep one of them")


def _inner(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _say(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem or error.context}"
    return " ".join(str(error).split())
