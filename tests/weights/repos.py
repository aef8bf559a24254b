"""Repositories for the tests: real safetensors shards with an index, of any size, made without the safetensors library."""

import json
import random
from pathlib import Path


def make_shard(path: Path, names: list[str], *, bytes_each: int, seed: int = 0) -> None:
    """One shard with a U8 tensor of `bytes_each` bytes under every name."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    for number, name in enumerate(names):
        header[name] = {"dtype": "U8", "shape": [bytes_each], "data_offsets": [number * bytes_each, (number + 1) * bytes_each]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = random.Random(seed).randbytes(min(bytes_each, 1 << 20))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _ in names:
            whole, rest = divmod(bytes_each, len(block))
            for _ in range(whole):
                file.write(block)
            file.write(block[:rest])


def make_repo(root: Path, name: str = "acme/tiny", *, shards: int = 3, bytes_each: int = 20_000, tensors: int = 2) -> Path:
    """A repository as a model on the Hub looks: shards, index, config, tokenizer, remote code, and files that no engine needs."""
    folder = root / name
    weight_map: dict[str, str] = {}
    for number in range(1, shards + 1):
        shard = f"model-{number:05}-of-{shards:05}.safetensors"
        names = [f"layers.{number}.w{each}" for each in range(tensors)]
        make_shard(folder / shard, names, bytes_each=bytes_each // tensors, seed=number)
        weight_map |= dict.fromkeys(names, shard)
    index = {"metadata": {"total_size": shards * bytes_each}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    (folder / "config.json").write_text(json.dumps({"architectures": ["TinyForCausalLM"], "model_type": "tiny"}, indent=2))
    for small, text in SMALL_FILES.items():
        (folder / small).parent.mkdir(exist_ok=True)
        (folder / small).write_text(text)
    return folder


SMALL_FILES = {
    "generation_config.json": '{"do_sample": false}',
    "tokenizer.json": '{"version": "1.0", "model": {"type": "BPE"}}',
    "tokenizer_config.json": '{"model_max_length": 4096}',
    "chat_template.jinja": "{{ messages }}",
    "modeling_tiny.py": "class TinyForCausalLM: ...\n",
    "README.md": "# tiny\n",
    ".gitattributes": "*.safetensors filter=lfs\n",
    "figures/logo.svg": "<svg/>",
}
