"""A question to a person: the run is suspended with a form, and leaves process, worker and host until it is answered.

When it is, the run begins anew: facts are read again, and the same question finds its answer. Another question (other packages, another
size) is asked anew, since an answer holds for what was read with it.
"""

from dataclasses import dataclass

from prefect import suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import flow_run
from pydantic import Field

from flows.poster import POSTER
from flows.queueing import is_deployed
from flows.tell import tell_left
from modelpivot.errors import PreconditionError
from modelpivot.files import digest_text
from modelpivot.models.spelled import plain
from modelpivot.stages.context import Context

ANSWER_WITHIN_S = 24 * 3600.0
HAND_OVER_S = 30.0


class Answer(RunInput):
    """What a person says."""

    agreed: bool = Field(default=False, title="Yes, do it", description="Left off, the answer is no.")
    note: str = Field(default="", title="Note", description="Kept in the journal of the run.")


@dataclass(frozen=True)
class Request:
    """What is asked: in a few words, and in full."""

    what: str
    markdown: str
    timeout_s: float = ANSWER_WITHIN_S
    about: str = ""
    """What the answer holds for; empty: the full text."""


def require_person() -> None:
    """PreconditionError where nobody could answer: the run belongs to no deployment."""
    if not is_deployed():
        raise PreconditionError(
            "only a run of a deployment can ask a person, and this run belongs to none",
            hint="start it from Prefect, or confirm by command (modelpivot promote)",
        )


def ask(context: Context, request: Request) -> None:
    """A yes, and nothing else, lets the run go on: PreconditionError after a no. Without an answer so far the run ends here, Suspended."""
    answer = hear(context, request)
    if not answer.agreed:
        note = f": {answer.note}" if answer.note else ""
        raise PreconditionError(f"a person said no to: {request.what}{note}", hint="start it again to be asked again")


def hear(context: Context, request: Request) -> Answer:
    """What a person says, yes or no, for a run that has something to do after either. Without an answer so far it ends here, Suspended."""
    require_person()
    context.journal("log", f"asks whether to {request.what}", asked=request.what)
    POSTER.drain(HAND_OVER_S)
    tell_left()
    form = Answer.with_initial_data(description=plain(request.markdown))
    key = f"{flow_run.get_run_count()}-{digest_text(request.about or request.markdown)[:16]}"
    answer = suspend_flow_run(wait_for_input=form, timeout=max(1, int(request.timeout_s)), key=key)
    note = f": {answer.note}" if answer.note else ""
    context.journal("log", f"a person says {'yes' if answer.agreed else 'no'} to: {request.what}{note}")
    return answer
