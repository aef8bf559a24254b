"""The shell commands that a recipe or host names to run before staging and after promotion, by prefect-shell, as tasks of the flow."""

from collections.abc import Sequence
from typing import Literal

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_shell import ShellOperation

from modelpivot.errors import CommandFailed
from modelpivot.files import write_atomic
from modelpivot.host import LAST_LINES, LONGEST_LINE
from modelpivot.masking import mask_secrets
from modelpivot.stages.context import Context

STRICT = ("set -euo pipefail", "exec 2>&1")
"""ShellOperation joins its lines without the first, so that only the last line would count, and keeps no error output without the second."""


def run_hooks(context: Context, when: Literal["before", "after"], commands: Sequence[str]) -> None:
    """Run the commands in one shell, the first failure ends it: CommandFailed. Nothing to do without any."""
    if commands:
        _run_hooks.with_options(name=f"hooks {when}")(context, when, list(commands))


@task(cache_policy=NO_CACHE, persist_result=False)
def _run_hooks(context: Context, when: str, commands: list[str]) -> None:
    tell = context.journal.stage(f"hooks {when}")
    tell("started", f"{len(commands)} commands")
    environment = {"MODELPIVOT_RUN_ID": context.run.id, "MODELPIVOT_HOST": context.host.name}
    with ShellOperation(commands=[*STRICT, *commands], env=environment, stream_output=False) as operation:
        process = operation.trigger()
        try:
            process.wait_for_completion()
        except RuntimeError as error:
            last = tuple(_keep(context, when, process.fetch_result())[-LAST_LINES:])
            failed = CommandFailed(
                f"a hook {when} failed with exit code {process.return_code}: {last[-1] if last else 'no output'}",
                argv=commands,
                returncode=process.return_code,
                last_lines=last,
            )
            tell("failed", failed.message)
            raise failed from error
    lines = _keep(context, when, process.fetch_result())
    tell("finished", f"done; {len(lines)} lines in {context.run.log(f'hooks-{when}')}")


def _keep(context: Context, when: str, lines: Sequence[str]) -> list[str]:
    """Everything that was said, into the run's folder, without secrets: Prefect takes no flood."""
    masked = [mask_secrets(line)[:LONGEST_LINE] for line in lines]
    write_atomic(context.run.log(f"hooks-{when}"), "".join(f"{line}\n" for line in masked))
    return masked
