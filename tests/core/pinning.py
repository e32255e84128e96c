"""A tool whose parameters are overridden: what callers see of it, and what its server gets."""

from collections.abc import Mapping
from dataclasses import replace

import jsonschema_rs
from hypothesis import strategies as st
from tests.core.boards import GITHUB, ME, Board, board, tool
from tests.core.laws import call

from pegboard.core.calls.call import AdmittedCall, Arguments, admit, refusal_text
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json

DEV = ToolsetId("dev")
READ = ToolId(GITHUB, "read")
SECRET = "pin-4711-secret"
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where"},
        "limit": {"type": "integer"},
        "verbose": {"type": "boolean"},
    },
    "required": ["path", "limit"],
    "additionalProperties": False,
}


def with_schema(schema: JsonObject) -> Tool:
    return replace(tool(GITHUB, "read"), spec=ToolSpec("read", input_schema=schema))


def valid(tool: Tool, arguments: Arguments) -> tuple[str, ...]:
    validator = jsonschema_rs.validator_for(dict(tool.spec.input_schema), mask="the value")
    return tuple(error.message for error in validator.iter_errors(dict(arguments)))


def overridden(schema: JsonObject, *rows: Override) -> Board:
    plain = board([with_schema(schema)])
    told = tuple(row for row in rows if row.is_declared)
    return plain.declaring(overrides=told).deciding(overrides=tuple(row for row in rows if not row.is_declared))


def saying(target: ToolId | Pattern = READ, *, declared: bool = False, **arguments: ArgumentOverride) -> Override:
    return Override(DEV, target, arguments=arguments, is_declared=declared)


def pinned(value: Json) -> ArgumentOverride:
    return ArgumentOverride(pin=freeze_json(value))


def verdict(of: Board) -> OpenTool | LockedTool:
    found = resolve(of.catalogue, of.policy, View(ME)).verdicts[READ]
    assert isinstance(found, OpenTool | LockedTool)
    return found


def seen(of: Board) -> Mapping[str, Json]:
    found = verdict(of)
    assert isinstance(found, OpenTool)
    return dict(found.visible_tool.spec.input_schema)


def sent(of: Board, **arguments: Json) -> object:
    """What the server gets, or the text of the refusal."""
    resolution = resolve(of.catalogue, of.policy, View(ME))
    ended = admit(replace(call("read"), arguments=arguments, raw=b"{}"), resolution, valid)
    if isinstance(ended, AdmittedCall):
        assert ended.call.raw is None or dict(ended.call.arguments) == arguments
        return dict(ended.call.arguments)
    return refusal_text(ended)


parameters = st.sampled_from(["path", "limit", "verbose", "other"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)
subschemas: st.SearchStrategy[JsonObject] = st.sampled_from(
    [
        {},
        {"type": "string"},
        {"type": "integer"},
        {"enum": ["a", 1]},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ]
)
schemas = st.fixed_dictionaries(
    {"properties": st.dictionaries(parameters, subschemas, min_size=1)},
    optional={
        "required": st.lists(parameters, max_size=3, unique=True),
        "additionalProperties": st.booleans(),
        "anyOf": st.lists(
            st.fixed_dictionaries({"required": st.lists(parameters, max_size=2, unique=True)}), min_size=1, max_size=2
        ),
        "dependentRequired": st.dictionaries(parameters, st.lists(parameters, max_size=2, unique=True), max_size=2),
        "maxProperties": st.integers(0, 3),
    },
)
secrets: st.SearchStrategy[Json] = st.sampled_from([SECRET, [SECRET], {SECRET: 1}, {"a": {SECRET: SECRET}}])
