"""The schemas that clients are shown, held against recorded calls: they allow what worked and refuse what did not."""

import json
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from benchmarks.docspace_replay.recordings import Recording, read

from pegboard.core.model.tool import ToolSpec
from pegboard.providers.docspace.provider import TOOLSETS

SPECS: Final[dict[str, ToolSpec]] = {tool.name: tool.spec for tools in TOOLSETS.values() for tool in tools}
RECORDINGS: Final = [each for each in read(Path(__file__).with_name("recordings.json")) if each.tool in SPECS]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def validator(schema: Any) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(dict(schema))


def schemas_of(name: str) -> list[dict[str, Any]]:
    spec = SPECS[name]
    return [dict(each) for each in (spec.input_schema, spec.output_schema) if each is not None]


@pytest.mark.behaviour("docspace.schemas")
@pytest.mark.parametrize("name", SPECS)
def test_every_schema_is_valid_in_the_dialect_that_it_names(name: str) -> None:
    for schema in schemas_of(name):
        assert schema["$schema"] == DIALECT
        assert schema["type"] == "object"
        jsonschema_rs.meta.validate(schema)


def refused(recording: Recording) -> bool:
    return recording.result is not None and "\n".join(recording.result.texts).startswith("Parsing input.")


def pruned(schema: Any, value: Any) -> Any:
    """Without members that the schema does not know: a tool drops them, and a schema says that they are not there."""
    if isinstance(value, dict) and isinstance(schema, dict) and "properties" in schema:
        known = schema["properties"]
        return {key: pruned(known[key], each) for key, each in value.items() if key in known}
    if isinstance(value, list) and isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        return [pruned(schema["items"], each) for each in value]
    return value


@pytest.mark.behaviour("docspace.schemas")
@pytest.mark.parametrize("name", SPECS)
def test_an_input_schema_allows_what_was_called_and_refuses_what_was_refused(name: str) -> None:
    schema = dict(SPECS[name].input_schema)
    allows = validator(schema).is_valid
    calls = [each for each in RECORDINGS if each.tool == name and each.arguments is not None]
    assert calls
    judged = [(each.note, allows(pruned(schema, each.arguments))) for each in calls]
    assert judged == [(each.note, not refused(each)) for each in calls]


@pytest.mark.behaviour("docspace.schemas")
@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if spec.output_schema is not None])
def test_an_output_schema_allows_every_recorded_answer_and_nothing_without_its_envelope(name: str) -> None:
    schema = SPECS[name].output_schema
    assert schema is not None
    allows = validator(schema).is_valid
    answers = [
        each.result.structured
        for each in RECORDINGS
        if each.tool == name and each.result is not None and each.result.structured is not None
    ]
    assert answers
    assert [json.dumps(each) for each in answers if not allows(each)] == []
    for key in ("response", "links", "status", "statusCode"):
        assert not allows({member: value for member, value in answers[0].items() if member != key})


@pytest.mark.behaviour("docspace.schemas")
def test_tools_that_answer_with_an_envelope_say_so_and_the_others_do_not() -> None:
    enveloped = {each.tool for each in RECORDINGS if each.result is not None and each.result.structured is not None}
    assert {name for name, spec in SPECS.items() if spec.output_schema is not None} == enveloped


CHOICES: Final = {
    ("create_room", "roomType"): [1, 2, 5, 6, 8],
    ("get_room_security_info", "filters", "filterType"): [0, 1, 2, 4, 8, 16, 32],
    ("get_folder_content", "filters", "applyFilterOption"): ["All", "Files", "Folders"],
    ("get_folder_content", "filters", "sortOrder"): [0, 1],
    ("get_rooms_folder", "filters", "sortBy"): ["DateAndTime", "AZ", "Author", "RoomType", "Tags"],
    ("get_rooms_folder", "filters", "searchArea"): ["Active", "Archive", "Any", "RecentByLinks", "Template"],
}


@pytest.mark.behaviour("docspace.schemas")
@pytest.mark.parametrize("place", CHOICES, ids=".".join)
def test_what_may_be_chosen_is_enumerated_for_clients(place: tuple[str, ...]) -> None:
    tool, *steps = place
    schema: Any = SPECS[tool].input_schema
    for step in steps:
        schema = schema["properties"][step]
    assert schema["enum"] == CHOICES[place]
