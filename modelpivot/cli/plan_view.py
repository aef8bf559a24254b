"""A plan as a person reads it in a terminal: what stands in the way first, then what would happen, then why."""

from rich.console import Console
from rich.text import Text

from modelpivot.cli.output import in_time, table
from modelpivot.cli.packages import show_packages
from modelpivot.cli.patched_view import show_patched
from modelpivot.models.fit import Fit
from modelpivot.models.plan import Plan
from modelpivot.plans.say import say_fit


def show_plan(console: Console, plan: Plan) -> None:
    """The whole plan."""
    to = plan.candidate.id if plan.candidate else plan.recipe.name
    console.print(Text.assemble(("Plan  ", "dim"), (plan.from_release or "nothing", "bold"), "  →  ", (to, "bold cyan")))
    if plan.strategy:
        console.print(plan.strategy)
    console.print()
    _show_notes(console, plan)
    if plan.is_no_change:
        console.print(Text("Nothing to do: it is served already.", "green"))
    _show_steps(console, plan)
    _show_pairs(console, "model", dict(plan.about))
    _show_pairs(console, "fit, per GPU", say_fit(plan.fit))
    for line in plan.fit.advice if isinstance(plan.fit, Fit) else []:
        console.print(Text(f"  · {line}", "dim"))
    _show_choices(console, plan)
    show_patched(console, plan.patched)
    show_packages(console, plan.packages)
    for sentence in plan.clients:
        console.print(Text.assemble(("Clients  ", "bold"), sentence))


def _show_notes(console: Console, plan: Plan) -> None:
    for blocker in plan.blockers:
        console.print(Text(f"✗ {blocker.code}  {blocker.what}", "bold red"))
        console.print(Text(f"    expected {blocker.expected}\n    found    {blocker.found}\n    → {blocker.remedy}", "red"))
    for question in plan.questions:
        console.print(Text(f"? {question.text} (consent id: {question.id})", "yellow"))
    for warning in plan.warnings:
        console.print(Text(f"! {warning}", "yellow"))
    if plan.blockers or plan.questions or plan.warnings:
        console.print()


def _show_steps(console: Console, plan: Plan) -> None:
    if not plan.steps:
        return
    rows = table("", "step", "what", "about")
    for number, step in enumerate(plan.steps, 1):
        rows.add_row(str(number), Text(step.name, "cyan"), step.what, in_time(step.estimate_s) if step.estimate_s else "-")
    console.print(rows)
    console.print()


def _show_pairs(console: Console, title: str, pairs: dict[str, str]) -> None:
    if not pairs:
        return
    rows = table(title, "")
    for name, value in pairs.items():
        rows.add_row(name, value)
    console.print(rows)
    if title == "model":
        console.print()


def _show_choices(console: Console, plan: Plan) -> None:
    if not plan.choices:
        return
    console.print()
    rows = table("choice", "value", "because")
    for choice in plan.choices:
        rows.add_row(choice.name, choice.value, choice.reason)
    console.print(rows)
    console.print()
