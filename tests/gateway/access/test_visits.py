"""How long a browser's visit lasts, and how many there are."""

import pytest

from pegboard.gateway.access import visits
from pegboard.gateway.access.attempts import MOST_ADDRESSES, MOST_FAILURES, WINDOW, Attempts
from pegboard.gateway.access.visits import IDLE, LONGEST, Visits


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.behaviour("access.sessions")
def test_a_visit_ends_when_nobody_looks_for_long_and_goes_on_when_somebody_does() -> None:
    clock = Clock()
    kept = Visits(clock)
    secret = kept.begin(b"hash")
    clock.now += IDLE - 1
    assert kept.token_of(secret) == b"hash"
    clock.now += IDLE - 1
    assert kept.token_of(secret) == b"hash"
    clock.now += IDLE
    assert not kept.lasts(secret)
    assert kept.token_of(secret) is None


@pytest.mark.behaviour("access.sessions")
def test_a_visit_ends_after_its_longest_time_however_busy_it_is() -> None:
    clock = Clock()
    kept = Visits(clock)
    secret, began = kept.begin(b"hash"), clock.now
    while clock.now + IDLE / 2 < began + LONGEST:
        clock.now += IDLE / 2
        assert kept.token_of(secret) == b"hash"
    clock.now = began + LONGEST
    assert kept.token_of(secret) is None


def test_a_look_whether_a_visit_lasts_makes_it_no_longer() -> None:
    clock = Clock()
    kept = Visits(clock)
    secret = kept.begin(b"hash")
    clock.now += IDLE - 1
    assert kept.lasts(secret)
    clock.now += 1
    assert not kept.lasts(secret)


@pytest.mark.behaviour("access.sessions")
def test_of_too_many_visits_the_one_that_was_longest_without_a_look_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MOST", 3)
    kept = Visits(Clock())
    first, second, third = (kept.begin(b"hash") for _ in range(3))
    assert kept.token_of(first) == b"hash"
    fourth = kept.begin(b"hash")
    assert [kept.lasts(secret) for secret in (first, second, third, fourth)] == [True, False, True, True]


@pytest.mark.behaviour("access.sessions")
def test_no_secret_of_a_visit_is_kept() -> None:
    kept = Visits(Clock())
    secret = kept.begin(b"hash")
    assert secret not in repr(vars(kept))
    assert kept.token_of(secret + "x") is None
    assert kept.token_of("\ud800") is None
    assert kept.token_of("") is None


@pytest.mark.behaviour("access.failures")
def test_wrong_tokens_are_counted_by_address_for_a_minute() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    assert [attempts.failed("a") for _ in range(MOST_FAILURES)] == [None] * MOST_FAILURES
    assert attempts.failed("a") == 60
    assert attempts.failed("b") is None
    clock.now += 20
    assert attempts.failed("a") == 40
    clock.now += WINDOW
    assert attempts.failed("a") is None
    for number in range(MOST_ADDRESSES + 10):
        attempts.failed(str(number))
    assert len(attempts._failures) == MOST_ADDRESSES
