"""The shell commands that a recipe or host names to run before staging and after promotion, by prefect-shell, as tasks of the flow."""

from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import Literal

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect_shell import ShellOperation
from prefect_shell.commands import ShellProcess

from modelpivot.errors import CommandFailed
from modelpivot.files import write_atomic
from modelpivot.host import LAST_LINES, LONGEST_LINE
from modelpivot.masking import mask_secrets
from modelpivot.models.counted import counted
from modelpivot.stages.context import Context

STRICT = ("set -euo pipefail", "exec 2>&1")
"""ShellOperation joins its lines without the first, so that only the last line would count, and keeps no error output without the second."""


def run_hooks(context: Context, when: Literal["before", "after"], commands: Sequence[str], *, deadline_s: float) -> None:
    """Run the commands in one shell, which the first failure ends, or the deadline: CommandFailed. Nothing to do without any."""
    if commands:
        _run_hooks.with_options(name=f"hooks {when}")(context, when, list(commands), deadline_s)


@task(cache_policy=NO_CACHE, persist_result=False)
def _run_hooks(context: Context, when: str, commands: list[str], deadline_s: float) -> None:
    tell = context.journal.stage(f"hooks {when}")
    tell("started", counted(len(commands), "command"))
    environment = {"MODELPIVOT_RUN_ID": context.run.id, "MODELPIVOT_HOST": context.host.name}
    with ShellOperation(commands=[*STRICT, *commands], env=environment, stream_output=False) as operation:
        process = operation.trigger()
        try:
            _wait(process, deadline_s)
        except (RuntimeError, TimeoutError) as error:
            last = tuple(_keep(context, when, process.fetch_result())[-LAST_LINES:])
            failure = f"a hook {when} failed with exit code {process.return_code}"
            how = f"the hooks {when} were not over after {deadline_s:g} s" if isinstance(error, TimeoutError) else failure
            failed = CommandFailed(
                f"{how}: {last[-1] if last else 'no output'}",
                argv=commands,
                returncode=process.return_code,
                last_lines=last,
            )
            tell("failed", failed.message)
            raise failed from error
    lines = _keep(context, when, process.fetch_result())
    tell("finished", f"done; {counted(len(lines), 'line')} in {context.run.log(f'hooks-{when}')}")


def _wait(process: ShellProcess, deadline_s: float) -> None:
    """RuntimeError when it ended badly, TimeoutError when it has not ended: whoever holds its output may go on without it."""
    ended: Future[None] = Future()

    def wait() -> None:
        try:
            process.wait_for_completion()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            ended.set_exception(error)
        else:
            ended.set_result(None)

    Thread(target=copy_context().run, args=(wait,), daemon=True, name="hooks").start()
    ended.result(deadline_s)


def _keep(context: Context, when: str, lines: Sequence[str]) -> list[str]:
    """Everything that was said, into the run's folder, without secrets: Prefect takes no flood."""
    masked = [mask_secrets(line)[:LONGEST_LINE] for line in lines]
    write_atomic(context.run.log(f"hooks-{when}"), "".join(f"{line}\n" for line in masked))
    return masked
