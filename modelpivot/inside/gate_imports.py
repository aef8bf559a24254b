"""What an engine's start imports, by the list in its gate's spec.json. Imported by `gate.py` and `gate_children.py`, under the engine's own Python."""

import contextlib
import importlib
import json
from pathlib import Path


def say(text):
    print(f"modelpivot gate: {text}", flush=True)


def read_spec(folder):
    return json.loads((Path(folder) / "spec.json").read_text())


def import_first(names):
    """The first of the alternatives that is there. A module that is there and fails is an error of its own."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or "?"):
                raise
    raise ModuleNotFoundError(f"none of {', '.join(names)}")


def preload(spec, go_on=lambda: None):
    """Import what a start needs. The first entry must be there; of the others each version has some."""
    for number, names in enumerate(spec["preload"]):
        go_on()
        try:
            import_first([name.strip() for name in names.split("|")])
        except Exception as error:
            if number == 0:
                raise
            say(f"{names} is left out: {type(error).__name__}: {error}")
    if spec["registry"]:
        with contextlib.suppress(Exception):
            import_model_classes(spec["registry"], spec["architectures"])


def import_model_classes(registry, architectures):
    """The modules that hold the classes of these architectures."""
    module, name = registry.split(":")
    known = getattr(importlib.import_module(module), name).models
    for architecture in architectures:
        entry = known.get(architecture)
        if entry is not None and hasattr(entry, "module_name"):
            importlib.import_module(entry.module_name)
