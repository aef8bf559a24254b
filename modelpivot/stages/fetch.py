"""Stage "download": bring the weights of a plan in and prove them. Runs in a process of its own, beside install; idempotent by receipts on disk."""

import time
from pathlib import Path

from modelpivot.errors import IntegrityError, PreconditionError
from modelpivot.facts.repository import read_token
from modelpivot.files import write_model
from modelpivot.models.counted import counted
from modelpivot.models.manifest import Manifest, Verified
from modelpivot.models.plan import Plan
from modelpivot.stages.context import Context
from modelpivot.stages.patch import patch_again
from modelpivot.weights.fetch import FetchOptions, fetch_manifest
from modelpivot.weights.layout import WeightsFolder
from modelpivot.weights.receipts import unproved_files
from modelpivot.weights.verify import verify_directory


def fetch(context: Context, plan: Plan) -> Verified:
    """Every file of the plan's manifest under its name, and the verdict over them (also in the run's verified.json).

    Nothing is fetched when receipts prove every file. PreconditionError when the bytes do not fit, before the first one; IntegrityError names
    every problem; TransientError when the network gave out: what arrived is kept, and the next call goes on there.
    """
    tell, started = context.journal.stage("download"), time.monotonic()
    manifest, directory = _required(plan)
    missing = unproved_files(WeightsFolder(directory), manifest)
    tell(
        "started",
        f"{manifest.repo}@{manifest.commit[:12]}: {len(missing)} of {counted(len(manifest.files), 'file')} to come",
        directory=str(directory),
    )
    result = fetch_manifest(
        manifest,
        directory,
        endpoint=context.host.hub_endpoint,
        token=read_token(),
        tell=tell,
        options=FetchOptions(reserve_bytes=context.host.disk_reserve_bytes),
    )
    patch_again(directory, tell)
    verified = verify_directory(directory, manifest, tell=tell)
    write_model(context.run.verified, verified)
    require_complete(verified)
    tell(
        "finished" if missing else "nothing_to_do",
        f"{counted(verified.verdict.files.verified, 'file')}, {verified.verdict.bytes.verified:,} bytes proved",
        seconds=round(time.monotonic() - started, 3),
        fetched_bytes=result.fetched_bytes,
        resumed_bytes=result.resumed_bytes,
        reconnects=result.reconnects,
        hashed_now=verified.verdict.files.hashed_now,
    )
    return verified


def require_complete(verified: Verified) -> None:
    """IntegrityError that names every problem, unless the verdict is complete."""
    verdict = verified.verdict
    if verdict.verdict != "complete":
        lines = "\n  ".join(str(problem) for problem in verdict.problems) or "nothing was proved"
        raise IntegrityError(
            f"{verified.directory}: {verdict.verdict}:\n  {lines}", hint=verdict.problems[0].remedy if verdict.problems else ""
        )


def _required(plan: Plan) -> tuple[Manifest, Path]:
    if plan.manifest is None or plan.candidate is None:
        raise PreconditionError("the plan names no files to fetch", hint="mend its blockers first (modelpivot plan)")
    return plan.manifest, plan.candidate.weights_dir
