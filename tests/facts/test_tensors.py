"""Exact bytes by role from headers: read by Range from a Hub, or on disk; never more than the headers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.facts.hub import read_hub
from modelpivot.facts.tensor_roles import role_of
from modelpivot.facts.tensors import FIRST_BYTES, read_model_weights
from modelpivot.mirror.faults import Fault
from modelpivot.mirror.server import Mirror
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest
from modelpivot.models.model_parts import ModelWeights
from modelpivot.models.recipe import Source

REPO = "acme/tensors"
TENSORS: dict[str, tuple[str, list[int]]] = {
    "model.embed_tokens.weight": ("BF16", [64, 16]),
    "model.layers.0.self_attn.q_proj.weight": ("BF16", [16, 16]),
    "model.layers.0.self_attn.k_proj.weight": ("BF16", [4, 16]),
    "model.layers.0.mlp.experts.0.up_proj.weight": ("U8", [32, 8]),
    "model.layers.0.mlp.experts.0.up_proj.weight_scale_2": ("F32", []),
    "model.layers.0.mlp.gate.weight": ("BF16", [4, 16]),
    "model.layers.0.input_layernorm.weight": ("BF16", [16]),
    "model.layers.1.eh_proj.weight": ("BF16", [16, 32]),
    "lm_head.weight": ("BF16", [64, 16]),
}
BYTES = {"BF16": 2, "U8": 1, "F32": 4}


def write_shard(path: Path, names: list[str], *, padding: int = 0, data: bytes | None = None) -> int:
    """A shard with these tensors; its header's bytes."""
    header: dict[str, object] = {"__metadata__": {"pad": "x" * padding}}
    at = 0
    for name in names:
        dtype, shape = TENSORS[name]
        size = BYTES[dtype]
        for each in shape:
            size *= each
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + (bytes(at) if data is None else data))
    return len(text) + 8


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    """A Hub with two shards, the header of the second larger than what is read at once."""
    folder = tmp_path / "hub" / REPO
    folder.mkdir(parents=True)
    names = list(TENSORS)
    write_shard(folder / "model-00001-of-00002.safetensors", names[:5])
    write_shard(folder / "model-00002-of-00002.safetensors", names[5:], padding=FIRST_BYTES + 1000)
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": 1, "num_nextn_predict_layers": 1}))
    with Mirror(tmp_path / "hub") as running:
        yield running


def manifest_of(mirror: Mirror) -> Manifest:
    """As a plan reads it."""
    found = read_hub(HostConfig(hub_endpoint=mirror.base_url), Source(repo=REPO), deadline_s=60).manifest
    assert isinstance(found, Manifest)
    return found


def read(mirror: Mirror, directory: Path = Path("/nowhere"), *, deadline_s: float = 60) -> ModelWeights | Unread:
    """The weights of the test's repository."""
    return read_model_weights(mirror.base_url, manifest_of(mirror), directory, token=None, layers=1, deadline_s=deadline_s)


def known(found: ModelWeights | Unread) -> dict[tuple[str, str], int]:
    """Bytes by role and type."""
    assert isinstance(found, ModelWeights), found
    return {(group.role, group.dtype): group.size_bytes for group in found.groups}


def test_bytes_by_role_and_type_are_exact(mirror: Mirror) -> None:
    """Every tensor once, told apart by what an engine does with it."""
    assert known(read(mirror)) == {
        ("embedding", "BF16"): 2048,
        ("attention", "BF16"): 512,
        ("keys", "BF16"): 128,
        ("experts", "U8"): 256,
        ("experts", "F32"): 4,
        ("router", "BF16"): 128,
        ("small", "BF16"): 32,
        ("next_token", "BF16"): 1024,
        ("head", "BF16"): 2048,
    }


def test_only_headers_come_over_the_network(mirror: Mirror) -> None:
    """One question for a small header, two for a large one; of the second no byte more than the header."""
    found = read(mirror)
    assert isinstance(found, ModelWeights)
    bodies = [each for each in mirror.served.requests if each.place == "body" and each.path.endswith(".safetensors")]
    assert len(bodies) == 3
    assert found.read_bytes < 2 * FIRST_BYTES + 5000
    assert sum(each.sent for each in bodies) == found.read_bytes


