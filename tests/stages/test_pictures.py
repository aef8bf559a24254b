"""The report of a run as a page: its time line from the journal, its figures and their history from the database."""

from modelpivot.benchmark.keep import keep
from modelpivot.models.host import HostConfig
from modelpivot.models.workload import Workload
from modelpivot.plans.references import find_results
from modelpivot.stages.context import open_context
from modelpivot.stages.pictures import draw_history, draw_run, find_curves, find_spans, find_trends
from modelpivot.stages.told import told
from modelpivot.state.runs import read_events
from tests.benchmark.results import SETUP, SINGLE, result

SWEEP = Workload(name="load", sweep=[1, 4, 16], prompts=20)
NEWER = SETUP.model_copy(update={"engine_version": "0.27.0"})


def test_a_run_is_drawn_from_what_lies_on_disk(host: HostConfig) -> None:
    """Stages, figures and history of the same model; another model's is left out."""
    context = open_context(host, name="drawn")
    with told(context.journal, "install") as (_, ending):
        ending.finish("done")
    context.journal("finished", "all is well", outcome="promoted")
    others = SETUP.model_copy(update={"repo": "acme/unrelated", "engine_version": "9.9.9"})
    mine = [result(500.0 + point.concurrency, run_id=context.run.id, workload=point, setup=NEWER) for point in SWEEP.points()]
    keep(context.state, [*mine, result(setup=others), result(60.0, at=1.0, workload=SWEEP.points()[2])])
    html = draw_run(context.state, context.run.id).page.read_text()
    assert context.run.pictures.is_file()
    assert ">install<" in html
    assert "Throughput against latency" in html
    assert "load@16: output tokens per second" in html
    assert "9.9.9" not in html


def test_spans_come_from_the_journal(host: HostConfig) -> None:
    """Two stages at once, one of them tried twice, and one that has not ended: each with its own bar."""
    context = open_context(host, name="spans")
    install, download = context.journal.stage("install"), context.journal.stage("download")
    for tell, kind in ((install, "started"), (download, "started"), (download, "failed"), (download, "started"), (install, "finished")):
        tell(kind)  # type: ignore[arg-type]
    context.journal("log", "the end")
    spans = find_spans(read_events(context.run)[0])
    assert sorted((span.name, span.result) for span in spans) == [("download", "failed"), ("download", "running"), ("install", "done")]
    assert all(0 <= span.begin_s <= span.end_s for span in spans)


def test_a_curve_is_one_version_over_its_concurrencies() -> None:
    """Medians over all starts; a single point is no curve."""
    results = [result(speed * point.concurrency, start=f"s{speed}", workload=point) for speed in (50, 60, 90) for point in SWEEP.points()]
    (curve,) = find_curves([*results, result(setup=NEWER)])
    assert [(point.concurrency, point.tokens_per_s) for point in curve.points] == [(1, 60), (4, 240), (16, 960)]


def test_a_trend_goes_over_versions_from_old_to_new() -> None:
    """Each with its starts and, once any version was started twice, the band of the noise; what was refused stands apart."""
    history = [
        result(50.0, at=4.0, setup=NEWER, standing="refused"),
        result(61.0, at=3.0, start="s2"),
        result(60.0, at=2.0, start="s1"),
    ]
    trend = find_trends(history, [SINGLE.digest])[0]
    assert [(group.name, len(group.values), group.is_accepted) for group in trend.groups] == [
        ("0.26.0 aaaaaaa", 2, True),
        ("0.27.0 aaaaaaa, refused", 1, False),
    ]
    assert all(group.band for group in trend.groups)


def test_the_whole_history_is_drawn(host: HostConfig) -> None:
    """Every model under its own name."""
    path = host.state_dir / "history.html"
    other = SETUP.model_copy(update={"repo": "acme/other"})
    draw_history([result(), *(result(setup=other, start=start) for start in ("s1", "s2"))], path)
    assert "acme/other, single" in path.read_text()


def test_a_probe_model_is_no_kin_of_its_model(host: HostConfig) -> None:
    """A few layers are many times as fast: their figures stand in no picture, and under no version, of the whole model."""
    context = open_context(host, name="whole")
    probe = result(987654.0, setup=NEWER, standing="measured").model_copy(update={"recipe": "model-probe"})
    whole = [result(60.0, run_id=context.run.id, start=start, setup=NEWER) for start in ("a", "b")]
    keep(context.state, [probe, *whole])
    context.journal("finished", "all is well", outcome="promoted")
    html = draw_run(context.state, context.run.id).page.read_text()
    assert "60" in html and "987654" not in html and "987,654" not in html  # no time of day, as an id holds it, has these digits
    assert find_results([probe, *whole], "0.27.0") == whole
