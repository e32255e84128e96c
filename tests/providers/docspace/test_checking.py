"""What is said of arguments that do not fit, in the words that today's clients know."""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest

from pegboard.core.json.values import Json
from pegboard.providers.docspace.limits import DocSpaceError
from pegboard.providers.docspace.models import FILE, PEOPLE, DocSpaceTool
from pegboard.providers.docspace.provider import TOOLSETS
from pegboard.providers.docspace.validation import ValueSender, decode_base64, response_issues, validate_arguments

TOOLS = {tool.name: tool for tools in TOOLSETS.values() for tool in tools}


def said(tool: str, arguments: Mapping[str, Json]) -> list[str]:
    with pytest.raises(DocSpaceError) as trouble:
        validate_arguments(TOOLS[tool].arguments, arguments)
    first, *lines = str(trouble.value).split("\n")
    assert first == "Parsing input."
    assert all(line.startswith("\t\t") and line[2] != "\t" for line in lines)
    return [line[2:] for line in lines]


@pytest.mark.parametrize(
    ("value", "received"),
    [
        ("1", "string"),
        (None, "null"),
        (True, "boolean"),
        ([], "array"),
        ({}, "object"),
        (float("nan"), "NaN"),
        (float("inf"), "number"),
    ],
)
def test_a_value_of_another_kind_is_named_by_what_it_is(value: Json, received: str) -> None:
    assert said("delete_file", {"fileId": value}) == [
        f"fileId: invalid_type Invalid input: expected number, received {received}"
    ]


@pytest.mark.behaviour("docspace.words")
def test_all_that_is_wrong_is_told_in_the_order_of_the_schema() -> None:
    assert said("get_folder_content", {"filters": {"startIndex": "x", "count": 51, "excludeSubject": 1}}) == [
        "folderId: invalid_type Invalid input: expected number, received undefined",
        "filters.excludeSubject: invalid_type Invalid input: expected boolean, received number",
        "filters.count: too_big Too big: expected number to be <=50",
        "filters.startIndex: invalid_type Invalid input: expected number, received string",
        "filters.fields: invalid_type Invalid input: expected array, received undefined",
    ]


def test_places_in_lists_are_told_by_their_numbers() -> None:
    assert said("get_all_people", {"filters": {"fields": ["id", 5, "x", None]}}) == [
        "filters.fields[1]: invalid_type Invalid input: expected string, received number",
        "filters.fields[2]: invalid_value Invalid option: expected one of "
        '"id"|"displayName"|"isAnonim"|"email"|"birthday"|"status"|"department"|"isAdmin"|"isRoomAdmin"|"isOwner"'
        '|"isVisitor"|"isCollaborator"',
        "filters.fields[3]: invalid_type Invalid input: expected string, received null",
    ]


def test_null_is_never_the_same_as_leaving_out() -> None:
    filters: dict[str, Json] = {
        "fields": [],
        "userIdOrGroupId": None,
        "roomId": None,
        "count": None,
        "searchArea": None,
    }

    assert said("get_folder_content", {"folderId": 1, "filters": filters}) == [
        "filters.userIdOrGroupId: invalid_type Invalid input: expected string, received null",
        "filters.roomId: invalid_union Invalid input",
        "filters.searchArea: invalid_type Invalid input: expected string, received null",
        "filters.count: invalid_type Invalid input: expected number, received null",
    ]


def test_an_invitation_names_somebody_unless_it_is_broken_anyway() -> None:
    invitations: list[Json] = [{}, {"access": 1}, {"email": 5}, "ada", {"id": "u"}, {"email": "a@b.c"}]

    assert said("set_room_security", {"roomId": 1, "invitations": invitations, "filters": {"fields": []}}) == [
        "invitations[0].id.email: custom Either User ID or User Email must be provided.",
        "invitations[1].access: invalid_value Invalid option: expected one of 0|2|5|6|7|9|10|11",
        "invitations[1].id.email: custom Either User ID or User Email must be provided.",
        "invitations[2].email: invalid_type Invalid input: expected string, received number",
        "invitations[3]: invalid_type Invalid input: expected object, received string",
    ]


