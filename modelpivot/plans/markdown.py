"""A plan as markdown, as Prefect shows it. Pure; carries both units of a size."""

from collections.abc import Iterable, Mapping, Sequence

from modelpivot.models.fit import Fit
from modelpivot.models.patched import PatchedFile
from modelpivot.models.plan import Plan
from modelpivot.plans.say import say_fit


def plan_markdown(plan: Plan) -> str:
    """What a pivot would do, why, and what stands in its way."""
    candidate = plan.candidate.id if plan.candidate else "not known, see what stands in the way"
    lines = [
        f"# {plan.recipe.name}",
        "",
        plan.recipe.description,
        "",
        f"From **{plan.from_release or 'nothing'}** to **{candidate}**. {plan.strategy}",
        "",
    ]
    lines += _section("Differently from the recipe, for this run", plan.overrides)
    if plan.is_no_change:
        lines += ["Nothing to do: the candidate is current and answers.", ""]
    lines += _section("In the way", (f"`{blocker.code}` {blocker}" for blocker in plan.blockers))
    lines += _section("Questions", (f"`{question.id}`: {question.text}" for question in plan.questions))
    lines += _section("Warnings", plan.warnings)
    lines += _steps(plan)
    lines += _pairs("Model", plan.about)
    lines += _pairs("Fit, per GPU", say_fit(plan.fit))
    lines += _section("Otherwise", plan.fit.advice if isinstance(plan.fit, Fit) else [])
    lines += _table("Choices", ("what", "value", "because"), [(one.name, one.value, one.reason) for one in plan.choices])
    lines += _section("Rules that hold here", (_say_rule(rule.id, rule.why, rule.link, rule.did) for rule in plan.rules))
    lines += patched_markdown(plan.patched)
    lines += _section("Packages that would change", (str(change) for change in plan.packages))
    lines += _section("Could make room", (f"{one.what} at `{one.path}`: {one.size_bytes:,} bytes, costs {one.costs}" for one in plan.room))
    return "\n".join([*lines, *_section("What clients notice", plan.clients)]).rstrip() + "\n"


def patched_markdown(files: Sequence[PatchedFile]) -> list[str]:
    """Every patched file with its digests and what differs."""
    lines = [] if not files else ["## Patched in the view", ""]
    for file in files:
        lines += [f"`{file.file}` {file.before[:12]} -> {file.after[:12]}", "", "````diff", *file.diff, "````", ""]
    return lines


def _steps(plan: Plan) -> list[str]:
    rows = [(str(number), step.name, step.what, _minutes(step.estimate_s)) for number, step in enumerate(plan.steps, 1)]
    return _table("Steps", ("", "step", "what", "about"), rows)


def _minutes(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _say_rule(name: str, why: str, link: str, did: Sequence[str]) -> str:
    source = f" ([report]({link}))" if link else ""
    return f"`{name}`: {why}{source}" + (f": {'; '.join(did)}" if did else ", nothing to do")


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [f"## {title}", "", *lines, ""] if lines else []


def _pairs(title: str, pairs: Mapping[str, str]) -> list[str]:
    return _table(title, ("", ""), list(pairs.items()))


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return [f"## {title}", "", f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
