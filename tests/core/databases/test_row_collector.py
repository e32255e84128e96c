"""Rows under limits, and values as JSON carries them."""

import datetime
import decimal
import ipaddress
import json
import math
import uuid
from array import array
from collections.abc import Sequence
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.collect_failures import each_case

from pegboard.core.databases.rows import (
    QueryRows,
    ResultColumn,
    ResultTruncation,
    RowCollector,
    ValueFormat,
    json_value,
    unique_names,
)
from pegboard.core.json.values import Json
from pegboard.core.model.databases import QueryLimits


class Colour(Enum):
    RED = "red"


@pytest.mark.behaviour("databases.values")
@each_case(
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
        (decimal.Decimal("12.50"), 12.5),
        (decimal.Decimal("-0.000000000000001"), -1e-15),
        (decimal.Decimal("123456789012345"), 123456789012345),
        (decimal.Decimal("1234567890123456"), "1234567890123456"),
        (decimal.Decimal("0.1234567890123456"), "0.1234567890123456"),
        (decimal.Decimal("1E+3"), 1000),
        (decimal.Decimal("1E+400"), "1E+400"),
        (decimal.Decimal("NaN"), "NaN"),
        (b"\x00\xff", "0x00ff"),
        (memoryview(b"a"), "0x61"),
        ("\ud800", "\ufffd\ufffd\ufffd"),
        ("añ😀", "añ😀"),
        (datetime.date(2026, 3, 4), "2026-03-04"),
        (datetime.datetime(2026, 3, 4, 5, 6, tzinfo=datetime.UTC), "2026-03-04T05:06:00+00:00"),
        (datetime.time(5, 6), "05:06:00"),
        (datetime.timedelta(days=1), "P1D"),
        (-datetime.timedelta(hours=1, minutes=2, seconds=3, microseconds=40), "-PT1H2M3.00004S"),
        (datetime.timedelta(days=2, microseconds=500_000), "P2DT0.5S"),
        (datetime.timedelta(), "PT0S"),
        (Colour.RED, "red"),
        (array("i", [1, 2]), [1, 2]),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"a": [1, math.nan]}, {"a": [1, "NaN"]}),
        ((1, b"x"), [1, "0x78"]),
        ({1: 2**60}, {"1": "1152921504606846976"}),
    ],
)
def test_a_value_is_told_as_json_carries_it(value: object, told: Json) -> None:
    assert json_value(value) == told


def test_a_number_of_very_many_digits_and_a_deep_nest_are_told_too() -> None:
    assert json_value(10**5000) == hex(10**5000)
    nest: object = 1
    for _ in range(100):
        nest = [nest]
    assert json.dumps(json_value(nest)).startswith("[" * 32)


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


def caught(given: Sequence[Sequence[object]], limits: QueryLimits) -> RowCollector:
    collector = RowCollector(limits)
    for row in given:
        if not collector.add((row,)):
            break
    return collector


@given(values)
def test_whatever_the_value_it_is_json_in_utf_8(value: object) -> None:
    told = json_value(value)
    assert json.loads(json.dumps(told, allow_nan=False, ensure_ascii=False).encode()) == told


@pytest.mark.behaviour("databases.capped")
@pytest.mark.slow
@given(rows, st.integers(0, 12), st.integers(0, 400), st.integers(1, 40))
def test_what_is_capped_is_a_prefix_of_the_whole(
    given: Sequence[Sequence[object]], most: int, room: int, width: int
) -> None:
    whole = [tuple(map(json_value, row)) for row in given]
    collector = caught(given, QueryLimits(most, room, width))
    cells = (
        {(row, column): size for row, column, size in collector.truncation.cells}
        if collector.truncation is not None
        else {}
    )
    for place, row in enumerate(collector.rows):
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
    assert len(collector.rows) <= most
    assert (len(collector.rows) < len(whole)) is (collector.truncation is not None and collector.truncation.rows)


