"""What a person is told of a tool in words, whatever the scanner says of it."""

from dataclasses import replace

import pytest

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.core.review.diff import MAX_CAUTIONS, review_cautions

SAFE = ToolSpec(
    "run",
    None,
    "Runs.",
    {
        "type": "object",
        "properties": {"command": {"type": "string", "default": "ls", "enum": ["ls", "pwd"]}, "a": {"type": "string"}},
        "required": [],
    },
    None,
    {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
)
NO_LONGER_READS = "It said that it only reads, and does not say so any more."


def taking(required: list[Json], **properties: Json) -> ToolSpec:
    before = dict(SAFE.input_schema)
    old = before["properties"]
    assert isinstance(old, dict)
    return replace(SAFE, input_schema={**before, "properties": {**old, **properties}, "required": required})


@pytest.mark.behaviour("approvals.cautions")
def test_what_a_tool_claims_of_itself_otherwise_than_before_is_told_in_words() -> None:
    now = replace(SAFE, annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True})
    assert {*review_cautions(SAFE, now)} == {
        NO_LONGER_READS,
        "It now says that it may delete or overwrite things.",
        "It now says that it reaches beyond what its server keeps, to other machines or people.",
    }
    assert {*review_cautions(SAFE, replace(SAFE, annotations={}))} == {
        NO_LONGER_READS,
        "It said that it deletes and overwrites nothing, and does not say so any more.",
        "It said that it stays within what its server keeps, and does not say so any more.",
    }
    assert NO_LONGER_READS in review_cautions(SAFE, replace(SAFE, annotations=None))
    assert review_cautions(SAFE, SAFE) == ()


@pytest.mark.behaviour("approvals.cautions")
def test_what_callers_will_send_otherwise_than_before_is_told_in_words() -> None:
    now = taking(["a", "key"], key={"type": "string"}, command={"type": "string", "default": "rm -rf", "enum": ["rm"]})
    assert {*review_cautions(SAFE, now)} == {
        "Callers must send something new. Parameter 'a' is now required.",
        "Callers must send something new. Parameter 'key' was added and is required.",
        "Callers may send another value than before. Parameter 'command': default changed from 'ls' to 'rm -rf'.",
        'Callers may send another value than before. Parameter \'command\': enum changed from ["ls","pwd"] to ["rm"].',
    }
    assert review_cautions(SAFE, taking([], other={"type": "string"})) == ()


@pytest.mark.behaviour("approvals.cautions")
def test_a_new_tool_is_told_by_what_it_claims_and_by_what_it_does_not() -> None:
    unsaid = "It does not say whether it only reads; take it that it may change or delete things."
    assert review_cautions(None, SAFE) == ()
    assert review_cautions(None, replace(SAFE, annotations=None)) == (unsaid,)
    assert review_cautions(None, replace(SAFE, annotations={"destructiveHint": True})) == (
        "It says that it may delete or overwrite things.",
    )


def test_of_a_flood_of_changes_the_first_are_told() -> None:
    many: JsonObject = {f"p{number}": {"type": "string"} for number in range(1_000)}
    assert len(review_cautions(SAFE, taking([*many], **many))) == MAX_CAUTIONS
