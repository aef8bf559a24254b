"""The newest version of an engine that an index has for this machine: real uv, a private index on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.errors import PreconditionError
from modelpivot.facts.newest import NoVersion, read_newest
from modelpivot.models.engine import Engine
from modelpivot.models.host import HostConfig
from modelpivot.models.upgrade import Channel
from tests.private_index import PrivateIndex, private_index

ENGINE = Engine(name="tiny", distribution="tinyengine", module="tiny", tested=["1.0"], requirements=["tinyengine=={version}"], serve=[])
ELSEWHERE = "cp311-cp311-win_amd64"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: HostConfig) -> Iterator[PrivateIndex]:
    """The only index of this machine, with versions 1.0 and 1.1."""
    with private_index(tmp_path / "index") as served:
        for version in ("1.0", "1.1"):
            served.add("tinyengine", version, requires=["nothing-like-it==9"])
        monkeypatch.setenv("UV_DEFAULT_INDEX", served.url)
        for name in ("UV_FIND_LINKS", "UV_INDEX", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        yield served


def test_the_newest_release_is_found_whatever_it_requires(index: PrivateIndex, host: HostConfig) -> None:
    """Dependencies that nobody can resolve do not make an older version the newest."""
    assert read_newest(host, ENGINE, "stable") == "1.1"


@pytest.mark.parametrize(("channel", "version"), [("stable", "1.1"), ("pre-release", "1.2rc1")])
def test_a_pre_release_is_newest_where_it_is_asked_for(index: PrivateIndex, host: HostConfig, channel: Channel, version: str) -> None:
    """A release candidate and a development version."""
    index.add("tinyengine", "1.2.dev5")
    index.add("tinyengine", "1.2rc1")
    assert read_newest(host, ENGINE, channel) == version


def test_a_newer_version_for_other_machines_only_is_none(index: PrivateIndex, host: HostConfig) -> None:
    """The newest that has a wheel for this one."""
    index.add("tinyengine", "1.5", tag=ELSEWHERE)
    assert read_newest(host, ENGINE, "stable") == "1.1"


def test_nothing_for_this_machine_is_no_wheel(index: PrivateIndex, host: HostConfig) -> None:
    """E3: a result in uv's words, not an error."""
    index.add("foreignengine", "1.0", tag=ELSEWHERE)
    found = read_newest(host, ENGINE.model_copy(update={"distribution": "foreignengine"}), "stable")
    assert isinstance(found, NoVersion)
    assert (found.problem, "foreignengine" in found.said) == ("no_wheel", True)


def test_an_index_that_does_not_answer_is_no_answer(index: PrivateIndex, host: HostConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unreachable is told apart from nothing there."""
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    found = read_newest(host, ENGINE, "stable")
    assert isinstance(found, NoVersion)
    assert found.problem == "unreachable"


@pytest.mark.parametrize(("versions", "newest"), [(["2.0.dev1", "2.0.dev3"], "2.0.dev3"), (["0.9.dev1"], "0.9.dev1"), ([], "1.1")])
def test_a_nightly_index_goes_before_the_others(
    index: PrivateIndex, host: HostConfig, tmp_path: Path, versions: list[str], newest: str
) -> None:
    """E3: its newest, also where that is stale; the stable one where it has none of this engine."""
    with private_index(tmp_path / "nightly") as nightly:
        for version in versions:
            nightly.add("tinyengine", version)
        nightly.add("another", "1.0")
        assert read_newest(host.model_copy(update={"nightly_index": nightly.url}), ENGINE, "nightly") == newest


def test_a_nightly_without_an_index_is_refused(host: HostConfig) -> None:
    """In a sentence that names the setting."""
    with pytest.raises(PreconditionError) as caught:
        read_newest(host, ENGINE, "nightly")
    assert "MODELPIVOT_NIGHTLY_INDEX" in str(caught.value)
