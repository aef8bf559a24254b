"""Nothing goes on without a yes to what the plan asks, and to the hour: from the form of the run, the recipe, or a person who is asked now."""

import time

from flows.approval import ask
from flows.asking import about_hour, about_plan
from flows.queueing import is_deployed
from modelpivot.errors import Unanswered
from modelpivot.models.plan import Plan
from modelpivot.plans.window import find_opening, next_opening
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear


def agree(context: Context, plan: Plan, *, is_agreed: bool) -> None:
    """PreconditionError with every blocker; after a no, and where nobody can be asked, with the questions. Suspends the run to ask."""
    require_clear(plan, is_agreed=is_agreed or is_deployed())
    if plan.questions and not is_agreed:
        ask(context, about_plan(plan))


def agree_to_the_hour(context: Context, release_id: str, *, is_agreed: bool) -> None:
    """Outside the host's maintenance window nothing stops without a yes; nothing to do inside it, or where there is none."""
    window, now = context.host.maintenance_window(), time.time()
    if window is None or is_agreed or find_opening(window, now):
        return
    opening = next_opening(window, now)
    request = about_hour(release_id, str(context.host.window), opening.begins if opening else None)
    if not is_deployed():
        raise Unanswered(
            f"a switch now would be outside this host's window ({context.host.window}), and nobody agreed",
            asks=[f"switch outside this host's window ({context.host.window})?"],
            hint="wait for the window, or say yes (--yes); what is staged stays",
        )
    ask(context, request)
