"""What is read of a model on the Hub, and what is said when it cannot be read."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.facts.hub import HubFacts, read_hub
from modelpivot.mirror.faults import Fault, answer_fault
from modelpivot.mirror.server import Mirror
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Manifest
from modelpivot.models.recipe import Source
from tests.weights.repos import make_repo, make_shard

REPO = "acme/tiny"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "hub", REPO)


@pytest.fixture
def mirror(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with Mirror(tmp_path / "hub") as running:
        yield running


def read(mirror: Mirror, host: HostConfig, **source: object) -> HubFacts:
    """Facts of the test's repository."""
    at = host.model_copy(update={"hub_endpoint": mirror.base_url})
    return read_hub(at, Source.model_validate({"repo": REPO, **source}), deadline_s=60)


def manifest_of(facts: HubFacts) -> Manifest:
    """The manifest, which must have been read."""
    assert isinstance(facts.manifest, Manifest), facts.manifest
    return facts.manifest


def paths_of(facts: HubFacts) -> set[str]:
    """Paths of the manifest."""
    return {file.path for file in manifest_of(facts).files}


def test_revision_is_pinned_and_config_is_of_the_same_commit(mirror: Mirror, host: HostConfig) -> None:
    """`main` becomes 40 hex, files carry size and digest, config.json is read."""
    facts = read(mirror, host)
    manifest = manifest_of(facts)
    assert manifest.commit == mirror.catalog.repo(REPO).commit  # type: ignore[union-attr]
    assert all(file.sha256 or file.git_oid for file in manifest.files) and facts.hub_problem == ""
    assert not isinstance(facts.config, Unread) and facts.config["model_type"] == "tiny"


def test_engine_files_are_taken_and_others_left(mirror: Mirror, host: HostConfig) -> None:
    """Shards, index, config, tokenizer, remote code and templates; no README, pictures or git files."""
    paths = paths_of(read(mirror, host))
    assert {"config.json", "tokenizer.json", "modeling_tiny.py", "chat_template.jinja", "model.safetensors.index.json"} < paths
    assert len([path for path in paths if path.endswith(".safetensors")]) == 3
    assert not paths & {"README.md", ".gitattributes", "figures/logo.svg"}


def test_no_second_set_of_weights(mirror: Mirror, host: HostConfig, folder: Path) -> None:
    """The same weights in another format, a merged copy and those in sub-folders stay where they are."""
    (folder / "pytorch_model.bin").write_bytes(b"x" * 100)
    (folder / "pytorch_model.bin.index.json").write_text("{}")
    make_shard(folder / "consolidated.safetensors", ["a"], bytes_each=100)
    make_shard(folder / "original" / "model.safetensors", ["a"], bytes_each=100)
    (folder / "original" / "params.json").write_text("{}")
    paths = paths_of(read(mirror, host))
    assert len([path for path in paths if path.endswith(".safetensors")]) == 3
    assert not paths & {"pytorch_model.bin", "pytorch_model.bin.index.json", "consolidated.safetensors", "original/params.json"}


def test_shards_are_those_that_the_index_names(mirror: Mirror, host: HostConfig, folder: Path) -> None:
    """A shard of an unusual name counts when the index names it, one that it does not name is left out."""
    make_shard(folder / "mtp.safetensors", ["mtp.w"], bytes_each=100)
    make_shard(folder / "leftover.safetensors", ["x"], bytes_each=100)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    index["weight_map"]["mtp.w"] = "mtp.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    paths = paths_of(read(mirror, host))
    assert "mtp.safetensors" in paths and "leftover.safetensors" not in paths


def test_recipe_chooses_by_globs(mirror: Mirror, host: HostConfig) -> None:
    """`include` replaces the choice, `exclude` takes away."""
    assert paths_of(read(mirror, host, include=["*.json"], exclude=["tokenizer*"])) == {
        "config.json",
        "generation_config.json",
        "model.safetensors.index.json",
    }


def test_several_gguf_sets_ask_for_a_choice(mirror: Mirror, host: HostConfig, folder: Path) -> None:
    """Two quantizations side by side are not both fetched: the recipe must name one."""
    for path in folder.glob("*.safetensors*"):
        path.unlink()
    for name in ("m-Q4_K_M-00001-of-00002.gguf", "m-Q4_K_M-00002-of-00002.gguf", "m-Q8_0.gguf"):
        (folder / name).write_bytes(b"GGUF")
    facts = read(mirror, host)
    assert isinstance(facts.manifest, Unread) and "m-Q4_K_M, m-Q8_0" in facts.manifest.unread and "model.include" in facts.manifest.unread
    assert paths_of(read(mirror, host, include=["*Q4_K_M*"])) == {
        "m-Q4_K_M-00001-of-00002.gguf",
        "m-Q4_K_M-00002-of-00002.gguf",
    }


@pytest.mark.parametrize(
    ("word", "problem", "remedy"),
    [
        ("gated", "gated", "ask for access"),
        ("bad_credentials", "unauthorized", "log in again"),
        ("no_repo", "not_found", "look at the name"),
        ("no_revision", "revision_gone", "plan again"),
    ],
)
def test_refusals_have_their_own_remedy_and_are_asked_once(mirror: Mirror, host: HostConfig, word: str, problem: str, remedy: str) -> None:
    """What a person must mend is told apart, and never tried again (D8)."""
    mirror.faults.add(answer_fault(word, place="api"))
    facts = read(mirror, host)
    assert facts.hub_problem == problem and isinstance(facts.manifest, Unread) and remedy in facts.manifest.unread
    assert len([each for each in mirror.served.requests if each.place == "api"]) == 1


