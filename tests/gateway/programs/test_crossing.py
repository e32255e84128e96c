"""Arguments on their way from a program to a tool: what JSON has, however they are written, and words for the rest."""

import math

import anyio
import pytest

from pegboard.core.json.values import Json
from pegboard.gateway.programs.calls import to_plain_json
from pegboard.ports.sandbox import CallFailure

pytestmark = pytest.mark.anyio
MANY: list[Json] = [{"n": number, "text": "ä\n", "half": 0.5, "none": None} for number in range(3_000)]


async def _plain(value: object) -> object:
    return await to_plain_json({"value": value}, anyio.CapacityLimiter(1))  # type: ignore[dict-item]  # whatever comes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ä\n", '"ä\\n"'),
        (-0.0, "-0.0"),
        (True, "true"),
        ([1, 1.0, 2**64 - 1, -(2**63)], "[1,1.0,18446744073709551615,-9223372036854775808]"),
        (2**70, "1180591620717411303424"),
        ("\ud800", '"\\ud800"'),
    ],
    ids=["text", "zero", "truth", "numbers", "huge", "half of a character"],
)
async def test_a_plain_value_crosses_as_it_is(value: object, text: str) -> None:
    assert await _plain(value) == ({"value": value}, f'{{"value":{text}}}'.encode())


async def test_many_values_cross_as_they_are() -> None:
    crossed = await _plain(MANY)
    assert isinstance(crossed, tuple)
    assert crossed[0] == {"value": MANY}


async def test_tuples_and_numbers_as_keys_are_what_json_makes_of_them() -> None:
    assert await _plain({1: (2, 3)}) == ({"value": {"1": [2, 3]}}, b'{"value":{"1":[2,3]}}')


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, [math.nan], b"bytes", {1, 2}, object()],
    ids=["nan", "infinity", "nan within", "bytes", "set", "object"],
)
async def test_what_json_cannot_say_is_told_to_the_program(value: object) -> None:
    crossed = await _plain(value)
    assert isinstance(crossed, CallFailure)
    assert crossed.type == "TypeError"
    assert crossed.message.startswith("Only plain JSON can be an argument of a tool: ")
