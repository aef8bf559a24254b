"""Blocks hold one model of ours each, survive the server unchanged, and keep what is secret secret."""

import json
import os
from pathlib import Path
from uuid import UUID

import pytest
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from pydantic import SecretStr

import blocks
from blocks import GpuHost, HubAccess
from flows.carry import open_flow_context, with_hub
from modelpivot.models.frozen import Frozen
from modelpivot.models.host import HostConfig
from modelpivot.models.hub_account import HubAccount

TOKEN = "hf_planted_token_that_must_not_be_seen"


@pytest.mark.parametrize("block", [getattr(blocks, name) for name in blocks.__all__], ids=lambda block: block.__name__)
def test_every_block_explains_itself_and_shows_how_it_is_used(block: type[Block]) -> None:
    """The catalogue has a sentence and an example that imports, saves and loads it; and it holds exactly one model of ours."""
    example = block.get_code_example() or ""
    assert block.get_description() and f"import {block.__name__}" in example and f'{block.__name__}.load("BLOCK_NAME")' in example
    [field] = block.model_fields.values()
    assert isinstance(field.annotation, type) and issubclass(field.annotation, Frozen)


def test_a_host_comes_back_from_the_server_as_it_was_saved(tmp_path: Path) -> None:
    """Saved and loaded by name: the same configuration."""
    host = HostConfig(name="gpu-01", state_dir=tmp_path, hub_endpoint="http://hub.local", port=8123)
    GpuHost(config=host).save("gpu-01", overwrite=True)
    loaded = GpuHost.load("gpu-01")
    assert isinstance(loaded, GpuHost) and loaded.config == host


def test_a_token_is_a_secret_on_the_server() -> None:
    """The server hands the token out only to who asks for secrets; neither text nor JSON of the block shows it."""
    block = HubAccess(account=HubAccount(endpoint="http://hub.local", token=SecretStr(TOKEN)))
    document = block.save("hub", overwrite=True)
    assert isinstance(document, UUID)
    shown = get_client(sync_client=True).read_block_document(document, include_secrets=False)
    assert TOKEN not in json.dumps(shown.data) and TOKEN not in repr(block) and TOKEN not in block.model_dump_json()
    loaded = HubAccess.load("hub")
    assert isinstance(loaded, HubAccess) and loaded.account == block.account


def test_a_hub_block_gives_address_and_token_to_this_process_alone(host: HostConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address goes into the host configuration, the token into the environment where Hub clients look; never into the configuration."""
    monkeypatch.setenv("HF_TOKEN", "of the shell")  # set, so that it is put back: what is written over it is not the test's own doing
    changed = with_hub(host, HubAccess(account=HubAccount(endpoint="http://hub.local", token=SecretStr(TOKEN))))
    assert changed.hub_endpoint == "http://hub.local" and os.environ["HF_TOKEN"] == TOKEN and TOKEN not in changed.model_dump_json()
    assert with_hub(host, None) == host


@pytest.mark.parametrize(
    ("named", "expected"), [(HostConfig().hub_endpoint, "http://mirror.local"), ("http://hub.local", "http://hub.local")]
)
def test_a_host_block_that_names_no_hub_takes_the_workers(
    host: HostConfig, monkeypatch: pytest.MonkeyPatch, named: str, expected: str
) -> None:
    """As saved and loaded, when every field is there: what is the default was not chosen; one that names a Hub keeps it."""
    monkeypatch.setenv("HF_ENDPOINT", "http://mirror.local")
    monkeypatch.delenv("MODELPIVOT_HUB_ENDPOINT", raising=False)
    GpuHost(config=host.model_copy(update={"hub_endpoint": named})).save("choosing", overwrite=True)
    loaded = GpuHost.load("choosing")
    assert isinstance(loaded, GpuHost)
    assert open_flow_context("plan", loaded, None).host.hub_endpoint == expected
