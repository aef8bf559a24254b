"""What package indexes do to people (E3, E4): real uv against a private index on loopback."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError
from modelpivot.facts.engine_change import read_engine_facts
from modelpivot.facts.resolution import resolve_choice
from modelpivot.models.engine import Engine, Resolution
from modelpivot.models.engine_change import EngineChange
from modelpivot.models.frozen import Unread
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import BuildSettings, EngineChoice
from modelpivot.operations.environment import install_environment
from modelpivot.stages.engine_change import plan_for_choice
from tests.engines import ENGINE, Index, index
from tests.facts.git_package import make_checkout
from tests.private_index import PrivateIndex, private_index
from tests.weights.told import Told

__all__ = ["index"]
SMALL = EngineChoice(name="small")
NIGHTLY = EngineChoice(name="small", channel="nightly")
FOREIGN = "cp311-cp311-win_amd64"


@pytest.fixture
def nightlies(index: Index, tmp_path: Path) -> Iterator[PrivateIndex]:
    """An index of nightlies beside the stable one; empty. Its pages may be cached for ten minutes, as public ones are."""
    with private_index(tmp_path / "nightlies", max_age_s=600) as served:
        yield served


@pytest.fixture
def nightly_host(host: HostConfig, nightlies: PrivateIndex) -> HostConfig:
    """A host that knows the index of nightlies."""
    return host.model_copy(update={"nightly_index": nightlies.url})


def resolved(host: HostConfig, choice: EngineChoice, engine: Engine = ENGINE) -> Resolution:
    """A resolution that must be one."""
    answer = resolve_choice(host, engine, choice)
    assert isinstance(answer.resolution, Resolution), answer
    return answer.resolution


def change(host: HostConfig, choice: EngineChoice, environment: Path) -> EngineChange:
    """What the choice would change there."""
    return plan_for_choice(host, ENGINE, choice, environment=environment, consents=[])


@pytest.fixture
def live(nightly_host: HostConfig) -> Path:
    """The stable engine, installed and proved."""
    return install_environment(nightly_host, resolved(nightly_host, SMALL), ENGINE, Told()).path


def test_a_nightly_is_the_newest_of_its_index(nightly_host: HostConfig, nightlies: PrivateIndex, live: Path) -> None:
    """Its engine from the nightly index, everything else from the stable one; classed as engine and snapshot, and passed: it was asked for."""
    nightlies.add("small_engine", "1.1.dev20+g1f0cf8f0a", requires=["helper>=1", "unwanted"])
    nightlies.add("small_engine", "1.1.dev19+gb0b0b0b0b", requires=["helper>=1", "unwanted"])
    made = change(nightly_host, NIGHTLY, live)
    (one,) = made.changes
    assert (one.after, one.classes, one.answer) == ("1.1.dev20+g1f0cf8f0a", ["engine", "snapshot"], "pass")
    assert (made.verdict, made.engine_version) == ("change", "1.1.dev20+g1f0cf8f0a")


def test_a_new_nightly_is_seen_although_an_old_one_was_kept(nightly_host: HostConfig, nightlies: PrivateIndex, live: Path) -> None:
    """What was resolved yesterday is no answer for tonight; the run that installed it stays with it (its plan pins the digest)."""
    nightlies.add("small_engine", "1.1.dev1", requires=["helper>=1", "unwanted"])
    first = resolved(nightly_host, NIGHTLY)
    install_environment(nightly_host, first, ENGINE, Told())
    nightlies.add("small_engine", "1.1.dev2", requires=["helper>=1", "unwanted"])
    assert resolved(nightly_host, NIGHTLY).engine_version == "1.1.dev2"
    assert resolved(nightly_host, NIGHTLY.model_copy(update={"resolution": first.digest})) == first


def test_a_stale_nightly_is_no_change(nightly_host: HostConfig, nightlies: PrivateIndex) -> None:
    """E3: the index still serves what was installed yesterday."""
    nightlies.add("small_engine", "1.1.dev1", requires=["helper>=1", "unwanted"])
    path = install_environment(nightly_host, resolved(nightly_host, NIGHTLY), ENGINE, Told()).path
    made = change(nightly_host, NIGHTLY, path)
    assert (made.verdict, made.changes, made.is_proved) == ("no_change", [], True)


def test_a_nightly_index_that_serves_the_stable_one_is_no_change(nightly_host: HostConfig, nightlies: PrivateIndex, live: Path) -> None:
    """E3: the newest of the nightly index is the version that serves."""
    nightlies.add("small_engine", "1.0", requires=["helper>=1", "unwanted"])
    assert change(nightly_host, NIGHTLY, live).verdict == "no_change"


def test_a_nightly_without_a_wheel_for_this_machine_is_no_wheel(nightly_host: HostConfig, nightlies: PrivateIndex, live: Path) -> None:
    """E3: only for another system; told with uv's words for it, and not as a failure of requirements."""
    nightlies.add("small_engine", "1.1.dev1", tag=FOREIGN)
    made = change(nightly_host, NIGHTLY, live)
    assert made.verdict == "no_wheel"
    (blocker,) = made.blockers
    assert (blocker.code, "small-engine" in blocker.found) == ("NO_WHEEL", True)


