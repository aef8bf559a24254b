"""The lines of a table of figures: what was measured, its cost, the figure that has a goal, and whether it held."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.cost import Cost


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the figure that has a goal, and the goal (at most, or at least)."""

    what: str
    cost: Cost
    figure: str = ""
    goal: str = ""
    held: bool | None = None

    def __str__(self) -> str:
        mark = {None: "", True: "held", False: "missed"}[self.held]
        mb = self.cost.anonymous_bytes / 1e6
        return f"| {self.what} | {self.cost.wall_s:.2f} | {self.cost.cpu_s:.2f} | {mb:.0f} | {self.figure} | {self.goal} | {mark} |"


def at_most(what: str, cost: Cost, value: float, goal: float, say: Callable[[float], str]) -> Row:
    """A row whose figure must not be larger than its goal."""
    return Row(what, cost, say(value), f"at most {say(goal)}", value <= goal)


def at_least(what: str, cost: Cost, value: float, goal: float) -> Row:
    """A row whose share must not be smaller than its goal."""
    return Row(what, cost, f"{value:.0%}", f"at least {goal:.0%}", value >= goal)
