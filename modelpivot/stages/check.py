"""Check shards: the fetched directory proved again, and the suite of deployments/expectations evaluated over its table. Changes nothing."""

from modelpivot.checks.rows import rows_of
from modelpivot.checks.suite import SuiteResult, run_suite
from modelpivot.errors import GateFailed, PreconditionError
from modelpivot.files import write_model
from modelpivot.models.benchmark import Check
from modelpivot.models.counted import counted
from modelpivot.models.manifest import Verified
from modelpivot.models.plan import Plan
from modelpivot.stages.context import Context
from modelpivot.stages.told import told
from modelpivot.weights.verdict import INFORMATION, has_other_bytes
from modelpivot.weights.verify import verify_directory

NAMES_SHOWN = 20


def check_shards(context: Context, plan: Plan, *, is_full: bool = False) -> list[Check]:
    """Every check that held; GateFailed names the files first and the checks after them. Receipts that still hold are believed, unless `is_full`."""
    if plan.candidate is None or plan.manifest is None:
        raise PreconditionError("the plan knows no weights to check", hint="mend what blocks the plan, then run it again")
    with told(context.journal, "check shards", f"{counted(len(plan.manifest.files), 'file')} of {plan.manifest.repo}") as (tell, ending):
        verified = verify_directory(plan.candidate.weights_dir, plan.manifest, is_full=is_full, tell=tell)
        write_model(context.run.verified, verified)
        result = run_suite(rows_of(verified), expected_files=len(plan.manifest.files))
        write_model(context.run.checks, result)
        ending.finish(say_verdict(verified), checks=[check.model_dump(mode="json") for check in result.checks])
        require_complete(verified, result)
    return result.checks


def require_complete(verified: Verified, result: SuiteResult) -> None:
    """GateFailed unless the verdict is complete and the suite passed; its gate is named where bytes are other than the manifest's."""
    if verified.verdict.verdict == "complete" and result.passed:
        return
    problems = [str(problem) for problem in verified.verdict.problems if problem.code not in INFORMATION]
    failed = [str(check) for check in result.checks if not check.passed]
    lines = "".join(f"\n  {line}" for line in [*problems[:NAMES_SHOWN], *failed])
    more = f"\n  and {len(problems) - NAMES_SHOWN} more files" if len(problems) > NAMES_SHOWN else ""
    raise GateFailed(
        f"the weights in {verified.directory} are {verified.verdict.verdict}{lines}{more}",
        failed=[*problems, *failed],
        gate="weights" if any(has_other_bytes(row) for row in verified.table) else None,
        hint="fetch again: what is whole is kept; nothing that serves was touched",
    )


def say_verdict(verified: Verified) -> str:
    """One line for a person."""
    files = verified.verdict.files
    return f"{verified.verdict.verdict}: {files.verified} of {files.expected} files verified, {files.hashed_now} of them hashed now"
