"""What a tool answered, as a program gets it."""

import pytest

from pegboard.core.json.values import JsonObject
from pegboard.prompts.stubs.values import UnreadableAnswer, program_answer


def said(*texts: str) -> JsonObject:
    return {"content": [{"type": "text", "text": text} for text in texts]}


@pytest.mark.behaviour("code.answers")
def test_a_tool_with_an_output_schema_gives_what_it_describes() -> None:
    assert program_answer({**said("two"), "structuredContent": {"n": 2}}, described=True) == {"n": 2}
    assert program_answer(said('{"n": 2}'), described=True) == {"n": 2}
    assert isinstance(program_answer(said("two"), described=True), UnreadableAnswer)


@pytest.mark.behaviour("code.answers")
def test_a_tool_without_one_gives_its_text_also_where_that_is_json() -> None:
    assert program_answer(said('{"n": 2}'), described=False) == '{"n": 2}'
    assert program_answer({**said("two"), "structuredContent": {"n": 2}}, described=False) == "two"
    assert program_answer({"content": [], "structuredContent": {"n": 2}}, described=False) == '{"n": 2}'
    assert program_answer(said("a", "b"), described=False) == "a\nb"
    assert program_answer({}, described=False) == ""


@pytest.mark.behaviour("code.answers")
def test_what_is_no_text_is_told_of() -> None:
    result: JsonObject = {
        "content": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///x", "name": "x"},
            {"type": "resource", "resource": {"uri": "file:///y", "text": "inside"}},
        ]
    }
    assert program_answer(result, described=False) == (
        "[image that is not shown here: image/png, 3 bytes]\n[a link: file:///x x]\ninside"
    )
