"""The shell commands that a recipe or host names to run before staging and after promotion, by prefect-shell, as tasks of the flow."""

from collections.abc import Sequence
from typing import Literal

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_shell import ShellOperation

from modelpivot.errors import CommandFailed
from modelpivot.stages.context import Context

STRICT = "set -euo pipefail"
"""ShellOperation joins its lines without it, so that only the last line would count."""


def run_hooks(context: Context, when: Literal["before", "after"], commands: Sequence[str]) -> None:
    """Run the commands in one shell, the first failure ends it: CommandFailed. Nothing to do without any."""
    if commands:
        _run_hooks.with_options(name=f"hooks {when}")(context, when, list(commands))


@task(cache_policy=NO_CACHE, persist_result=False)
def _run_hooks(context: Context, when: str, commands: list[str]) -> None:
    tell = context.journal.stage(f"hooks {when}")
    tell("started", f"{len(commands)} commands")
    environment = {"MODELPIVOT_RUN_ID": context.run.id, "MODELPIVOT_HOST": context.host.name}
    operation = ShellOperation(commands=[STRICT, *commands], env=environment)
    try:
        operation.run()
    except RuntimeError as error:
        tell("failed", str(error))
        raise CommandFailed(f"a hook {when} failed: {error}", argv=tuple(commands), hint="its output is in this run's log") from error
    tell("finished", "done")
