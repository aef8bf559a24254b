"""What uv would install: real uv over a private index of real wheels."""

import re
from pathlib import Path

import pytest

from modelpivot.facts.lock import parse_pins
from modelpivot.facts.resolution import KEPT, find_kept, read_request, read_resolution
from modelpivot.files import write_model
from modelpivot.models.engine import Pin
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice
from tests.engines import CHOICE, ENGINE, Index, index, resolve
from tests.packages import build_wheel

__all__ = ["index"]


def test_pins_are_exact_with_hashes_and_name_no_place(host: HostConfig, index: Index) -> None:
    """Every package with its version and sha256; neither the index nor a path of this machine is in the lock."""
    resolution = resolve(host)
    assert resolution.pins == [
        Pin(name="helper", version="1.0"),
        Pin(name="small-engine", version="1.0"),
        Pin(name="unwanted", version="1.0"),
    ]
    assert resolution.lock_text.count("--hash=sha256:") == 3
    assert str(index.root) not in resolution.lock_text
    assert "://" not in resolution.lock_text
    assert re.fullmatch(r"small-1\.0-[0-9a-f]{10}", resolution.environment_name)


def test_the_same_request_gives_the_same_environment(host: HostConfig, index: Index) -> None:
    """Twice the same digest; with something left out, another one."""
    first = resolve(host)
    assert resolve(host) == first
    assert resolve(host, choice=EngineChoice(name="small", exclude_packages=["unwanted"])).digest != first.digest


def test_excluded_packages_are_left_out(host: HostConfig, index: Index) -> None:
    """Through uv's overrides, from engines.yaml and from the recipe alike."""
    by_recipe = resolve(host, choice=EngineChoice(name="small", exclude_packages=["unwanted"]))
    by_engine = resolve(host, engine=ENGINE.model_copy(update={"exclude_packages": ["unwanted"]}))
    assert [pin.name for pin in by_recipe.pins] == ["helper", "small-engine"]
    assert by_recipe.excluded == ["unwanted"]
    assert by_engine.pins == by_recipe.pins


def test_the_recipe_may_name_version_and_further_requirements(host: HostConfig, index: Index) -> None:
    """Another version than the tested one, and a package beside."""
    index.add("small_engine", "2.0")
    index.add("plugin", "0.1")
    resolution = resolve(host, choice=EngineChoice(name="small", version="2.0", extra_requirements=["plugin"]))
    assert resolution.engine_version == "2.0"
    assert Pin(name="plugin", version="0.1") in resolution.pins


def test_what_cannot_be_resolved_is_unread_with_uvs_words(host: HostConfig, index: Index) -> None:
    """No such version: the reason names it."""
    answer = read_resolution(host, ENGINE, EngineChoice(name="small", version="7.7"))
    assert isinstance(answer, Unread)
    assert "small-engine==7.7" in answer.unread


def test_an_index_out_of_reach_is_unread(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is an answer with its reason, no exception."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    answer = read_resolution(host, ENGINE, CHOICE)
    assert isinstance(answer, Unread)
    assert "127.0.0.1:9" in answer.unread


def test_an_environment_on_the_host_answers_without_an_index(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was resolved once for a request stays: a newer helper appears, the index goes, the answer is the same."""
    first = resolve(host)
    write_model(host.environments_root / first.environment_name / KEPT, first)
    index.add("helper", "9.0")
    assert resolve(host) == first
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert resolve(host) == first
    other = EngineChoice(name="small", exclude_packages=["unwanted"])
    assert find_kept(host, read_request(host, ENGINE, other)) is None


def test_wheel_folders_of_pip_are_used(host: HostConfig, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folders in PIP_FIND_LINKS, split by white space as pip splits them: uv finds a package in each."""
    for name in ("one", "two"):
        build_wheel(tmp_path / f"folder-{name}", name, "1.0")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path / 'folder-one'} {tmp_path / 'folder-two'}")
    names = {pin.name for pin in resolve(host, choice=EngineChoice(name="small", extra_requirements=["one", "two"])).pins}
    assert {"one", "two"} <= names


def test_extra_indexes_of_pip_count_alike(host: HostConfig, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old helper in one extra index does not hide the new one in the next, as it would by uv's own habit."""
    old, new = Index(tmp_path / "old"), Index(tmp_path / "new")
    old.add("helper", "0.1")
    new.add("helper", "3.0")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{old.url} {new.url}")
    assert Pin(name="helper", version="3.0") in resolve(host).pins


def test_a_missing_local_torch_is_looked_for_again_with_a_backend(host: HostConfig, index: Index) -> None:
    """torch==...+cpu is in no index: uv is asked again with --torch-backend, and both reasons are told."""
    index.add("small_engine", "3.0", requires=["torch==0.0.1+cpu"])
    index.add("torch", "0.0.1")
    engine = ENGINE.model_copy(update={"torch_backend": "cpu"})
    answer = read_resolution(host, engine, EngineChoice(name="small", version="3.0"))
    assert isinstance(answer, Unread)
    assert "no version of torch==0.0.1+cpu" in answer.unread
    assert "and with --torch-backend cpu:" in answer.unread
    plain = read_resolution(host, ENGINE, EngineChoice(name="small", version="3.0"))
    assert isinstance(plain, Unread)
    assert "--torch-backend" not in plain.unread


def test_an_interpreter_that_does_not_run_is_unread(host: HostConfig, index: Index) -> None:
    """MODELPIVOT_PYTHON with a typing error: the reason names it."""
    answer = read_resolution(host.model_copy(update={"python": "/nonexistent/python"}), ENGINE, CHOICE)
    assert isinstance(answer, Unread)
    assert "/nonexistent/python" in answer.unread


def test_pins_are_read_from_every_form_of_a_lock() -> None:
    """Versions with local parts, markers, direct addresses; hashes and comments are no pins."""
    text = "torch==2.13.0+cpu \\\n    --hash=sha256:aa\nnumpy==2.3.5 ; python_version >= '3'\nodd @ https://a/odd.whl\n# six==1.0\n"
    assert parse_pins(text) == [
        Pin(name="torch", version="2.13.0+cpu"),
        Pin(name="numpy", version="2.3.5", is_hashed=False),
        Pin(name="odd", version="https://a/odd.whl", is_hashed=False),
    ]
