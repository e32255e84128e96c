"""The pauses between attempts, as numbers."""

import pytest

from pegboard.providers.mcp.provider import backoff_delay


@pytest.mark.behaviour("supervision.backoff_with_jitter")
def test_the_ceiling_of_a_pause_doubles_with_each_failure_up_to_a_minute() -> None:
    assert [backoff_delay(failures, lambda: 1.0) for failures in range(1, 10)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.behaviour("supervision.backoff_with_jitter")
def test_a_pause_is_drawn_from_the_whole_range_below_its_ceiling() -> None:
    drawn = iter([0.0, 0.25, 0.5, 1.0])
    assert [backoff_delay(5, lambda: next(drawn)) for _ in range(4)] == [0, 4, 8, 16]


def test_a_server_that_fails_for_a_year_still_gets_a_pause() -> None:
    assert backoff_delay(10_000_000, lambda: 1.0) == 60
