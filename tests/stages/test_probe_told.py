"""What was asked of a model that became ready stands in the report, of each release that was asked."""

from modelpivot.models.recipe import Probe
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