def test_token_of_the_user_opens_a_gate(tmp_path: Path, folder: Path, host: HostConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_TOKEN is used for the Hub, for metadata and small files alike."""
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    with Mirror(tmp_path / "hub", gates={REPO: "hf_right"}) as mirror:
        facts = read(mirror, host)
        assert manifest_of(facts) and not isinstance(facts.config, Unread)
        assert not [
            each for each in mirror.served.requests if each.has_token and each.place == "body" and each.path.endswith("safetensors")
        ]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_failures_are_tried_again(mirror: Mirror, host: HostConfig, status: int) -> None:
    """Three bad moments of the Hub are waited out (D7)."""
    mirror.faults.add(Fault(kind="status", place="api", status=status, times=3))
    assert manifest_of(read(mirror, host)).files


def test_rate_limit_is_waited_for_as_long_as_asked(mirror: Mirror, host: HostConfig) -> None:
    """A RateLimit that resets in two seconds is waited for two seconds (D7)."""
    mirror.faults.add(Fault(kind="status", place="api", status=429, headers={"RateLimit": '"api";r=0;t=2'}))
    started = time.monotonic()
    assert manifest_of(read(mirror, host)).files
    assert time.monotonic() - started >= 2


def test_a_wait_longer_than_the_deadline_is_not_begun(mirror: Mirror, host: HostConfig) -> None:
    """The Hub asks for five minutes: the answer comes at once, and says so."""
    mirror.faults.add(Fault(kind="status", place="api", status=429, headers={"Retry-After": "300"}, times=None))
    started = time.monotonic()
    facts = read(mirror, host)
    assert facts.hub_problem == "unreachable" and "429" in str(facts.manifest) and time.monotonic() - started < 50


def test_hub_that_is_down_is_said_within_seconds(host: HostConfig, mirror: Mirror) -> None:
    """Nothing listens: unreachable, with the address, at the deadline and not a minute later (D6)."""
    started = time.monotonic()
    facts = read_hub(host, Source(repo=REPO), deadline_s=2)
    assert facts.hub_problem == "unreachable" and host.hub_endpoint in str(facts.manifest)
    assert time.monotonic() - started < 50


def test_hub_that_says_nothing_is_given_up(mirror: Mirror, host: HostConfig) -> None:
    """It takes the connection and is silent for an hour: unreachable, at the deadline."""
    mirror.faults.add(Fault(kind="stall", place="api", times=None))
    started = time.monotonic()
    at = host.model_copy(update={"hub_endpoint": mirror.base_url})
    assert read_hub(at, Source(repo=REPO), deadline_s=1.5).hub_problem == "unreachable"
    assert time.monotonic() - started < 50


def test_error_page_instead_of_metadata_is_not_a_manifest(mirror: Mirror, host: HostConfig) -> None:
    """HTTP 200 with an error as JSON is no answer; it is asked again, and then the manifest is there."""
    mirror.faults.add(Fault(kind="error_page", place="api"))
    assert manifest_of(read(mirror, host)).files


def test_revision_that_moves_between_two_calls_keeps_one_commit(mirror: Mirror, host: HostConfig, folder: Path) -> None:
    """Manifest and config are of one commit; when it vanishes in between, that is REVISION_GONE and no mixture (D10)."""
    mirror.faults.add(Fault(kind="wrong_commit", place="resolve", path="config.json"))
    facts = read(mirror, host)
    assert isinstance(facts.config, Unread) and facts.hub_problem == "revision_gone"


def test_repository_without_config_is_read(mirror: Mirror, host: HostConfig, folder: Path) -> None:
    """No config.json (GGUF): the manifest is there, the config is unread with its reason."""
    (folder / "config.json").unlink()
    facts = read(mirror, host)
    assert manifest_of(facts).files and facts.config == Unread(unread="the repository has no config.json") and facts.hub_problem == ""


def test_the_two_config_files_are_known_as_texts(mirror: Mirror, folder: Path, host: HostConfig) -> None:
    """To the byte, so that a plan can show what a patch changes; what holds no JSON object is left out, and said."""
    (folder / "config.json").write_bytes(b'{"model_type":  "tiny",\r\n "a": "\xc3\xa9"}')
    (folder / "hf_quant_config.json").write_text('\ufeff{"quantization": {}}')
    facts = read(mirror, host)
    assert facts.texts == {"config.json": (folder / "config.json").read_bytes().decode()}
    assert isinstance(facts.quantization_file, Unread) and "BOM" in facts.quantization_file.unread


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 5000, b'{"a": "\\ud800"}', b"[1]", b"", b"9" * 5000])
def test_an_odd_config_is_unread_with_its_reason(mirror: Mirror, folder: Path, host: HostConfig, content: bytes) -> None:
    """Never an exception, never a half-read config."""
    (folder / "config.json").write_bytes(content)
    facts = read(mirror, host)
    assert isinstance(facts.config, Unread) and "config.json" in facts.config.unread and facts.texts == {}
