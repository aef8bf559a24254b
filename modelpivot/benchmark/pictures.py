"""The pictures of a report: throughput against latency over concurrency, one metric over versions with its noise, a run on a time line. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from modelpivot.benchmark import svg
from modelpivot.benchmark.labels import LINE, Box, place_labels, wrap

STYLE = Path(__file__).with_name("report.css")
ROW = 26
GAP = 10
"""Pixels between the names of two versions."""


@dataclass(frozen=True)
class LoadPoint:
    """One concurrency: what the server gave, and what each reader felt."""

    concurrency: int
    tokens_per_s: float
    tpot_ms: float


@dataclass(frozen=True)
class LoadCurve:
    """One release over several concurrencies."""

    name: str
    points: Sequence[LoadPoint]


@dataclass(frozen=True)
class Group:
    """One version: what its starts gave, and how far they move by themselves (relative; None: not known)."""

    name: str
    values: Sequence[float]
    middle: float
    band: float | None
    is_accepted: bool = True


@dataclass(frozen=True)
class Trend:
    """One metric of one workload over versions, oldest first."""

    title: str
    unit: str
    groups: Sequence[Group]


@dataclass(frozen=True)
class Span:
    """One stage of a run, in seconds since its beginning."""

    name: str
    begin_s: float
    end_s: float
    result: str


@dataclass(frozen=True)
class Page:
    """All that one report shows; what is empty is left out."""

    title: str
    lead: str
    facts: Sequence[tuple[str, str]] = ()
    spans: Sequence[Span] = ()
    curves: Sequence[LoadCurve] = ()
    trends: Sequence[Trend] = ()
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = field(default=())


def draw_load(curves: Sequence[LoadCurve]) -> str:
    """The curves, and below them whose they are."""
    return plot_load(curves) + svg.legend([curve.name for curve in curves])


def plot_load(curves: Sequence[LoadCurve]) -> str:
    """Throughput up, time per token across; along a line the concurrency grows."""
    points = [point for curve in curves for point in curve.points]
    across = svg.scale_over([point.tpot_ms for point in points], svg.LEFT, svg.WIDTH - svg.RIGHT, from_zero=True)
    up = svg.scale_over([point.tokens_per_s for point in points], svg.HEIGHT - svg.BOTTOM, svg.TOP, from_zero=True)
    parts = [svg.axes(across, up, "median time per output token, ms", "output tokens per second")]
    lines: list[list[tuple[float, float]]] = []
    words: list[tuple[str, tuple[float, float]]] = []
    for number, curve in enumerate(curves):
        kind, ordered = f"s{number % svg.SERIES}", sorted(curve.points, key=lambda point: point.concurrency)
        lines.append([(across(point.tpot_ms), up(point.tokens_per_s)) for point in ordered])
        parts.append(svg.line(lines[-1], kind))
        for point, (x, y) in zip(ordered, lines[-1], strict=True):
            tip = f"{curve.name}, {point.concurrency} at once: {point.tokens_per_s:.1f} tokens/s, {point.tpot_ms:.2f} ms per token"
            parts.append(svg.point(x, y, kind, tip))
            words.append((str(point.concurrency), (x, y)))
    paper = Box(svg.LEFT, 0, svg.WIDTH, svg.HEIGHT - svg.BOTTOM)
    parts += [svg.text(each.x, each.y, each.words, anchor=each.anchor, kind="tick") for each in place_labels(words, lines, paper)]
    return svg.drawing(parts, "Throughput against time per token, over concurrency")


def draw_trend(trend: Trend) -> str:
    """Every start a point, every version its median with the band of its noise."""
    values = [value for group in trend.groups for value in group.values]
    edges = [group.middle * (1 + sign * (group.band or 0)) for group in trend.groups for sign in (1, -1)]
    up = svg.scale_over([*values, *edges], svg.HEIGHT - svg.BOTTOM, svg.TOP)
    width = (svg.WIDTH - svg.LEFT - svg.RIGHT) / len(trend.groups)
    parts = [svg.axes(svg.Scale(0, 1, svg.LEFT, svg.LEFT), up, "", trend.unit, name_across=lambda _: "")]
    names = [wrap(group.name, width - GAP) for group in trend.groups]
    for number, group in enumerate(trend.groups):
        left = svg.LEFT + number * width
        parts += _draw_group(group, up, left, width)
        below = enumerate(names[number])
        parts += [svg.text(left + width / 2, svg.HEIGHT - svg.BOTTOM + 18 + line * LINE, part, kind="tick") for line, part in below]
    return svg.drawing(parts, trend.title, height=svg.HEIGHT + LINE * (max(map(len, names)) - 1))


def _draw_group(group: Group, up: svg.Scale, left: float, width: float) -> list[str]:
    half = min(width * 0.35, 60)
    centre = left + width / 2
    kind = "s0" if group.is_accepted else "bad"
    parts = []
    if group.band is not None:
        high, low = up(group.middle * (1 + group.band)), up(group.middle * (1 - group.band))
        tip = f"{group.name}: a change within {group.band:.1%} is noise"
        parts.append(svg.box(centre - half, high, 2 * half, low - high, "band", tip))
    middle = up(group.middle)
    parts.append(svg.line([(centre - half, middle), (centre + half, middle)], kind))
    for number, value in enumerate(group.values):
        x = centre + half * 0.8 * ((number + 0.5) / len(group.values) * 2 - 1)
        parts.append(svg.point(x, up(value), kind, f"{group.name}, start {number + 1}: {svg.say(value)}"))
    return parts


def draw_timeline(spans: Sequence[Span]) -> str:
    """One row a stage, in the order of their beginnings."""
    left, height = 150, ROW * len(spans) + svg.BOTTOM + 4
    across = svg.Scale(0, max(span.end_s for span in spans) or 1.0, left, svg.WIDTH - 84)
    bottom = ROW * len(spans) + 4
    marks = svg.ticks(across, 8, svg.TIME_STEPS)
    parts = [f'<line class="grid" x1="{across(at):g}" x2="{across(at):g}" y1="0" y2="{bottom}"/>' for at in marks]
    parts += [svg.text(across(at), bottom + 18, say_time(at), kind="tick") for at in marks]
    for row, span in enumerate(spans):
        y, begin, end = row * ROW + 4, across(span.begin_s), across(span.end_s)
        seconds = say_time(span.end_s - span.begin_s)
        parts.append(svg.text(left - 10, y + 14, span.name, anchor="end", kind="label"))
        parts.append(
            svg.box(begin, y, end - begin, ROW - 8, f"bar {span.result}", f"{span.name}: {seconds}, {span.result.replace('_', ' ')}")
        )
        parts.append(svg.text(max(end, begin + 1.5) + 6, y + 14, seconds, anchor="start", kind="tick"))
    return svg.drawing(parts, "The run on a time line", height=height)


def say_time(seconds: float) -> str:
    """`3.2 s`, `4:10`, `2:05:00`."""
    if 0 < seconds < 0.1:
        return "< 0.1 s"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def render_page(page: Page) -> str:
    """One HTML file that needs nothing else."""
    parts = [f"<h1>{escape(page.title)}</h1>", f"<p class='lead'>{escape(page.lead)}</p>"]
    parts += [_facts(page.facts)] if page.facts else []
    parts += [_section("The run on a time line", draw_timeline(page.spans))] if page.spans else []
    parts += [_section("Throughput against latency", draw_load(page.curves), LOAD_WORDS)] if page.curves else []
    parts += [_section(trend.title, draw_trend(trend), TREND_WORDS) for trend in page.trends]
    parts += [_section(title, _table(columns, rows)) for title, columns, rows in page.tables if rows]
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(page.title)}</title>"
    return f"<!doctype html><html lang='en'><head>{head}<style>{STYLE.read_text()}</style></head><body><main>{''.join(parts)}</main></body></html>\n"


LOAD_WORDS = "The number beside a point is how many requests were open at once. Up is more for all, right is slower for each."
TREND_WORDS = "A point is one start of the engine, the line their median, the grey band what is noise between two such medians."


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts) + "</dl>"


def _section(title: str, inner: str, words: str = "") -> str:
    said = f"<p class='words'>{escape(words)}</p>" if words else ""
    return f"<section><h2>{escape(title)}</h2>{said}{inner}</section>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
