"""The terminal as we write to it: our own colours pass, nothing that others wrote commands it. Needs rich, so it is imported where something is shown."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from modelpivot.models.spelled import plain


class PlainConsole(Console):
    """All that is printed, tables, bars and panels too, passes `render`. Words in brackets are words, no markup."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Pieces of text, each plain; what moves the cursor is rich's own."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(plain(piece.text), piece.style)
