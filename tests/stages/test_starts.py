"""The release that serves, measured in several starts: each a whole switch to itself, and answering after every one."""

import shutil
from pathlib import Path

import pytest

from modelpivot.benchmark.keep import keep, look_back
from modelpivot.benchmark.setup import read_setup
from modelpivot.errors import SwitchFailed
from modelpivot.models.recipe import EngineChoice, Recipe, Serve, Source
from modelpivot.models.release import Release
from modelpivot.models.workload import Regression, Workload
from modelpivot.stages.benchmark import measure
from modelpivot.stages.starts import measure_starts, restart
from modelpivot.state.cutovers import read_cutover_of_run
from modelpivot.state.releases import read_book
from tests.benchmark.results import result
from tests.switching import SwitchHost, answers, switch_host

__all__ = ["switch_host"]

WORKLOADS = [
    Workload(name="single", prompts=4, output_tokens=8, repeats=2),
    Workload(name="load", sweep=[1, 2], prompts=4, output_tokens=8),
]


def with_client(host: SwitchHost, release: Release, speed: float = 60.0) -> Release:
    """The release with a stand-in for the benchmark client in its environment."""
    python = host.root / "bin" / "python"
    python.parent.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).parents[1] / "standin_client.py", python)
    python.chmod(0o755)
    (host.root / "bin" / "SPEED").write_text(str(speed))
    return release


def recipe(release: Release, regression: Regression = Regression()) -> Recipe:  # noqa: B008 - frozen
    """What is measured of it."""
    return Recipe(
        name=release.name,
        model=Source(repo=release.repo),
        engine=EngineChoice(name="standin"),
        serve=Serve(served_name=release.name),
        workloads=WORKLOADS,
        regression=regression,
    )


def test_every_point_and_repeat_is_measured_and_kept(switch_host: SwitchHost) -> None:
    """A sweep's steps by name. No prompts are asked twice in one start: not by repeats, by another name of the same workload, or another run."""
    release = with_client(switch_host, switch_host.serve(switch_host.release("one")))
    first, second = (measure(switch_host.context(), release, WORKLOADS) for _ in range(2))
    assert [one.workload for one in first] == ["single", "single", "load@1", "load@2"]
    assert len({one.seed for one in first + second}) == 8
    assert len({one.start for one in first + second}) == 1
    kept, problem = look_back(switch_host.state)
    assert (len(kept), problem) == (8, "")


def test_each_start_is_another_one_and_the_release_answers_after_it(switch_host: SwitchHost) -> None:
    """Three starts, two of them by a switch of the release to itself, whose load time and downtime are kept; nothing else of the host changes."""
    release = with_client(switch_host, switch_host.serve(switch_host.release("one")))
    book, context = read_book(switch_host.state), switch_host.context()
    measurements, comparison = measure_starts(context, release, recipe(release), starts=3, is_eager=False, standing="accepted")
    assert len({one.start for one in measurements}) == 3
    assert len(measurements) == 3 * 4
    assert comparison is None
    assert answers(release)
    assert read_book(switch_host.state) == book
    closed = read_cutover_of_run(switch_host.state, context.run.id)
    assert closed is not None
    kept = sorted(look_back(switch_host.state)[0], key=lambda one: one.measurement.at)
    assert [(one.load_s is None, one.downtime_s is None) for one in kept] == [(True, True)] * 4 + [(False, False)] * 8
    assert all(one.downtime_s == closed.lost.downtime_s and one.load_s for one in kept[-4:])
    assert (closed.outcome, closed.from_release, closed.to_release) == ("promoted", "one", "one")


@pytest.mark.parametrize(("speed", "verdict", "starts"), [(30.0, "regressed", 2), (60.0, "cannot tell", 4)])
def test_more_starts_are_made_until_the_figures_tell(switch_host: SwitchHost, speed: float, verdict: str, starts: int) -> None:
    """Against one older start: the second start teaches the noise, so half the speed is told then; what cannot be told ends at the limit."""
    release = with_client(switch_host, switch_host.serve(switch_host.release("one")), speed)
    remember_loud(switch_host, release, is_loud=verdict == "cannot tell")
    _, comparison = measure_starts(switch_host.context(), release, recipe(release), starts=4, is_eager=True, standing="measured")
    assert comparison is not None
    assert comparison.verdict == verdict
    assert len({one.measurement.start for one in look_back(switch_host.state)[0] if one.release == release.id}) == starts


def remember_loud(host: SwitchHost, release: Release, *, is_loud: bool) -> None:
    """An older version: one start, or several that differ widely."""
    setup = read_setup(host.config, release).model_copy(update={"engine_version": "-1"})
    (single,) = WORKLOADS[0].points()
    speeds = (20.0, 60.0, 180.0) if is_loud else (60.0,)
    keep(
        host.state,
        [result(speed, start=f"old-{speed}", run_id="old", release="older", workload=single, setup=setup) for speed in speeds],
    )


def test_a_start_that_fails_is_an_error(switch_host: SwitchHost) -> None:
    """The release does not come up again and there is no other to go back to: told with what the switch says."""
    count = switch_host.root / "faults"
    faulty = switch_host.release("one", fault="die_at_start", args=("--fault-times", str(count)))
    switch_host.serve(faulty)
    count.write_text("9")
    with pytest.raises(SwitchFailed, match="nothing_serves"):
        restart(switch_host.context(), faulty)
