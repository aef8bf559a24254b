"""How long it takes to know everything: `modelpivot facts`, and `modelpivot plan` against a Hub on loopback, each in a process of its own.

`python benchmarks/facts.py [--runs 5]` writes a table to standard output. The Hub is the mirror; the model is shaped like the brief's: 119 shards,
277,239 tensors (39 MB of headers), 595 GB of which nothing is ever written (sparse files, their digests given by receipts). With --small, one of
119 shards and 1,190 tensors. The engine is a stand-in wheel, so that uv resolves without a network.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from modelpivot.mirror.server import Mirror
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.manifest import write_manifest
from modelpivot.weights.receipts import append_receipts, make_receipt
from tests.recorded import KIMI_CONFIG
from tests.standin_wheel import build_wheel
from tests.world import ENGINES

LAYERS, EXPERTS, SHARDS = 61, 384, 119
BYTES = {"BF16": 2, "U8": 1, "F8_E4M3": 1, "F32": 4}
COMMIT = "ab" * 20
PARTS = (("gate_proj", (2048, 7168)), ("up_proj", (2048, 7168)), ("down_proj", (7168, 2048)))
Tensor = tuple[str, str, tuple[int, ...]]


def tensors(experts: int) -> Iterator[Tensor]:
    """Names, types and shapes as the brief's model has them."""
    yield "language_model.model.embed_tokens.weight", "BF16", (163840, 7168)
    for layer in range(LAYERS):
        at = f"language_model.model.layers.{layer}."
        for name, shape in (
            ("q_a_proj", (1536, 7168)),
            ("q_b_proj", (12288, 1536)),
            ("kv_a_proj_with_mqa", (576, 7168)),
            ("o_proj", (7168, 8192)),
        ):
            yield f"{at}self_attn.{name}.weight", "BF16", shape
        yield f"{at}input_layernorm.weight", "BF16", (7168,)
        for expert in range(experts if layer else 0):
            for name, (rows, columns) in PARTS:
                stem = f"{at}mlp.experts.{expert}.{name}."
                yield f"{stem}weight", "U8", (rows, columns // 2)
                yield f"{stem}weight_scale", "F8_E4M3", (rows, columns // 16)
                yield f"{stem}weight_scale_2", "F32", ()
                yield f"{stem}input_scale", "F32", ()
    yield "language_model.lm_head.weight", "BF16", (163840, 7168)


def make_model(folder: Path, experts: int) -> None:
    """Sparse shards with real headers, config, index, manifest and receipts."""
    folder.mkdir(parents=True)
    every = list(tensors(experts))
    groups = [every[number::SHARDS] for number in range(SHARDS)]
    weight_map: dict[str, str] = {}
    for number, group in enumerate(groups, 1):
        name = f"model-{number:05}-of-{SHARDS:05}.safetensors"
        write_shard(folder / name, group)
        weight_map |= dict.fromkeys((tensor[0] for tensor in group), name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(KIMI_CONFIG))
    give_receipts(folder)


def write_shard(path: Path, group: list[Tensor]) -> None:
    """A header, and as many bytes that take no room."""
    header, at = {}, 0
    for name, dtype, shape in group:
        size = math.prod(shape) * BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)


def give_receipts(folder: Path) -> None:
    """Digests that the mirror takes from receipts, so that nobody hashes 595 GB of zeros."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    digest = "c" * 64
    files = [ManifestFile(path=path.name, size=path.stat().st_size, sha256=digest) for path in paths]
    write_manifest(WeightsFolder(folder), Manifest(repo="acme/kimi", commit=COMMIT, files=files))
    append_receipts(WeightsFolder(folder), [make_receipt(path.name, path.stat(), sha256=digest, git_oid=None) for path in paths])


def timed(words: list[str], env: dict[str, str], runs: int) -> tuple[float, float]:
    """Median of the wall clock and of our own CPU, seconds; the first run, which fills the page cache, does not count."""
    walls, spent = [], []
    for _ in range(runs + 1):
        before, started = os.times(), time.monotonic()
        done = subprocess.run([sys.executable, "-m", "modelpivot", *words, "--json"], env=env, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        walls.append(time.monotonic() - started)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(walls[1:]), statistics.median(spent[1:])


def prepare(root: Path, endpoint: str) -> dict[str, str]:
    """Recipe, engine and host below `root`; the variables of a command there."""
    (root / "deployments" / "recipes").mkdir(parents=True)
    (root / "deployments" / "engines.yaml").write_text(yaml.safe_dump(ENGINES))
    recipe = {"name": "kimi", "model": {"repo": "acme/kimi"}, "engine": {"name": "standin"}, "serve": {"served_name": "kimi"}}
    (root / "deployments" / "recipes" / "kimi.yaml").write_text(yaml.safe_dump(recipe))
    build_wheel(root / "wheels")
    return {
        **os.environ,
        "MODELPIVOT_DEPLOYMENTS": str(root / "deployments"),
        "MODELPIVOT_STATE_DIR": str(root / "state"),
        "MODELPIVOT_WEIGHTS_ROOT": str(root / "weights"),
        "MODELPIVOT_ENVIRONMENTS_ROOT": str(root / "environments"),
        "MODELPIVOT_HUB_ENDPOINT": endpoint,
        "UV_FIND_LINKS": str(root / "wheels"),
        "UV_NO_INDEX": "1",
        "UV_CACHE_DIR": str(root / "uv"),
        "HF_HOME": str(root / "hf"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="1,190 tensors instead of 277,239")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_model(root / "hub" / "acme--kimi" / COMMIT, 2 if options.small else EXPERTS)
        with Mirror(root / "hub") as mirror:
            env = prepare(root, mirror.base_url)
            rows = [(" ".join(words), *timed(words, env, options.runs)) for words in (["facts"], ["plan", "kimi"])]
    print(f"medians of {options.runs}, s\n\n| command | wall | CPU |\n|---|---|---|")
    for command, wall, cpu in rows:
        print(f"| `modelpivot {command}` | {wall:.2f} | {cpu:.2f} |")


if __name__ == "__main__":
    main()