def test_a_row_too_many_and_a_byte_too_many_end_the_rows_and_say_which_it_was() -> None:
    assert caught([(1,), (2,)], QueryLimits(rows=2)).truncation is None
    assert caught([(1,), (2,), (3,)], QueryLimits(rows=2)).truncation == ResultTruncation(rows=True, limited_by="rows")
    assert caught([("x" * 50,), ("y" * 50,)], QueryLimits(bytes=60)).truncation == ResultTruncation(
        rows=True, limited_by="bytes"
    )
    assert caught([("é" * 50,)], QueryLimits(cell_chars=9)).rows == [("éééé…",)]
    assert caught([("é" * 50,)], QueryLimits(cell_chars=9)).truncation == ResultTruncation(
        rows=False, cells=((0, 0, 100),)
    )


def test_after_the_first_row_that_was_not_taken_none_is() -> None:
    collector = RowCollector(QueryLimits(bytes=60))
    assert [collector.add([("x" * 50,)]), collector.add([("y" * 50,)]), collector.add([(1,)])] == [True, False, False]


@pytest.mark.slow
@given(rows, st.integers(0, 12), st.integers(0, 400), st.integers(1, 40), st.integers(1, 5))
def test_rows_are_caught_alike_one_by_one_and_many_at_once(
    given: Sequence[Sequence[object]], most: int, room: int, width: int, at_once: int
) -> None:
    limits = QueryLimits(most, room, width)
    one, many = caught(given, limits), RowCollector(limits)
    for start in range(0, len(given), at_once):
        if not many.add(given[start : start + at_once]):
            break
    assert (many.rows, many.truncation) == (one.rows, one.truncation)


@pytest.mark.behaviour("databases.capped")
@given(st.integers(0, 3000), st.integers(1, 2000), st.integers(1, 100_000))
def test_as_many_rows_are_asked_for_as_there_is_room_for_and_one_more(count: int, most: int, room: int) -> None:
    collector, rest = RowCollector(QueryLimits(most, room)), [(number, "x" * 20) for number in range(count)]
    fetched = 0
    while wanted := collector.next_fetch:
        some, rest = rest[:wanted], rest[wanted:]
        fetched += len(some)
        if not collector.add(some) or len(some) < wanted:
            break
    assert fetched <= most + 1
    assert rest == [] or fetched <= len(collector.rows) + 1_000
    assert len(collector.rows) == min(count, most, room // 31)
    assert (collector.truncation is None) is (len(collector.rows) == count)


@pytest.mark.behaviour("databases.columns_apart")
def test_columns_of_one_name_are_told_apart_and_say_how_their_values_are_written() -> None:
    collector = RowCollector(QueryLimits())
    assert collector.add([(1, 2**60, b"x", decimal.Decimal("1.5")), (None, 2, None, decimal.Decimal("NaN"))])
    assert collector.to_rows(["id", "id", "", "id_2"], ["a", "b", "c", "d"], 0.5) == QueryRows(
        (
            ResultColumn("id", "a"),
            ResultColumn("id_3", "b", (ValueFormat.NUMBER_AS_TEXT,)),
            ResultColumn("column_3", "c", (ValueFormat.BINARY_AS_HEX,)),
            ResultColumn("id_2", "d", (ValueFormat.NUMBER_AS_TEXT,)),
        ),
        ((1, "1152921504606846976", "0x78", 1.5), (None, 2, None, "NaN")),
        None,
        0.5,
    )


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "", "column_1", "\ud800"])))
def test_however_columns_are_called_each_is_told_by_a_name_of_its_own(given: list[str]) -> None:
    told = unique_names(given)
    assert len({*told}) == len(given)
    assert all(name.encode() for name in told)
    assert [name for name in told if name in given] == [*dict.fromkeys(name for name in told if name in given)]


def test_few_rows_are_asked_for_while_their_values_are_large_though_these_are_cut() -> None:
    collector, asked = RowCollector(QueryLimits(rows=1000)), []
    for _ in range(4):
        asked.append(collector.next_fetch)
        collector.add([("x" * 3_000_000,)] * collector.next_fetch)
    assert asked == [1, 1, 1, 1]
    small, grown = RowCollector(QueryLimits(rows=5000)), []
    while wanted := small.next_fetch:
        grown.append(wanted)
        small.add([(1,)] * wanted)
    assert grown == [1, 8, 64, 512, 1000, 1000, 1000, 1000, 416]
