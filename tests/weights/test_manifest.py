"""From the Hub's answer to the files that are fetched."""

import pytest

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.models.manifest import Manifest, ManifestFile
from modelpivot.models.recipe import Source
from modelpivot.weights.layout import find_unsafe
from modelpivot.weights.listing import Listed, Listing
from modelpivot.weights.manifest import choose_files, index_name, manifest_from_hub

COMMIT = "a" * 40
SOURCE = Source(repo="acme/tiny")


def manifest(*paths: str) -> Manifest:
    """A repository with these names."""
    return Manifest(repo="acme/tiny", commit=COMMIT, files=[ManifestFile(path=path, size=1, sha256="0" * 64) for path in paths])


def chosen(*paths: str, shards: list[str] | None = None, **source: list[str]) -> list[str]:
    """What of these names is taken."""
    picked = choose_files(manifest(*paths), Source.model_validate({"repo": "acme/tiny", **source}), shards=shards)
    return [file.path for file in picked.files]


def test_large_and_small_files_carry_their_own_digest() -> None:
    """sha256 for what is stored apart, git's blob id for the rest."""
    listing = Listing(COMMIT, (Listed("m.safetensors", 9, "c" * 64, "b" * 40), Listed("config.json", 2, None, "d" * 40)))
    assert manifest_from_hub("acme/tiny", listing).files == [
        ManifestFile(path="m.safetensors", size=9, sha256="c" * 64),
        ManifestFile(path="config.json", size=2, git_oid="d" * 40),
    ]


def test_unknown_size_is_refused_and_not_zero() -> None:
    """A size of null is no size (D9)."""
    with pytest.raises(PreconditionError, match="names no size"):
        manifest_from_hub("acme/tiny", Listing(COMMIT, (Listed("m.safetensors", None, None, "b" * 40),)))


@pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "a\\b", "", ".modelpivot/receipts.jsonl", "a\x00", "x" * 256])
def test_names_that_escape_make_no_manifest(name: str) -> None:
    """UNSAFE_PATH as soon as the Hub names it (D13)."""
    with pytest.raises(IntegrityError, match="UNSAFE_PATH"):
        manifest_from_hub("acme/tiny", Listing(COMMIT, (Listed(name, 1, None, "b" * 40),)))


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b", "a/b/c")])
def test_names_that_clash_are_unsafe(names: tuple[str, str]) -> None:
    """The same name twice, or one that is file and folder."""
    assert find_unsafe(manifest(*names))


def test_model_of_the_brief_is_taken_whole() -> None:
    """Shards, index, both configs, tokenizer, remote code, templates; no card, licence, pictures or git files."""
    needed = [
        "config.json", "hf_quant_config.json", "generation_config.json", "chat_template.jinja", "configuration_kimi_k25.py",
        "modeling_kimi_k25.py", "model.safetensors.index.json", "preprocessor_config.json", "tiktoken.model", "tokenization_kimi.py",
        "tokenizer_config.json", "tool_declaration_ts.py", "special_tokens_map.json", "vocab.txt", "merges.txt",
    ]  # fmt: skip
    shards = [f"model-{number:05}-of-00119.safetensors" for number in range(1, 120)]
    other = ["README.md", "LICENSE", "LICENSE.txt", ".gitattributes", "figures/demo.png", "logo.svg", "USE_POLICY.md", "trainer_state.json"]
    assert set(chosen(*needed, *shards, *other, shards=shards)) == {*needed, *shards}


def test_templates_and_code_in_folders_are_taken_but_not_of_a_second_set() -> None:
    """Small files in folders go with the model, unless the folder holds weights of its own."""
    assert set(
        chosen("model.safetensors", "chat_templates/tool.jinja", "lib/layer.py", "onnx/model.onnx", "onnx/config.json", "original/a.pth")
    ) == {"model.safetensors", "chat_templates/tool.jinja", "lib/layer.py"}


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["pytorch_model.bin", "tf_model.h5"], ["pytorch_model.bin"]),
        (["model.safetensors", "consolidated.safetensors"], ["model.safetensors"]),
        (["consolidated.safetensors"], ["consolidated.safetensors"]),
        (["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"], ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]),
        (["model.gguf", "mmproj-model.gguf"], ["mmproj-model.gguf", "model.gguf"]),
        (["model.safetensors", "model.gguf"], ["model.safetensors"]),
        (["training_args.bin", "model.safetensors"], ["model.safetensors"]),
    ],
)
def test_one_format_of_the_root(names: list[str], taken: list[str]) -> None:
    """safetensors before GGUF before pickles; never two."""
    assert chosen(*names) == taken


def test_index_of_the_chosen_format_only() -> None:
    """The pickles' index goes with the pickles."""
    assert chosen("model.safetensors.index.json", "pytorch_model.bin.index.json", "s.safetensors", shards=["s.safetensors"]) == [
        "model.safetensors.index.json",
        "s.safetensors",
    ]
    assert index_name(manifest("sub/model.safetensors.index.json")) is None


def test_include_replaces_and_exclude_takes_away() -> None:
    """Globs of the recipe, folders included."""
    assert chosen("UD-Q4/m-00001-of-00001.gguf", "Q8/m.gguf", "README.md", include=["UD-Q4/*"]) == ["UD-Q4/m-00001-of-00001.gguf"]
    assert chosen("model.safetensors", "vocab.txt", "merges.txt", exclude=["*.txt"]) == ["model.safetensors"]
    assert chosen("m-Q4.gguf", "m-Q8.gguf", exclude=["*Q8*"]) == ["m-Q4.gguf"]
