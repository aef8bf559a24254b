"""The gate of a pivot: floors always, the same model's baseline where there is one, and refused what did not pass."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from modelpivot.benchmark.keep import keep, look_back
from modelpivot.benchmark.setup import digest_setup, read_setup
from modelpivot.errors import GateFailed
from modelpivot.models.benchmark import Measurement, Setup, StoredResult
from modelpivot.models.host import HostConfig
from modelpivot.models.recipe import EngineChoice, Recipe, Serve, Source
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.models.workload import Floor, Regression
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.gate import gate
from modelpivot.state.runs import read_events
from tests.benchmark.results import SINGLE, result

QUIET = (60.0, 60.3, 59.7, 60.1)


@pytest.fixture
def context(host: HostConfig) -> Context:
    """A run of a pivot."""
    return open_context(host, name="gate")


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """What is measured; its engine is nobody's."""
    return Release(
        id="model-2",
        name="model",
        serving_digest="0",
        repo="acme/model",
        commit="b" * 40,
        weights_dir=tmp_path,
        view_dir=tmp_path,
        environment_dir=tmp_path,
        engine="vllm",
        engine_version="0.27.0",
        start=StartSpec(argv=["python", "--max-model-len", "1024"], environment={}, working_directory=tmp_path),
        endpoint=Endpoint(bind="127.0.0.1", port=8000, served_name="m"),
    )


def recipe(floor: float = 1.0, regression: Regression = Regression()) -> Recipe:  # noqa: B008 - frozen
    """One workload with a floor."""
    return Recipe(
        name="model",
        model=Source(repo="acme/model"),
        engine=EngineChoice(name="vllm"),
        serve=Serve(served_name="m"),
        workloads=[SINGLE],
        floors=[Floor(workload="single", output_tokens_per_s=floor)],
        regression=regression,
    )


def measured(context: Context, release: Release, speed: float) -> list[Measurement]:
    """This run's one result, kept as the benchmark stage keeps it."""
    setup = read_setup(context.host, release)
    one = result(speed, run_id=context.run.id, release=release.id, setup=setup, at=2000.0, standing="measured", start="now")
    keep(context.state, [one])
    return [one.measurement]


def remember(context: Context, release: Release, speeds: Sequence[float] = QUIET, **changes: object) -> None:
    """An older engine version of the same model on this host, accepted, one start for each speed."""
    setup = read_setup(context.host, release).model_copy(update={"engine_version": "0.26.0", **changes})
    keep(context.state, [old_result(setup, speed, number) for number, speed in enumerate(speeds)])


def old_result(setup: Setup, speed: float, number: int) -> StoredResult:
    """One start of it."""
    return result(speed, start=f"old-{number}", run_id=f"old-{number}", release="model-1", setup=setup, at=1000.0 + number)


def standings(context: Context) -> list[str]:
    """Of this run's results."""
    return [one.standing for one in look_back(context.state)[0] if one.run_id == context.run.id]


def test_a_first_pivot_is_judged_by_its_floors_alone(context: Context, release: Release) -> None:
    """Another model on this host was ten times as fast; this one passes, and is no baseline before it is promoted."""
    remember(context, release, [600.0, 601.0, 599.0], repo="acme/faster")
    checks = gate(context, recipe(), measured(context, release, 60.0), release)
    assert [check.name for check in checks] == ["single: valid", "single: success rate", "single: output tokens per second"]
    assert standings(context) == ["measured"]


def test_the_same_model_again_passes(context: Context, release: Release) -> None:
    """Within the threshold of its baseline; every metric is a check with both figures."""
    remember(context, release)
    checks = gate(context, recipe(), measured(context, release, 59.0), release)
    against = [check for check in checks if "baseline" in check.name]
    assert [check.passed for check in against] == [True] * 3
    assert against[0].expected == "a loss of at most 5.0% from 60.05"
    assert against[0].found.startswith("59 (-1.7%")


def test_a_regression_is_sent_back_and_is_no_baseline(context: Context, release: Release) -> None:
    """10 % slower than the older version: the error names metric and figures; the next run is held against the old figures still."""
    remember(context, release)
    with pytest.raises(GateFailed) as caught:
        gate(context, recipe(), measured(context, release, 54.0), release)
    assert any("output tokens per second against the baseline" in failed and "regressed" in failed for failed in caught.value.failed)
    assert standings(context) == ["refused"]
    later = open_context(context.host, name="later")
    with pytest.raises(GateFailed, match=r"from 60\.05"):
        gate(later, recipe(), measured(later, release, 54.0), release)


def test_the_comparison_is_told_with_the_set_ups_differences(context: Context, release: Release) -> None:
    """For the report and its pictures."""
    remember(context, release)
    gate(context, recipe(), measured(context, release, 60.0), release)
    told = next(event.data["comparison"] for event in read_events(context.run)[0] if event.data.get("comparison"))
    assert isinstance(told, dict)
    assert told["verdict"] == "passed"
    assert [difference["field"] for difference in told["differences"]] == ["engine_version"]  # type: ignore[index, call-overload, union-attr]


@pytest.mark.parametrize(("regression", "is_promoted"), [(Regression(), True), (Regression(cannot_tell="return"), False)])
def test_one_old_start_cannot_tell(context: Context, release: Release, regression: Regression, is_promoted: bool) -> None:
    """The noise is not known: promoted with a warning, or sent back where the recipe is careful."""
    remember(context, release, [60.0])
    measurements = measured(context, release, 45.0)
    if is_promoted:
        gate(context, recipe(regression=regression), measurements, release)
        assert any(event.kind == "warning" and "cannot tell" in event.message for event in read_events(context.run)[0])
    else:
        with pytest.raises(GateFailed, match="cannot tell"):
            gate(context, recipe(regression=regression), measurements, release)


def test_a_floor_holds_whatever_the_baseline_says(context: Context, release: Release) -> None:
    """As fast as ever, and still below what the recipe asks for."""
    remember(context, release)
    with pytest.raises(GateFailed) as caught:
        gate(context, recipe(floor=100.0), measured(context, release, 60.0), release)
    assert len(caught.value.failed) == 1
    assert standings(context) == ["refused"]


def test_without_its_database_the_floors_decide(
    context: Context, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing answers at the history's address: told, and no reason to go back."""
    monkeypatch.setenv("MODELPIVOT_DATABASE_URL", f"postgresql://pivot@/history?host={tmp_path}")
    checks = gate(context, recipe(), measured(context, release, 60.0), release)
    assert all(check.passed for check in checks)
    assert any("only the floors decide" in event.message for event in read_events(context.run)[0])
    assert standings(context) == ["measured"]


def test_set_ups_that_differ_in_places_alone_are_one(context: Context, release: Release, tmp_path: Path) -> None:
    """Another port, view and cache folder decide no figure; another flag does."""
    start = release.start
    words = [*start.argv, "--port", "9000", "--model", "/elsewhere"]
    moved = release.model_copy(update={"start": start.model_copy(update={"argv": words, "environment": {"VLLM_CACHE_ROOT": "/x"}})})
    eager = release.model_copy(update={"start": start.model_copy(update={"argv": [*start.argv, "--enforce-eager"]})})
    digests = [digest_setup(read_setup(context.host, one)) for one in (release, moved, eager)]
    assert digests[0] == digests[1] != digests[2]
