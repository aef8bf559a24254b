"""The two files of a model that say how it is quantized, as texts: in a directory as they lie there, and as JSON objects.

read_config_texts(dir) -> ({"config.json": "{...", "hf_quant_config.json": "{..."}, ["hf_quant_config.json is no JSON: ..."])
"""

from pathlib import Path

from pydantic import JsonValue

from modelpivot.errors import UsageError
from modelpivot.files import safe_join
from modelpivot.models.frozen import Unread
from modelpivot.models.json_text import read_json

CONFIG_FILES = ("config.json", "hf_quant_config.json")
MOST_BYTES = 64 << 20


def read_config_texts(directory: Path) -> tuple[dict[str, str], list[str]]:
    """The files that are there and hold a JSON object, and a sentence for the second when it does not. UsageError when config.json does not, or is none."""
    first, second = CONFIG_FILES
    text = read_small_text(directory, first)
    texts = {first: text}
    if isinstance(parsed := parse_object(first, text), Unread):
        raise UsageError(f"{directory / first}: expected a JSON object, found: {parsed.unread}", hint="fetch it again (modelpivot fetch)")
    if not (directory / second).exists():
        return texts, []
    aside = read_small_text(directory, second)
    unread = parse_object(second, aside)
    return (texts, [f"{unread.unread}: it is not looked into"]) if isinstance(unread, Unread) else ({**texts, second: aside}, [])


def read_small_text(directory: Path, name: str) -> str:
    """A file's text. UsageError when it is no file, too large to be a config, not to be read, or no UTF-8."""
    path = safe_join(directory, name)
    if not path.is_file():
        raise UsageError(
            f"{path}: expected a file, found {'something else' if path.exists() else 'nothing'}", hint="name the model's directory"
        )
    if (size := path.stat().st_size) > MOST_BYTES:
        raise UsageError(f"{path}: expected at most {MOST_BYTES} bytes, found {size}")
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: it cannot be read as UTF-8: {error}", hint="look at the file and at its rights") from error


def parse_object(name: str, text: str) -> dict[str, JsonValue] | Unread:
    """A JSON object, or why it is none."""
    try:
        document = read_json(text)
    except ValueError as error:
        return Unread(unread=f"{name} is no JSON: {error}")
    return document if isinstance(document, dict) else Unread(unread=f"{name} holds a {type(document).__name__}, not an object")
