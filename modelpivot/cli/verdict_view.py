"""A verdict over weights as a person reads it in a terminal."""

from rich.console import Console
from rich.text import Text

from modelpivot.models.manifest import Verdict
from modelpivot.models.size import say_bytes
from modelpivot.weights.verdict import INFORMATION


def show_verdict(console: Console, verdict: Verdict) -> None:
    """Every problem, then the verdict."""
    for problem in verdict.problems:
        console.print(Text(str(problem), "yellow" if problem.code in INFORMATION else "red"))
    files, size = verdict.files, verdict.bytes
    colour = "green" if verdict.verdict == "complete" else "red"
    console.print(
        Text(verdict.verdict, f"bold {colour}"),
        f": {files.verified} of {files.expected} files, {say_bytes(size.verified)} of {say_bytes(size.expected)}; hashed now: {files.hashed_now}",
    )
