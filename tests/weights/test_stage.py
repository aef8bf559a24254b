"""The download stage: what the plan names is there and proved, or nothing was touched."""

from pathlib import Path

import pytest

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.files import read_model
from modelpivot.mirror.faults import Fault
from modelpivot.models.host import HostConfig
from modelpivot.models.manifest import Verified, weights_directory
from modelpivot.models.plan import Plan
from modelpivot.models.release import Endpoint, Release, StartSpec
from modelpivot.recipes import read_recipe
from modelpivot.stages.context import Context, open_context
from modelpivot.stages.fetch import fetch
from modelpivot.state.runs import read_events
from tests.weights.conftest import SHARD, Lab


def plan_for(lab: Lab, host: HostConfig) -> Plan:
    """A plan whose candidate serves the lab's repository."""
    lab.directory = weights_directory(host.weights_root, lab.manifest.repo, lab.manifest.commit)
    recipe = read_recipe("demo")
    release = Release(
        id="r1",
        name="tiny",
        serving_digest="0" * 64,
        repo=lab.manifest.repo,
        commit=lab.manifest.commit,
        weights_dir=lab.directory,
        view_dir=host.state_dir / "releases" / "r1" / "view",
        environment_dir=Path("/opt/none"),
        engine="vllm-cpu",
        engine_version="0",
        start=StartSpec(argv=[], environment={}, working_directory=Path("/")),
        endpoint=Endpoint(bind="127.0.0.1", port=1, served_name="tiny"),
    )
    return Plan(recipe=recipe, from_release=None, candidate=release, manifest=lab.manifest, resolution=None)


@pytest.fixture
def context(lab: Lab, host: HostConfig) -> Context:
    return open_context(host.model_copy(update={"hub_endpoint": lab.mirror.base_url}))


def kinds(context: Context) -> list[str]:
    """What the stage told, progress aside."""
    return [event.kind for event in read_events(context.run)[0] if event.stage == "download" and event.kind != "progress"]


def test_download_brings_in_and_proves(lab: Lab, context: Context) -> None:
    """The verdict is complete, lies in the run, and the journal has start, progress and end."""
    verified = fetch(context, plan_for(lab, context.host))
    lab.assert_complete()
    assert verified.verdict.verdict == "complete" and verified.directory == lab.directory
    assert read_model(context.run.verified, Verified) == verified
    assert kinds(context) == ["started", "finished"]
    assert verified.verdict.files.hashed_now == 0


def test_nothing_to_do_when_it_is_there(lab: Lab, context: Context) -> None:
    """A second run asks the Hub for nothing and says nothing_to_do."""
    plan = plan_for(lab, context.host)
    fetch(context, plan)
    lab.mirror.served.clear()
    fetch(context, plan)
    assert lab.mirror.served.requests == [] and kinds(context)[-1] == "nothing_to_do"


def test_disk_that_is_too_small_blocks_before_the_first_byte(lab: Lab, context: Context) -> None:
    """The reserve of the host counts (D9)."""
    host = context.host.model_copy(update={"disk_reserve_bytes": 1 << 60})
    with pytest.raises(PreconditionError, match="bytes free"):
        fetch(Context(host, context.state, context.run, context.journal), plan_for(lab, host))
    assert lab.mirror.served.requests == []


def test_bad_upstream_names_every_problem(lab: Lab, context: Context) -> None:
    """IntegrityError with file and code; the other files are kept."""
    plan = plan_for(lab, context.host)
    lab.mirror.faults.add(Fault(kind="flip", path=SHARD, times=None, at=0.5))
    with pytest.raises(IntegrityError, match=f"HASH_MISMATCH {SHARD}"):
        fetch(context, plan)
    assert lab.assert_no_wrong_file() == len(lab.manifest.files) - 1


def test_plan_without_files_is_refused(lab: Lab, context: Context) -> None:
    """A plan whose manifest could not be read has nothing to fetch."""
    plan = plan_for(lab, context.host).model_copy(update={"manifest": None})
    with pytest.raises(PreconditionError, match="names no files"):
        fetch(context, plan)
