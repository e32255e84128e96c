"""Plain text tables for a terminal: the first column to the left, numbers to the right."""

from collections.abc import Sequence

ABSENT = "-"


def number(value: float | None, digits: int = 0, suffix: str = "") -> str:
    """A measured value as a cell, or the mark for one that was not measured."""
    return ABSENT if value is None else f"{value:,.{digits}f}{suffix}"


def times(value: float | None) -> str:
    """A ratio as a cell: two digits while they matter, none when they do not."""
    if value is None:
        return ABSENT
    return f"{value:,.0f}x" if value >= 100 else f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def render(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The rows under their headings. A row shorter than they are ends in a remark that runs on."""
    full = [row for row in rows if len(row) == len(headings)]
    widths = [max(len(row[column]) for row in [headings, *full]) for column in range(len(headings))]
    widths[0] = max([widths[0], *(len(row[0]) for row in rows)])
    lines = [_aligned(headings, widths), "  ".join("-" * width for width in widths)]
    lines += [_aligned(row, widths) for row in rows]
    return "\n".join(lines)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0])]
    if len(row) == len(widths):
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    else:
        cells += row[1:]
    return "  ".join(cells).rstrip()