def test_a_host_without_an_index_of_nightlies_says_so(host: HostConfig, index: Index) -> None:
    """The recipe wants one and the host names none."""
    answer = resolve_choice(host, ENGINE, NIGHTLY)
    assert isinstance(answer.resolution, Unread)
    assert "MODELPIVOT_NIGHTLY_INDEX" in answer.resolution.unread


def test_a_stable_version_without_a_wheel_for_this_machine_is_not_built(host: HostConfig, index: Index) -> None:
    """The engine's source would be built for hours; no wheel is no wheel, unless the recipe says to build it."""
    checkout = make_checkout(index.root / "source", "small_engine", "3.0")
    index.add_source(checkout, "small_engine", "3.0")
    choice = EngineChoice(name="small", version="3.0")
    assert resolve_choice(host, ENGINE, choice).problem == "no_wheel"
    built = choice.model_copy(update={"build": BuildSettings(from_source=["small-engine"])})
    assert install_environment(host, resolved(host, built), ENGINE, Told()).engine_version == "3.0"


def test_no_network_is_another_word_than_no_wheel(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a version that nobody published is another one than requirements at odds with each other."""
    assert resolve_choice(host, ENGINE, EngineChoice(name="small", version="7.7")).problem == "no_wheel"
    index.add("picky", "1.0", requires=["helper<1"])
    index.add("helper", "0.5")
    assert resolve_choice(host, ENGINE, EngineChoice(name="small", extra_requirements=["picky"])).problem == "conflict"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert resolve_choice(host, ENGINE, SMALL).problem == "unreachable"


def test_what_uv_warns_of_is_not_what_it_failed_over(host: HostConfig, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine's outdated setting stands above every answer of uv, and is no reason."""
    monkeypatch.setenv("UV_NATIVE_TLS", "1")
    answer = resolve_choice(host, ENGINE, EngineChoice(name="small", version="7.7"))
    assert isinstance(answer.resolution, Unread) and "7.7" in answer.resolution.unread
    assert "warning" not in answer.resolution.unread


def test_a_yanked_version_is_told_and_asked_about(host: HostConfig, tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken only where its exact version is asked for, and not in silence then."""
    with private_index(tmp_path / "private") as served:
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        served.add("small_engine", "1.0", requires=["helper"])
        served.add("helper", "1.0")
        path = install_environment(host, resolved(host, SMALL), ENGINE, Told()).path
        served.add("helper", "1.1", yanked="breaks everything")
        assert change(host, SMALL, path).verdict == "no_change"
        made = change(host, SMALL.model_copy(update={"extra_requirements": ["helper==1.1"]}), path)
    (one,) = made.changes
    assert ("yanked" in one.classes, one.answer) == (True, "consent")
    assert [question.id for question in made.questions] == ["packages-yanked"]


def test_other_bytes_than_the_index_names_are_refused(
    host: HostConfig, tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page names a digest and the file has another: package, expected and found; nothing is proved, nothing else is touched."""
    with private_index(tmp_path / "private") as served:
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        served.add("small_engine", "1.0", requires=["helper"])
        wheel = served.add("helper", "1.0", digest="ab" * 32)
        page = served.root / "simple/helper/index.html"
        resolution = resolved(host, SMALL, ENGINE)
        with pytest.raises(IntegrityError) as caught:
            install_environment(host, resolution, ENGINE, Told())
        assert all(words in caught.value.message for words in ("helper", "ab" * 32, served.digest(wheel)))
        page.write_text(page.read_text().replace("ab" * 32, served.digest(wheel)))
        assert install_environment(host, resolved(host, SMALL), ENGINE, Told()).new


def test_a_git_commit_is_built_and_known_by_its_commit(host: HostConfig, index: Index, tmp_path: Path) -> None:
    """No digest stands by it; the lock names the commit, the environment is proved, and the change is a snapshot that blocks unless asked for."""
    path = install_environment(host, resolved(host, SMALL), ENGINE, Told()).path
    checkout = make_checkout(tmp_path / "helper-git", "helper", "2.0.dev0", is_repository=True)
    by_branch = SMALL.model_copy(update={"overrides": [f"helper @ git+{checkout.as_uri()}"]})
    resolution = resolved(host, by_branch)
    assert [len(pin.version.rpartition("@")[2]) for pin in resolution.pins if not pin.is_hashed] == [40]
    proof = install_environment(host, resolution, ENGINE, Told())
    found = read_engine_facts(host, ENGINE, SMALL, proof.path).live
    assert found and not isinstance(found, Unread)
    (helper,) = [package for package in found.packages if package.name == "helper"]
    assert (helper.version, helper.origin, len(helper.commit)) == ("2.0.dev0", "git", 40)
    made = change(host, by_branch, path)
    (one,) = made.changes
    assert one.classes == ["snapshot", "unhashed"] and one.after == f"git {helper.commit[:10]}"
    assert change(host, by_branch, proof.path).verdict == "no_change"


def test_an_engine_from_a_commit_is_named_after_it(host: HostConfig, index: Index, tmp_path: Path) -> None:
    """A fork of the engine: its environment carries the commit, its proof the engine's own version."""
    checkout = make_checkout(tmp_path / "engine-git", "small_engine", "1.1.dev7", is_repository=True)
    choice = EngineChoice(name="small", requirements=[f"small-engine @ git+{checkout.as_uri()}"])
    resolution = resolved(host, choice)
    assert resolution.engine_version.startswith("git") and len(resolution.engine_version) == 13
    assert install_environment(host, resolution, ENGINE, Told()).engine_version == "1.1.dev7"


def test_a_local_wheel_is_taken_with_its_digest(host: HostConfig, index: Index, tmp_path: Path) -> None:
    """By address: version and digest are known, so it is no unhashed package."""
    wheel = index.add("small_engine", "1.0+local1", requires=["helper"])
    index.forget("small-engine")
    resolution = resolved(host, EngineChoice(name="small", requirements=[f"small-engine @ {wheel.as_uri()}"]))
    assert resolution.engine_version == "1.0+local1"
    assert all(pin.is_hashed for pin in resolution.pins)
    assert install_environment(host, resolution, ENGINE, Told()).engine_version == "1.0+local1"


def test_overrides_hold_whatever_others_ask_for(host: HostConfig, index: Index) -> None:
    """The engine wants helper 1 or later; the recipe says 0.9, and gets it, and the difference to before is asked about no more."""
    index.add("helper", "0.9")
    path = install_environment(host, resolved(host, SMALL), ENGINE, Told()).path
    made = change(host, SMALL.model_copy(update={"overrides": ["helper==0.9"]}), path)
    (one,) = made.changes
    assert (one.classes, one.is_asked, one.answer) == (["downgrade", "major"], True, "pass")


def test_builds_get_the_hosts_cuda_and_the_recipes_variables(host: HostConfig, index: Index, tmp_path: Path) -> None:
    """CUDA_HOME and its compiler on the PATH from the host, variables from the recipe: what the build saw is in what it built."""
    checkout = make_checkout(tmp_path / "flash", "flash", "1.0", is_repository=True, record=["CUDA_HOME", "MAX_JOBS", "PATH"])
    host = host.model_copy(update={"cuda_home": tmp_path / "cuda-13.1"})
    build = BuildSettings(env={"MAX_JOBS": "4"})
    resolution = resolved(host, SMALL.model_copy(update={"extra_requirements": [f"flash @ git+{checkout.as_uri()}"], "build": build}))
    path = install_environment(host, resolution, ENGINE, Told()).path
    seen = next(path.glob("lib/python3*/site-packages/flash/__init__.py")).read_text()
    assert f"CUDA_HOME = '{tmp_path / 'cuda-13.1'}'" in seen
    assert "MAX_JOBS = '4'" in seen
    assert f"{tmp_path / 'cuda-13.1' / 'bin'}:" in seen.partition("PATH = ")[2]


def test_what_must_be_built_in_the_environment_comes_last(host: HostConfig, index: Index, tmp_path: Path) -> None:
    """flash-attn's kind: its build imports what else is installed there, which an isolated build does not have."""
    checkout = make_checkout(tmp_path / "flash", "flash", "1.0", is_repository=True, imports="helper")
    choice = SMALL.model_copy(update={"extra_requirements": [f"flash @ git+{checkout.as_uri()}"]})
    late = choice.model_copy(update={"build": BuildSettings(no_isolation=["flash"])})
    path = install_environment(host, resolved(host, late), ENGINE, Told()).path
    assert f"BUILT_BY = '{path}" in next(path.glob("lib/python3*/site-packages/flash/__init__.py")).read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="drivers are asked through nvidia-smi")
def test_the_driver_is_asked_for_the_cuda_variant(host: HostConfig, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch_backend: driver without a driver is said; a stated one is always used."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    answer = resolve_choice(host, ENGINE, SMALL.model_copy(update={"torch_backend": "driver"}))
    assert isinstance(answer.resolution, Unread)
    assert "state the CUDA in the recipe" in answer.resolution.unread
    assert resolved(host, SMALL.model_copy(update={"torch_backend": "cpu"})).torch_backend == "cpu"