def test_files_on_disk_are_read_there(mirror: Mirror, tmp_path: Path) -> None:
    """A whole copy needs no Hub."""
    found = read_model_weights("http://127.0.0.1:9", manifest_of(mirror), tmp_path / "hub" / REPO, token=None, layers=1, deadline_s=1)
    assert known(found) == known(read(mirror)) and isinstance(found, ModelWeights) and found.read_bytes == 0


def test_a_bad_moment_of_the_store_is_waited_out(mirror: Mirror) -> None:
    """Passing failures are tried again."""
    mirror.faults.add(Fault(kind="status", place="body", status=503, path="model-00001-of-00002.safetensors"))
    assert known(read(mirror))


def test_a_hub_that_is_gone_makes_the_weights_unread(mirror: Mirror) -> None:
    """With the reason; the plan goes by the files' sizes then, and says so."""
    found = read_model_weights("http://127.0.0.1:9", manifest_of(mirror), Path("/nowhere"), token=None, layers=1, deadline_s=1)
    assert isinstance(found, Unread) and "127.0.0.1:9" in found.unread


@pytest.mark.parametrize("content", [b"\xff" * 64, b"\x08\x00\x00\x00\x00\x00\x00\x00[1,2,3] ", (2).to_bytes(8, "little") + b"{]", b"abc"])
def test_a_file_that_is_no_safetensors_makes_the_weights_unread(mirror: Mirror, tmp_path: Path, content: bytes) -> None:
    """Upstream is bad: no guess is made."""
    (tmp_path / "hub" / REPO / "model-00001-of-00002.safetensors").write_bytes(content)
    assert isinstance(read(mirror), Unread)


def test_gguf_is_known_by_its_size(tmp_path: Path) -> None:
    """Its tensors are divided like all others; the file's size is what there is."""
    (folder := tmp_path / "hub" / "acme/gguf").mkdir(parents=True)
    (folder / "m-Q4.gguf").write_bytes(b"GGUF" + bytes(996))
    with Mirror(tmp_path / "hub") as mirror:
        manifest = read_hub(HostConfig(hub_endpoint=mirror.base_url), Source(repo="acme/gguf")).manifest
        assert isinstance(manifest, Manifest)
        found = read_model_weights(mirror.base_url, manifest, Path("/nowhere"), token=None, layers=None)
    assert known(found) == {("whole", ""): 1000}


def test_a_whole_split_needs_no_index(mirror: Mirror, tmp_path: Path) -> None:
    """An index of 300,000 tensors is not fetched when the names say which shards there are."""
    (tmp_path / "hub" / REPO / "model.safetensors.index.json").write_text("{}")
    assert len([file for file in manifest_of(mirror).files if file.path.endswith(".safetensors")]) == 2
    assert not [each for each in mirror.served.requests if each.place == "body" and each.path.endswith("index.json")]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("language_model.model.layers.7.mlp.experts.41.down_proj.weight_scale", "experts"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "shared_experts"),
        ("model.layers.3.mlp.gate_proj.weight", "mlp"),
        ("model.layers.3.self_attn.kv_a_proj_with_mqa.weight", "latent"),
        ("model.layers.3.self_attn.kv_b_proj.weight", "attention"),
        ("model.layers.3.self_attn.indexer.wq_b.weight", "indexer"),
        ("model.layers.3.linear_attn.in_proj_qkvz.weight", "linear"),
        ("backbone.layers.3.mixer.in_proj.weight", "linear"),
        ("vision_tower.encoder.blocks.3.wqkv.weight", "vision"),
        ("model.visual.blocks.3.attn.qkv.weight", "vision"),
        ("model.layers.99.mlp.up_proj.weight", "next_token"),
        ("mtp.layers.0.mlp.up_proj.weight", "next_token"),
        ("model.layers.3.block_sparse_moe.experts.1.w1.weight", "experts"),
        ("transformer.wte.weight", "embedding"),
        ("model.unheard_of.weight", "other"),
    ],
)
def test_roles_by_name(name: str, role: str) -> None:
    """The names that checkpoints use."""
    assert role_of(name, 2, 61) == role
