"""The machine's own pip configuration as uv needs it: that is how companies say where packages come from.

pip reads variables first, then `PIP_CONFIG_FILE`, the interpreter's, the user's and the machine's `pip.conf`; uv reads none of
these. pip splits lists by white space; uv splits UV_FIND_LINKS by comma and UV_INDEX by white space.
"""

import configparser
import os
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

Pip = Mapping[str, tuple[str, ...]]
"""pip's options by name (`find-links`), each as its words."""

OPTIONS = ("find-links", "index-url", "extra-index-url", "constraint", "trusted-host", "cert")
TWINS = {
    "find-links": ("UV_FIND_LINKS", ","),
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
}
OLDER_NAMES = {"UV_DEFAULT_INDEX": ("UV_INDEX_URL",), "UV_INDEX": ("UV_EXTRA_INDEX_URL",)}


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with what pip is told and uv is not; nothing to add when uv has settings of its own for it."""
    return {**environ, **uv_twins(environ, read_pip(environ), read_uv_keys(environ))}


def uv_twins(environ: Mapping[str, str], pip: Pip, uv_keys: frozenset[str] = frozenset()) -> dict[str, str]:
    """Pure: the variables to add. `uv_keys` are the options that uv's own configuration files set.

    pip treats all indexes alike, uv takes the first that knows a package: with extra indexes of pip's, uv is told to do as pip does.
    """
    twins = {
        variable: separator.join(pip[option])
        for option, (variable, separator) in TWINS.items()
        if pip.get(option) and not _has(environ, variable) and option not in uv_keys
    }
    if "UV_INDEX" in twins and "UV_INDEX_STRATEGY" not in environ:
        twins["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return twins


def read_pip(environ: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """What pip would use, from its files and, before them, from PIP_*."""
    options: dict[str, tuple[str, ...]] = {}
    for path in pip_files(environ):
        options |= parse_pip_file(_read(path))
    for option in OPTIONS:
        if words := environ.get(f"PIP_{option.upper().replace('-', '_')}", "").split():
            options[option] = tuple(words)
    return options


def pip_files(environ: Mapping[str, str]) -> list[Path]:
    """pip's configuration files, the later over the earlier. PIP_CONFIG_FILE=/dev/null means none."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or Path.home())
    machine = [Path(folder) / "pip/pip.conf" for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]
    user = [home / ".pip/pip.conf", Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"]
    return [*machine, Path("/etc/pip.conf"), *user, Path(sys.prefix) / "pip.conf", *([Path(named)] if named else [])]


def parse_pip_file(text: str) -> dict[str, tuple[str, ...]]:
    """Options of `[global]`, and of `[install]` over them; a file that is none of pip's gives nothing."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    sections = [dict(parser.items(name)) for name in ("global", "install") if parser.has_section(name)]
    options = {name.replace("_", "-"): tuple(value.split()) for section in sections for name, value in section.items()}
    return {name: words for name, words in options.items() if name in OPTIONS and words}


def read_uv_keys(environ: Mapping[str, str]) -> frozenset[str]:
    """pip's names of what uv's own files (`uv.toml`) set; an index there speaks for all indexes."""
    home = Path(environ.get("HOME") or Path.home())
    user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "uv/uv.toml"
    named = environ.get("UV_CONFIG_FILE")
    return frozenset[str]().union(*(parse_uv_file(_read(path)) for path in ([Path(named)] if named else [user, Path("/etc/uv/uv.toml")])))


def parse_uv_file(text: str) -> frozenset[str]:
    """The options that a `uv.toml` sets, by pip's names; a file that is not TOML (uv itself will say so) sets none."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return frozenset()
    keys = set(document) | set(document.get("pip", {}))
    if keys & {"index", "index-url", "extra-index-url"}:
        keys |= {"index-url", "extra-index-url"}
    return frozenset(keys & set(OPTIONS))


def _has(environ: Mapping[str, str], variable: str) -> bool:
    return any(environ.get(name) for name in (variable, *OLDER_NAMES.get(variable, ())))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def main() -> None:
    """`python -m modelpivot.facts.pip`, with the standard library alone: the variables as lines for a shell (`make setup`)."""
    for name, value in uv_twins(os.environ, read_pip(os.environ), read_uv_keys(os.environ)).items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")


if __name__ == "__main__":
    main()
