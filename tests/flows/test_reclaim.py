"""Reclaim and cleanup as flows: a dry run shows, a yes frees, and what is named and nothing else stops."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from modelpivot.models.result import RunResult
from tests.flows.asked import list_artifacts
from tests.reclaiming import Pile
from tests.switching import SwitchHost, answers, switch_host

__all__ = ["switch_host"]


def run(pile: Pile, flow: str, **parameters: Any) -> RunResult:
    """A flow in a process of its own, to its end."""
    from modelpivot.flow_child import FlowChild
    from modelpivot.state.runs import new_run_id

    return FlowChild(pile.host, flow, parameters, new_run_id(flow)).follow(lambda _: None)


@pytest.mark.usefixtures("prefect_api")
def test_a_dry_run_shows_and_a_yes_frees(tmp_path: Path) -> None:
    """Planned, with what may go as an artifact; nobody agreed: blocked; agreed: gone."""
    pile = Pile(tmp_path)
    weights, stray = pile.weights(), pile.stray()
    shown = run(pile, "reclaim")
    assert (shown.outcome, shown.exit_code, weights.exists()) == ("planned", 0, True)
    texts = [str(artifact.data) for artifact in list_artifacts(UUID(shown.flow_run_id))]
    assert any("weights:glm5-gguf" in text for text in texts)
    assert run(pile, "reclaim", dry_run=False).exit_code == 3 and weights.exists()
    done = run(pile, "reclaim", dry_run=False, agreed=True)
    assert (done.outcome, done.exit_code, weights.exists(), stray.exists()) == ("reclaimed", 0, False, True)
    assert run(pile, "reclaim", dry_run=False, named=["weights:glm5-gguf"]).exit_code == 0 and not stray.exists()


@pytest.mark.usefixtures("prefect_api")
def test_a_cleanup_stops_what_is_named(switch_host: SwitchHost) -> None:
    """With its name and a yes; a rollback starts it again."""
    pile = Pile(switch_host.root / "pile", state_dir=switch_host.config.state_dir)
    old = switch_host.serve(switch_host.release("old"))
    assert run(pile, "cleanup", stop=["old"]).outcome == "planned" and answers(old)
    done = run(pile, "cleanup", stop=["old"], dry_run=False, agreed=True)
    assert (done.outcome, done.exit_code, done.released, answers(old)) == ("cleaned", 0, None, False)
    assert run(pile, "rollback", agreed=True).exit_code == 0 and answers(old)