@pytest.mark.parametrize("count", [1, 50, 1.5])
def test_counts_within_bounds_are_taken(count: float) -> None:
    taken = validate_arguments(TOOLS["get_all_people"].arguments, {"filters": {"fields": [], "count": count}})

    assert taken == {"filters": {"count": count, "fields": []}}


@pytest.mark.parametrize(
    "uuid",
    [
        "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
)
def test_uuids_are_those_of_the_standard(uuid: str) -> None:
    validate_arguments(TOOLS["get_my_folder"].arguments, {"filters": {"fields": [], "userIdOrGroupId": uuid}})
    for wrong in (uuid + "\n", uuid[:-1], "11111111-1111-9111-8111-111111111111", ""):
        assert said("get_my_folder", {"filters": {"fields": [], "userIdOrGroupId": wrong}}) == [
            "filters.userIdOrGroupId: invalid_format Invalid UUID"
        ]


def test_what_a_tool_does_not_know_is_dropped_at_every_level_and_the_rest_put_in_order() -> None:
    given: dict[str, Json] = {"filters": {"fields": ["id"], "sortOrder": 1, "x": 1, "startIndex": 0}, "y": 2}

    assert validate_arguments(TOOLS["get_all_people"].arguments, given) == {
        "filters": {"count": 30, "startIndex": 0, "sortOrder": 1, "fields": ["id"]}
    }


@pytest.mark.behaviour("docspace.answers")
def test_an_answer_may_have_nulls_new_members_and_new_choices_but_not_values_of_another_kind() -> None:
    assert response_issues(FILE, {"title": None, "fileType": 99, "news": {}, "createdBy": None, "id": "sbox-1"}) == []
    assert [str(issue) for issue in response_issues(FILE, {"title": 5, "id": True, "createdBy": {"id": 1}})] == [
        "id: invalid_union Invalid input",
        "title: invalid_type Invalid input: expected string, received number",
        "createdBy.id: invalid_type Invalid input: expected string, received number",
    ]
    assert [str(issue) for issue in response_issues(FILE, None)] == [
        "invalid_type: Invalid input: expected object, received null"
    ]
    # A place at the root of a list is told without its first bracket: clients know it so.
    assert [str(issue) for issue in response_issues(PEOPLE, [{"id": 1}])] == [
        "0].id: invalid_type Invalid input: expected string, received number"
    ]


def test_base64_may_have_line_breaks_but_nothing_else_that_is_not_base64() -> None:
    assert decode_base64("AAEC\r\n/w==\n") == b"\x00\x01\x02\xff"
    for wrong in ("a", "AA", "%%%%", "é"):
        with pytest.raises(DocSpaceError) as trouble:
            decode_base64(wrong)
        assert str(trouble.value) == ("Parsing input.\n\t\tcontent: invalid_format Invalid base64-encoded string")


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_what_the_schema_says_is_what_is_checked(tool: DocSpaceTool) -> None:
    schema: Any = tool.arguments.schema(ValueSender.CALLER)
    validator = jsonschema_rs.validator_for(schema)
    for arguments in (_least(schema), _everything(schema)):
        assert validator.is_valid(arguments)
        validate_arguments(tool.arguments, arguments)
    for name in schema.get("required", []):
        lacking = {key: value for key, value in _everything(schema).items() if key != name}
        assert not validator.is_valid(lacking)
        with pytest.raises(DocSpaceError):
            validate_arguments(tool.arguments, lacking)


def _least(schema: Any) -> Any:
    return {name: _some(schema["properties"][name], _least) for name in schema.get("required", [])}


def _everything(schema: Any) -> Any:
    return {name: _some(inner, _everything) for name, inner in schema["properties"].items()}


def _some(schema: Any, of: Any) -> Any:
    match schema:
        case {"enum": [*_, last]}:
            return last
        case {"format": "uuid"}:
            return "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
        case {"type": "object", "properties": {"email": _}}:
            return {"email": "a@b.c"}
        case {"type": "object"}:
            return of(schema)
        case {"type": "array", "items": items}:
            return [_some(items, of)]
        case {"type": "number"}:
            return 7
        case {"type": "boolean"}:
            return False
        case _:
            return "text"
