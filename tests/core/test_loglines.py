"""How grave a line of a log is, by what most servers write."""

import pytest

from pegboard.core.loglines import Level, levels


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-01-02 03:04:05,123 - notes - ERROR - it fell", Level.ERROR),
        ("[error] it fell", Level.ERROR),
        ('{"level":"warning","message":"slow"}', Level.WARNING),
        ("WARN  slow", Level.WARNING),
        ("info: ready", Level.INFO),
        ("DEBUG:notes:here", Level.DEBUG),
        ("ValueError: 7", Level.ERROR),
        ("Server running on stdio without an error so far", Level.INFO),
        ("errors were 0", Level.INFO),
        ("", Level.INFO),
    ],
)
def test_a_line_tells_how_grave_it_is(line: str, level: Level) -> None:
    assert [*levels([line])] == [level]


def test_a_trace_goes_with_the_line_that_begins_it() -> None:
    lines = ["Traceback (most recent call last):", '  File "x.py", line 1', "    fall()", "KeyError: 'x'", "ready"]
    assert [*levels(lines)] == [Level.ERROR] * 4 + [Level.INFO]
