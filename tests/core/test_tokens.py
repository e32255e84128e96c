"""What a text costs: an estimate that is the same everywhere, near what real tokenizers say, and never surprising."""

import pytest
from hypothesis import given
from tests.core.boards import json_objects, texts

from pegboard.core.json.values import JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.core.presentations.entries import estimate_tokens, estimate_tokens_roughly, tool_cost

SCHEMA = (
    '{"type":"object","properties":{"path":{"type":"string","description":"Where the file is."},'
    '"limit":{"type":"integer","minimum":1,"default":100}},"required":["path"]}'
)

# The text, and its tokens by two tokenizers: one of 131,000 tokens, one of 32,000.
COUNTED = (
    ("Adds two numbers and returns the sum.", 9, 9),
    ("Reads a file of the project and returns its text, with the line numbers in front of each line.", 22, 22),
    (SCHEMA, 45, 49),
    ("def add(a: int, b: int) -> int:\n    return a + b\n\n\nclass ListOfNumbers:\n    pass\n", 27, 33),
    ("create_pull_request_review_comment", 7, 9),
    ("使用指定的关键词搜索文件，并返回结果列表。", 20, 22),  # noqa: RUF001  # a comma as Chinese writes it
    ("Читает файл и возвращает его содержимое.", 14, 18),  # noqa: RUF001  # Russian
    ("https://example.com/search?q=tools&page=2#results", 14, 17),
)


@pytest.mark.parametrize(("text", "large", "small"), COUNTED, ids=range(len(COUNTED)))
def test_the_estimate_is_near_what_real_tokenizers_say(text: str, large: int, small: int) -> None:
    assert 0.8 * large <= estimate_tokens(text) <= 1.25 * small


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        (" ", 1),
        ("a", 1),
        ("read", 1),
        ("read the file", 3),
        ("readTheFile", 3),
        ("internationalisation", 3),
        ("12345", 4),
        ("\n\n\n   ", 1),
        ("工具", 2),
        ("🎉", 2),
        ('{"a":1}', 5),
    ],
)
def test_each_kind_of_piece_has_its_price(text: str, cost: int) -> None:
    assert estimate_tokens(text) == cost


@given(texts, texts)
def test_a_text_costs_at_least_one_token_and_no_more_than_its_bytes(one: str, other: str) -> None:
    for text in (one, one + other):
        assert (estimate_tokens(text) > 0) is (text != "")
        assert estimate_tokens(text) <= 2 + 2 * len(text)
    # Joining may save a token or two at the seam; it never makes a text dearer than its parts.
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other) + 1


def test_a_text_twice_as_long_costs_twice_as_much() -> None:
    text = "Reads a file and returns its text. "
    assert estimate_tokens(text * 2000) == pytest.approx(2 * estimate_tokens(text * 1000), rel=0.001)


def test_a_large_hostile_text_is_counted_in_time_that_grows_with_its_length_only() -> None:
    for text in ("A" * 300_000 + "a", "\u0300" * 300_000, " " * 300_000, "{" * 300_000, "\ud800" * 100_000):
        assert estimate_tokens(text) > 0


def test_a_tool_costs_its_name_its_description_and_its_input_schema() -> None:
    schema: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
    plain = ToolSpec("read", description="Reads a file.", input_schema=schema)
    assert tool_cost(plain) == 12 + estimate_tokens("read") + estimate_tokens("Reads a file.") + estimate_tokens(
        '{"properties":{"path":{"type":"string"}},"type":"object"}'
    )
    assert tool_cost(ToolSpec("read", "Title", "Reads a file.", schema, schema, {"readOnlyHint": True})) == tool_cost(
        plain
    )


@given(json_objects)
def test_the_order_of_keys_changes_no_price(schema: JsonObject) -> None:
    reordered = dict(reversed([*schema.items()]))
    assert tool_cost(ToolSpec("t", input_schema=schema)) == tool_cost(ToolSpec("t", input_schema=reordered))


@pytest.mark.parametrize(("text", "large", "small"), COUNTED, ids=range(len(COUNTED)))
def test_the_quick_estimate_is_of_the_same_order(text: str, large: int, small: int) -> None:
    assert 0.6 * large <= estimate_tokens_roughly(text.encode()) <= 1.9 * small


def test_the_quick_estimate_of_nothing_is_nothing_and_of_anything_at_least_one() -> None:
    assert [estimate_tokens_roughly(text) for text in (b"", b" ", b"a", b"\xff", b"\x00")] == [0, 1, 1, 1, 1]
