"""Nothing goes on without a yes to what the plan asks: from the form of the run, the recipe, or a person who is asked now."""

from flows.approval import ask
from flows.asking import about_plan
from flows.queueing import is_deployed
from modelpivot.models.plan import Plan
from modelpivot.stages.context import Context
from modelpivot.stages.plan import require_clear


def agree(context: Context, plan: Plan, *, is_agreed: bool) -> None:
    """PreconditionError with every blocker; after a no, and where nobody can be asked, with the questions. Suspends the run to ask."""
    require_clear(plan, is_agreed=is_agreed or is_deployed())
    if plan.questions and not is_agreed:
        ask(context, about_plan(plan))
