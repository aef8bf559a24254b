"""What was asked of a model that became ready stands in the report, and what it answered in the release's own record."""

from modelpivot.files import read_model
from modelpivot.models.recipe import Probe
from modelpivot.stages.probe import PASSED, ProbeRecord, ask_probes
from modelpivot.stages.report import report
from modelpivot.stages.switch import follow_switch, is_closed, start_switch
from tests.switching import PROBES, SwitchHost


def test_the_report_names_every_probe_that_passed_and_the_one_that_did_not(switch_host: SwitchHost) -> None:
    """The new release fails its last probe, the old one is back and passes all: four checks, the failed one with the model's own words."""
    impossible = Probe(kind="answer", expect="^never$")
    old, new = switch_host.serve(switch_host.release("old")), switch_host.release("new", probes=[*PROBES, impossible])
    context = switch_host.context()
    follow_switch(context, start_switch(context, to=new, frm=old), until=is_closed)
    checks = report(switch_host.state, context.run.id).checks
    assert [(check.name, check.passed) for check in checks] == [
        ("probes of new", False),
        ("probe answer of old", True),
        ("probe repeat of old", True),
        ("probe logprobs of old", True),
    ]
    assert "never" in checks[0].found


def test_a_new_prompt_is_recorded_beside_the_old_ones(switch_host: SwitchHost) -> None:
    """A start that is good records what is not on record; from then on the new prompt is held against it like the first."""
    release = switch_host.serve(switch_host.release("old"))
    path = switch_host.state.release(release.id).probe_record
    assert ask_probes(release, path) == PASSED
    first = read_model(path, ProbeRecord)
    more = release.model_copy(update={"probes": [*PROBES, Probe(kind="logprobs", prompt="Four legs good,")]})
    refused = more.model_copy(update={"probes": [*more.probes, Probe(kind="answer", expect="^never$")]})
    assert ask_probes(refused, path) != PASSED and read_model(path, ProbeRecord) == first
    assert ask_probes(more, path) == PASSED
    both = read_model(path, ProbeRecord)
    assert first and both and both.answers[:1] == first.answers
    assert [answer.prompt for answer in both.answers[1:]] == ["Four legs good,"]
    assert ask_probes(more, path) == PASSED and read_model(path, ProbeRecord) == both
