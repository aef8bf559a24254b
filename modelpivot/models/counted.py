"""A number of things, in words. Pure."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 floor`, `2 floors`, `0 floors`; `many` where an s at the end does not do it, or a verb goes with it."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
