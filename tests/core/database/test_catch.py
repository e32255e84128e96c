"""Rows under limits, and values as JSON carries them."""

import datetime
import decimal
import json
import math
import uuid
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.core.database import Catch, Cut, Limits, cell, requested
from pegboard.core.folded import Json


@pytest.mark.behaviour("databases.values")
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        (True, True),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**63), "-9223372036854775808"),
        (1.5, 1.5),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (decimal.Decimal("12.50"), "12.50"),
        (b"\x00\xff", "0x00ff"),
        (memoryview(b"a"), "0x61"),
        ("\ud800", "\ufffd\ufffd\ufffd"),
        ("añ😀", "añ😀"),
        (datetime.date(2026, 3, 4), "2026-03-04"),
        (datetime.datetime(2026, 3, 4, 5, 6, tzinfo=datetime.UTC), "2026-03-04T05:06:00+00:00"),
        (datetime.time(5, 6), "05:06:00"),
        (datetime.timedelta(days=1), "1 day, 0:00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [1, math.nan]}, {"a": [1, "NaN"]}),
        ((1, b"x"), [1, "0x78"]),
        ({1: 2**60}, {"1": "1152921504606846976"}),
    ],
)
def test_a_value_is_told_as_json_carries_it(value: object, told: Json) -> None:
    assert cell(value) == told


def test_a_number_of_very_many_digits_and_a_deep_nest_are_told_too() -> None:
    assert cell(10**5000) == hex(10**5000)
    nest: object = 1
    for _ in range(100):
        nest = [nest]
    assert json.dumps(cell(nest)).startswith("[" * 32)


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(codec=None)),
        st.binary(),
        st.decimals(),
        st.datetimes(),
        st.timedeltas(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
rows = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.lists(values, min_size=width, max_size=width).map(tuple), max_size=12)
)


def caught(given: Sequence[Sequence[object]], limits: Limits) -> Catch:
    catch = Catch(limits)
    for row in given:
        if not catch.add(row):
            break
    return catch


@given(values)
def test_whatever_the_value_it_is_json_in_utf_8(value: object) -> None:
    told = cell(value)
    assert json.loads(json.dumps(told, allow_nan=False, ensure_ascii=False).encode()) == told


@pytest.mark.behaviour("databases.capped")
@given(rows, st.integers(0, 12), st.integers(0, 400), st.integers(1, 40))
def test_what_is_capped_is_a_prefix_of_the_whole(
    given: Sequence[Sequence[object]], most: int, room: int, width: int
) -> None:
    whole = [tuple(map(cell, row)) for row in given]
    catch = caught(given, Limits(most, room, width))
    cells = {(row, column): size for row, column, size in catch.cut.cells} if catch.cut is not None else {}
    for place, row in enumerate(catch.rows):
        for column, told in enumerate(row):
            full = whole[place][column]
            if (place, column) in cells:
                text = full if isinstance(full, str) else json.dumps(full, ensure_ascii=False, separators=(",", ":"))
                assert isinstance(told, str)
                assert text.startswith(told.removesuffix("…"))
                assert len(told.encode()) <= width + len("…".encode())
                assert cells[place, column] == len(text.encode()) > width
            else:
                assert told == full
    assert len(catch.rows) <= most
    assert (len(catch.rows) < len(whole)) is (catch.cut is not None and catch.cut.rows)


def test_a_row_too_many_and_a_byte_too_many_end_the_rows_and_say_which_it_was() -> None:
    assert caught([(1,), (2,)], Limits(rows=2)).cut is None
    assert caught([(1,), (2,), (3,)], Limits(rows=2)).cut == Cut(rows=True, by="rows")
    assert caught([("x" * 50,), ("y" * 50,)], Limits(bytes=60)).cut == Cut(rows=True, by="bytes")
    assert caught([("é" * 50,)], Limits(cell=9)).rows == [("éééé…",)]
    assert caught([("é" * 50,)], Limits(cell=9)).cut == Cut(rows=False, cells=((0, 0, 100),))


def test_after_the_first_row_that_was_not_taken_none_is() -> None:
    catch = Catch(Limits(bytes=60))
    assert [catch.add(("x" * 50,)), catch.add(("y" * 50,)), catch.add((1,))] == [True, False, False]


def test_a_caller_may_ask_for_a_thousand_rows_and_for_less() -> None:
    asked = (None, 5, 0, 1000, 5000)
    assert [requested(Limits(), rows).rows for rows in asked] == [100, 5, 1, 1000, 1000]
    assert requested(Limits(rows=3000), 5000).rows == 3000
