"""Handles: signed, short, bound to their caller and to a time. Whatever is not one is told apart."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import EVERY_ID, ME

from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.settings import MAX_MATERIALIZED
from pegboard.core.presentations.own_tools import (
    EXPIRED_HANDLE,
    FOREIGN_HANDLE,
    HANDLE_PREFIX,
    MAX_HANDLE_CHARS,
    MAX_SEPARATORS,
    SEARCH_SEPARATOR,
    make_handle,
    read_handle,
    tool_digest,
)

KEY = bytes(range(32))
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
UNTIL = NOW + timedelta(hours=1)
OTHER = PrincipalId("somebody else")
tools = st.lists(st.sampled_from(EVERY_ID), max_size=10, unique=True)
GOOD = make_handle([tool_digest(id) for id in EVERY_ID[:3]], ME, UNTIL, KEY)


@pytest.mark.behaviour("deferred.stateless")
@given(tools, st.text(max_size=8).map(PrincipalId))
def test_a_handle_is_read_back_by_whoever_it_was_made_for(ids: list[object], who: PrincipalId) -> None:
    digests = tuple(tool_digest(id) for id in ids)  # type: ignore[arg-type]  # drawn from ids of tools
    text = make_handle(digests, who, UNTIL, KEY)
    assert read_handle(text, who, NOW, KEY) == digests
    assert text.startswith(HANDLE_PREFIX)
    assert text.isascii()
    assert len(text) <= MAX_HANDLE_CHARS


@pytest.mark.behaviour("deferred.handles")
@given(st.integers(0, len(GOOD) - 1), st.characters(codec="ascii"))
def test_a_handle_with_any_character_changed_is_none(place: int, letter: str) -> None:
    text = GOOD[:place] + letter + GOOD[place + 1 :]
    assert read_handle(text, ME, NOW, KEY) == (FOREIGN_HANDLE if text != GOOD else read_handle(GOOD, ME, NOW, KEY))


@pytest.mark.behaviour("deferred.handles")
@given(st.integers(0, len(GOOD) - 1), st.text(max_size=4))
def test_a_handle_that_was_cut_or_prolonged_is_none(length: int, more: str) -> None:
    assert read_handle(GOOD[:length], ME, NOW, KEY) == FOREIGN_HANDLE
    assert read_handle(GOOD[length:], ME, NOW, KEY) == FOREIGN_HANDLE or length == 0
    assert read_handle(GOOD + more, ME, NOW, KEY) == FOREIGN_HANDLE or not more


@pytest.mark.behaviour("deferred.handles")
@given(st.text(max_size=60) | st.text("ABCDEFabcdef0123456789-_=", max_size=200).map(lambda text: HANDLE_PREFIX + text))
def test_no_text_that_nobody_made_is_a_handle(text: str) -> None:
    assert read_handle(text, ME, NOW, KEY) == FOREIGN_HANDLE


@pytest.mark.behaviour("deferred.handles")
def test_a_handle_is_nothing_to_another_caller_under_another_key_or_later() -> None:
    assert read_handle(GOOD, OTHER, NOW, KEY) == FOREIGN_HANDLE
    assert read_handle(GOOD, ME, NOW, KEY[::-1]) == FOREIGN_HANDLE
    assert read_handle(GOOD, ME, UNTIL - timedelta(seconds=1), KEY) == tuple(tool_digest(id) for id in EVERY_ID[:3])
    assert read_handle(GOOD, ME, UNTIL, KEY) == EXPIRED_HANDLE
    # Whether somebody else's has expired is nobody's business.
    assert read_handle(GOOD, OTHER, UNTIL, KEY) == FOREIGN_HANDLE


@pytest.mark.behaviour("deferred.bounded")
def test_the_longest_handle_is_still_taken_and_anything_longer_is_not_even_looked_at() -> None:
    most = [SEARCH_SEPARATOR] * MAX_SEPARATORS + [
        number.to_bytes(6, "big") for number in range(1, MAX_MATERIALIZED + 1)
    ]
    text = make_handle(most, ME, UNTIL, KEY)
    assert read_handle(text, ME, NOW, KEY) == tuple(most)
    assert len(text) <= MAX_HANDLE_CHARS < 1_000
    assert read_handle(text + "A" * 10_000_000, ME, NOW, KEY) == FOREIGN_HANDLE
