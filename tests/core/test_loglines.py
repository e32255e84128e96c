"""How grave a line of a log is, by what most servers write."""

import pytest

from pegboard.core.model.text import LogLineLevel, log_levels


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-01-02 03:04:05,123 - notes - ERROR - it fell", LogLineLevel.ERROR),
        ("[error] it fell", LogLineLevel.ERROR),
        ('{"level":"warning","message":"slow"}', LogLineLevel.WARNING),
        ("WARN  slow", LogLineLevel.WARNING),
        ("info: ready", LogLineLevel.INFO),
        ("DEBUG:notes:here", LogLineLevel.DEBUG),
        ("ValueError: 7", LogLineLevel.ERROR),
        ("Server running on stdio without an error so far", LogLineLevel.INFO),
        ("errors were 0", LogLineLevel.INFO),
        ("", LogLineLevel.INFO),
    ],
)
def test_a_line_tells_how_grave_it_is(line: str, level: LogLineLevel) -> None:
    assert [*log_levels([line])] == [level]


def test_a_trace_goes_with_the_line_that_begins_it() -> None:
    lines = ["Traceback (most recent call last):", '  File "x.py", line 1', "    fall()", "KeyError: 'x'", "ready"]
    assert [*log_levels(lines)] == [LogLineLevel.ERROR] * 4 + [LogLineLevel.INFO]
