"""How long a browser's visit lasts, and how many there are."""

import pytest

from pegboard.gateway.access import sessions as visits
from pegboard.gateway.access.attempts import MAX_ADDRESSES, MAX_FAILURES, WINDOW_S, FailedAttempts
from pegboard.gateway.access.sessions import IDLE_TIMEOUT_S, MAX_AGE_S, BrowserSessions


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.behaviour("access.sessions")
def test_a_visit_ends_when_nobody_looks_for_long_and_goes_on_when_somebody_does() -> None:
    clock = Clock()
    kept = BrowserSessions(clock)
    secret = kept.begin(b"hash")
    clock.now += IDLE_TIMEOUT_S - 1
    assert kept.token_of(secret) == b"hash"
    clock.now += IDLE_TIMEOUT_S - 1
    assert kept.token_of(secret) == b"hash"
    clock.now += IDLE_TIMEOUT_S
    assert not kept.is_active(secret)
    assert kept.token_of(secret) is None


@pytest.mark.behaviour("access.sessions")
def test_a_visit_ends_after_its_longest_time_however_busy_it_is() -> None:
    clock = Clock()
    kept = BrowserSessions(clock)
    secret, began = kept.begin(b"hash"), clock.now
    while clock.now + IDLE_TIMEOUT_S / 2 < began + MAX_AGE_S:
        clock.now += IDLE_TIMEOUT_S / 2
        assert kept.token_of(secret) == b"hash"
    clock.now = began + MAX_AGE_S
    assert kept.token_of(secret) is None


def test_a_look_whether_a_visit_lasts_makes_it_no_longer() -> None:
    clock = Clock()
    kept = BrowserSessions(clock)
    secret = kept.begin(b"hash")
    clock.now += IDLE_TIMEOUT_S - 1
    assert kept.is_active(secret)
    clock.now += 1
    assert not kept.is_active(secret)


@pytest.mark.behaviour("access.sessions")
def test_of_too_many_visits_the_one_that_was_longest_without_a_look_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MAX_SESSIONS", 3)
    kept = BrowserSessions(Clock())
    first, second, third = (kept.begin(b"hash") for _ in range(3))
    assert kept.token_of(first) == b"hash"
    fourth = kept.begin(b"hash")
    assert [kept.is_active(secret) for secret in (first, second, third, fourth)] == [True, False, True, True]


@pytest.mark.behaviour("access.sessions")
def test_no_secret_of_a_visit_is_kept() -> None:
    kept = BrowserSessions(Clock())
    secret = kept.begin(b"hash")
    assert secret not in repr(vars(kept))
    assert kept.token_of(secret + "x") is None
    assert kept.token_of("\ud800") is None
    assert kept.token_of("") is None


@pytest.mark.behaviour("access.failures")
def test_wrong_tokens_are_counted_by_address_for_a_minute() -> None:
    clock = Clock()
    attempts = FailedAttempts(clock)
    assert [attempts.record_failure("a") for _ in range(MAX_FAILURES)] == [None] * MAX_FAILURES
    assert attempts.record_failure("a") == 60
    assert attempts.record_failure("b") is None
    clock.now += 20
    assert attempts.record_failure("a") == 40
    clock.now += WINDOW_S
    assert attempts.record_failure("a") is None
    for number in range(MAX_ADDRESSES + 10):
        attempts.record_failure(str(number))
    assert len(attempts._failures) == MAX_ADDRESSES
