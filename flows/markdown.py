"""Artifacts as text: shard table, report. Pure; what people read carries both units of a size."""

from collections.abc import Sequence

from modelpivot.models.benchmark import Check, Measurement
from modelpivot.models.counted import counted
from modelpivot.models.in_flight import InFlight
from modelpivot.models.manifest import Verified
from modelpivot.models.packages import Answer, PackageChange
from modelpivot.models.result import RunResult
from modelpivot.models.size import say_bytes
from modelpivot.plans.markdown import patched_markdown
from modelpivot.stages.pictures import Drawn

ANSWERS: dict[Answer, str] = {"pass": "passes", "consent": "**asked about**", "block": "**refused**"}
SHOWN_ROWS = 300
"""Rows of a shard table in an artifact; the whole table lies in the run's folder."""


def shards_markdown(verified: Verified | None, checks: Sequence[Check]) -> str:
    """The shard table with its verdict, what is wrong first, and every check over it."""
    lines = ["# Shards", ""]
    if verified:
        verdict = verified.verdict
        counted = f"{verdict.files.verified} of {verdict.files.expected} files verified, {verdict.files.hashed_now} hashed in this run"
        lines += [f"**{verdict.verdict}**: {counted}, {say_bytes(verdict.bytes.verified)}", ""]
        lines += section("Problems", [str(problem) for problem in verdict.problems])
    lines += checks_table(checks)
    if verified:
        rows = [
            (row.path, _size(row.found_size), (row.found_digest or "-")[:12], row.tensors, row.dtypes, row.problems)
            for row in sorted(verified.table, key=lambda row: not row.problems)
        ]
        lines += table("Files", ("file", "size", "digest", "tensors", "dtypes", "problems"), rows[:SHOWN_ROWS])
        if len(rows) > SHOWN_ROWS:
            lines.append(f"... and {len(rows) - SHOWN_ROWS} more, in the run's folder")
    return "\n".join(lines)


def files_markdown(files: Sequence[InFlight], more: int) -> str:
    """A row for each file in flight, the others counted; empty without any. A list, since Prefect's newer pages draw tables without room between columns."""
    rows = [f"{_cell(file.path)}: {say_bytes(file.done_bytes)} of {say_bytes(file.size_bytes)}" for file in files]
    return "\n".join(f"- {row}" for row in [*rows, *([f"and {more} more"] if more else [])])


def packages_markdown(changes: Sequence[PackageChange]) -> str:
    """Every package that would be another one than in the environment that serves now; what needs a word first."""
    rows = [(one.name, one.before or "-", one.after or "-", ", ".join(one.classes), ANSWERS[one.answer]) for one in changes]
    differ = counted(len(rows), "package differs", "packages differ")
    head = f"{differ} from the environment that serves now, which is not touched: the new one is built beside it."
    return "\n".join([head, "", *table("", ("package", "now", "then", "what it is", "answer"), rows)])


def report_markdown(result: RunResult, drawn: Drawn | None = None) -> str:
    """One run, told in the end, with its pictures."""
    lines = [f"# {result.outcome.replace('_', ' ')}", "", result.message, ""]
    facts = [
        ("answers now", result.released or "nothing"),
        ("address", result.base_url),
        ("before", result.previous),
        ("attempted", result.attempted),
        ("downtime", None if result.downtime_s is None else f"{result.downtime_s:.1f} s"),
        ("lost requests", result.lost_requests),
        ("run", result.run_id),
    ]
    lines += table("", ("what", "value"), [fact for fact in facts if fact[1] is not None])
    lines += section("Cause", [f"`{line}`" for line in result.cause])
    lines += table(
        "Stages", ("stage", "seconds", "result"), [(stage.name, f"{stage.seconds:.1f}", stage.result) for stage in result.stages]
    )
    lines += patched_markdown(result.patched)
    lines += checks_table(result.checks)
    lines += measured_table(result.benchmark)
    return "\n".join([*lines, *pictures_markdown(drawn)]) if drawn else "\n".join(lines)


def pictures_markdown(drawn: Drawn) -> list[str]:
    """The pictures themselves, since a browser elsewhere opens no file of the host, and where the page with all of them lies."""
    lines = []
    for image in drawn.images:
        lines += [f"## {image.title}", "", f"![{_cell(image.title)}]({image.address})", "", image.words, ""]
    return [*lines, f"The same as one page, on the host: `{drawn.page.absolute()}`", ""]


def measured_table(measurements: Sequence[Measurement]) -> list[str]:
    """Every measurement with its figures, or the reason why it has none."""
    columns = ("workload", "requests answered", "output tokens/s", "median time to first token, ms", "median time per token, ms", "remarks")
    rows = [
        (
            one.workload,
            f"{one.successes} of {one.requests}",
            _figure(one.output_tokens_per_s, 1),
            _figure(one.median_ttft_ms, 0),
            _figure(one.median_tpot_ms, 1),
            "; ".join([*one.invalid, *one.warnings]),
        )
        for one in measurements
    ]
    return table("Benchmark", columns, rows)


def checks_table(checks: Sequence[Check]) -> list[str]:
    """Every check with its answer."""
    rows = [(check.name, "yes" if check.passed else "**no**", check.expected, check.found) for check in checks]
    return table("Checks", ("check", "passed", "expected", "found"), rows)


def _figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _size(size: int | None) -> str:
    return "-" if size is None else say_bytes(size)


def section(title: str, items: Sequence[str]) -> list[str]:
    """A list under its heading; nothing without items."""
    return [f"## {title}", "", *(f"- {item}" for item in items), ""] if items else []


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table, under its heading where it has one; nothing without rows."""
    if not rows:
        return []
    heading = [f"## {title}", ""] if title else []
    lines = [" | ".join(_cell(cell) for cell in row) for row in rows]
    return [*heading, f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *(f"| {line} |" for line in lines), ""]


def _cell(value: object) -> str:
    return " ".join(str("-" if value is None else value).replace("|", "\\|").split())
