"""What the engine makes of a model's KV cache settings, by its own code. Run by the engine's own Python: `kv_cache.py FOLDER...`, each with a
config.json and perhaps a hf_quant_config.json; no weights, no tokenizer.

Answers one JSON object on the last line, by folder: {"refused": "..."}, or
{"quantization", "parser", "cache", "scales"}: the method it takes, its parser, the type of the cache, and whether scales are loaded for it.
"""

import importlib.util
import json
import sys
from pathlib import Path

HAS_SCALES = ("kv_cache_quant_algo", "kv_cache_quant_method", "kv_cache_scheme")


def load_beside(name):
    """A script of this folder as a module: `-I` keeps the folder off the path."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_kv(accepts, folder):
    arguments = accepts.import_name("AsyncEngineArgs", "vllm.engine.arg_utils")(model=folder, skip_tokenizer_init=True)
    model_config = arguments.create_model_config()
    parser = accepts.parse_quantization(model_config, arguments.create_load_config())
    return {
        "quantization": model_config.quantization,
        "parser": type(parser).__name__ if parser else None,
        "cache": accepts.cache_type(model_config, parser),
        "scales": any(getattr(parser, name, None) is not None for name in HAS_SCALES),
    }


def main(folders):
    accepts, answers = load_beside("accepts"), {}
    for folder in folders:
        try:
            answers[folder] = read_kv(accepts, folder)
        except accepts.MovedError as error:
            answers[folder] = {"unasked": str(error)}
        except Exception as error:  # noqa: BLE001 whatever the engine says no with is its answer
            answers[folder] = {"refused": accepts.first_words(error)}
    print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
