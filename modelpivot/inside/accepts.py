"""Whether the engine takes a release: its own parser reads the command line, its own code reads config.json and the quantization block,
and the model's class is imported. Loads no weights. Run by the engine's own Python: `accepts.py -- <the flags of the server>`.

Answers one JSON object on the last line: {"refused": "..."}, {"unasked": "..."} where this version keeps these things elsewhere, or
{"architecture", "quantization", "quantization_parser", "kv_cache_dtype", "max_model_len"}, each with "cuda_context": whether asking made one.
What the engine caches of the model's class lands in the release's own caches and makes its first start 10 s shorter.
"""

import contextlib
import importlib
import io
import json
import sys


class MovedError(Exception):
    """This version of the engine keeps a name elsewhere."""


def import_name(name, *modules):
    """A name from the first module that has it: they move between versions."""
    for module in modules:
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(module), name)
    raise MovedError(f"{name} is in none of {', '.join(modules)}")


def first_words(error):
    """What an error says, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines)[:1000] or type(error).__name__


def parse_flags(flags):
    parser_class = import_name("FlexibleArgumentParser", "vllm.utils.argparse_utils", "vllm.utils")
    add_flags = import_name("make_arg_parser", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return add_flags(parser_class()).parse_args(flags)
    except SystemExit:
        raise ValueError(said.getvalue().strip().splitlines()[-1]) from None


def describe(model_config, load_config):
    parser = parse_quantization(model_config, load_config)
    return {
        "architecture": model_config.architecture,
        "quantization": model_config.quantization,
        "quantization_parser": type(parser).__name__ if parser else None,
        "kv_cache_dtype": cache_type(model_config, parser),
        "max_model_len": model_config.max_model_len,
    }


def parse_quantization(model_config, load_config):
    """The engine's parser of the quantization block, read; None: nothing is quantized."""
    get_quant_config = import_name("get_quant_config", "vllm.model_executor.model_loader.weight_utils")
    return get_quant_config(model_config, load_config) if model_config.quantization else None


def cache_type(model_config, parser):
    """The KV cache's type where no flag names one: what ModelOpt's block resolves to; else FP8 where the parser kept a scheme and the attention is one
    that looks at it; `auto` is the model's own type."""
    resolve = import_name("resolve_kv_cache_dtype_string", "vllm.utils.torch_utils", "vllm.utils")
    resolved = resolve("auto", model_config)
    has_scheme = getattr(parser, "kv_cache_scheme", None) is not None and not model_config.use_mla
    return "fp8" if resolved == "auto" and has_scheme else resolved


def main(flags):
    try:
        arguments = import_name("AsyncEngineArgs", "vllm.engine.arg_utils").from_cli_args(parse_flags(flags))
        answer = describe(arguments.create_model_config(), arguments.create_load_config())
    except MovedError as error:
        answer = {"unasked": str(error)}
    except Exception as error:  # noqa: BLE001 whatever the engine says no with is its answer
        answer = {"refused": first_words(error)}
    torch = sys.modules.get("torch")
    answer["cuda_context"] = bool(torch and torch.cuda.is_initialized())
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:])
