"""The result of an upgrade test as an artifact. Pure."""

from flows.markdown import section, table
from modelpivot.models.upgrade import UpgradeResult
from modelpivot.plans.gate import METRIC_WORDS

SHOWN_CHANGES = 60


def upgrade_markdown(result: UpgradeResult) -> str:
    """Verdict, what to do, figures, cause, packages."""
    lines = [f"# {result.verdict.replace('_', ' ')}: {result.candidate_version or 'nothing'}", "", result.message, ""]
    lines += [f"**Next:** {result.next_move}", ""] if result.next_move else []
    facts = [
        ("in use", result.current_version),
        ("tried", result.candidate),
        ("model", result.model),
        ("where", {"spare": "beside what serves", "window": "in the window, in its place", None: None}[result.capacity]),
        ("channel", result.channel),
        ("starts measured", result.starts or None),
        ("run", result.run_id),
    ]
    lines += table("", ("what", "value"), [fact for fact in facts if fact[1]])
    lines += section("Cause", [f"`{line}`" for line in result.cause])
    lines += _figures(result)
    lines += table(
        "Tried without",
        ("what", "still needed", "found"),
        [(one.what, "yes" if one.is_needed else "**no**", one.found) for one in result.relaxed],
    )
    lines += section("A pivot to it asks", [f"`{question.id}`: {question.text}" for question in result.questions])
    return "\n".join(lines + _changes(result))


def _figures(result: UpgradeResult) -> list[str]:
    changes = result.comparison.changes if result.comparison else []
    rows = [
        (
            change.workload,
            METRIC_WORDS[change.metric],
            f"{change.baseline:.5g}",
            f"{change.candidate:.5g}",
            f"{change.change:+.1%}",
            "-" if change.band is None else f"{change.band:.1%}",
            change.verdict,
        )
        for change in changes
    ]
    columns = ("workload", "figure", result.current_version, result.candidate_version or "", "change (more is better)", "noise", "verdict")
    return table("Figures", columns, rows)


def _changes(result: UpgradeResult) -> list[str]:
    rows = [(one.name, one.before or "absent", one.after or "absent", ", ".join(one.classes), one.answer) for one in result.changes]
    more = [f"... and {len(rows) - SHOWN_CHANGES} more (`{result.run_id}/upgrade.json`)"] if len(rows) > SHOWN_CHANGES else []
    return [*table("Packages that move", ("package", "now", "with it", "kind", "policy"), rows[:SHOWN_CHANGES]), *more]
