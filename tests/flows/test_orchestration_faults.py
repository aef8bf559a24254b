"""O2 and O3: a flood stays on the host, a secret that somebody prints is masked, and what Prefect keeps of a big model is small.

O1, what dies: tests/up/test_crash.py, tests/deployments (cancel), tests/systemd/test_faults.py.
"""

import json

import pytest

from modelpivot.masking import mask_secrets
from tests.deployed import wait_for_log
from tests.flows.asked import list_artifacts, read_flow_run
from tests.weights.repos import make_repo
from tests.world import World

FEW = 100
SMALL_BYTES = 200_000
TOKEN = "hf_printed_by_a_hook"


def test_a_flood_of_a_hook_stays_on_the_host_and_its_secret_is_masked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: 20,000 lines, one of 2 MB, bytes that are no text and a printed token: all lines in the run's folder, few at Prefect, the token nowhere."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    flood = ["seq 20000", "head -c 2000000 /dev/zero | tr '\\0' x; echo", "printf '\\377 no text\\n'", 'echo "token $HF_TOKEN"', "false"]
    world.recipe("flooded", repo="new", hooks={"before": flood})
    result = world.pivot("flooded")
    assert (result.outcome, result.cause[-1]) == ("failed", "token ***"), world.tell(result)
    kept = (world.state.run(result.run_id).root / "logs" / "hooks-before.log").read_text()
    assert kept.startswith("1\n2\n") and "\n20000\nxxx" in kept and "\ufffd no text" in kept
    run = read_flow_run(result)
    logs = wait_for_log(run, "Finished in state")
    assert 0 < len(logs) < FEW
    files = [path.read_text(errors="replace") for path in world.state.run(result.run_id).root.rglob("*") if path.is_file()]
    assert not [text for text in (*files, *logs, run.model_dump_json()) if TOKEN in text]


def test_what_prefect_keeps_of_a_big_model_is_small(world: World) -> None:
    """O3: a model of 600 shards: its manifest stays on the host; state, parameters and artifacts together are small, and no result is kept."""
    make_repo(world.root / "hub", "acme/many", shards=600, bytes_each=200, tensors=2)
    world.recipe("many")
    result = world.run("pivot", recipe="many")
    assert result.outcome == "planned", world.tell(result)
    run = read_flow_run(result)
    kept = run.model_dump_json() + json.dumps([str(artifact.data) for artifact in list_artifacts(run.id)])
    assert len(kept) < SMALL_BYTES and "model-00600-of-00600.safetensors" in world.state.run(result.run_id).plan.read_text()
    assert run.state and not run.state.data


def test_only_values_of_variables_named_like_secrets_are_masked() -> None:
    """A short value, and one of another name, stay: words are not spoiled."""
    environ = {"HF_TOKEN": "hf_abcdefgh", "PREFECT_API_AUTH_STRING": "admin:longsecret", "MY_TOKEN": "short", "HOME": "/root/longhome"}
    text = "hf_abcdefgh longsecret admin short /root/longhome"
    assert mask_secrets(text, environ) == "*** *** admin short /root/longhome"
