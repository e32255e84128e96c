"""Overrides of single parameters: what callers see and may send, what the server gets, and what is never told."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import GITHUB, ME
from tests.core.laws import call
from tests.core.pinning import (
    DEV,
    READ,
    SCHEMA,
    SECRET,
    overridden,
    parameters,
    pinned,
    saying,
    schemas,
    secrets,
    seen,
    sent,
    valid,
    values,
    verdict,
    with_schema,
)
from tests.support.collect_failures import each_case

from pegboard.core.calls.call import AdmittedCall, BadArguments, LockedToolRefusal, admit, refusal_text
from pegboard.core.decision.resolve import LockedTool, OpenTool, resolve
from pegboard.core.decision.status import LockStatus, UnusableOverride
from pegboard.core.explain.explain import explain
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BadId, ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.model.tool import ToolSpec
from pegboard.core.overrides.model import ArgumentOverride, Override, freeze_json, merge_overrides, parse_target
from pegboard.core.overrides.schema import InapplicableOverride, fill_arguments, override_tool

ALL = saying(
    path=pinned("/srv"),
    verbose=ArgumentOverride(hide=True),
    limit=ArgumentOverride(default=freeze_json(10), description="How many lines"),
)


@pytest.mark.behaviour("overrides.arguments", "overrides.arguments_default", "overrides.arguments_reworded")
def test_what_is_pinned_or_hidden_is_gone_and_what_is_left_has_its_new_default_and_words() -> None:
    assert seen(overridden(SCHEMA, ALL)) == {
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "How many lines", "default": 10}},
        "additionalProperties": False,
    }


@pytest.mark.behaviour("overrides.arguments", "overrides.arguments_default")
def test_the_server_gets_the_whole_arguments() -> None:
    of = overridden(SCHEMA, ALL)
    assert sent(of) == {"path": "/srv", "limit": 10}
    assert sent(of, limit=3) == {"path": "/srv", "limit": 3}


@pytest.mark.behaviour("overrides.pin_cannot_be_sent")
@pytest.mark.parametrize("name", ["path", "verbose"])
@pytest.mark.parametrize("closed", [True, False])
def test_an_argument_that_is_pinned_or_hidden_is_refused_like_one_that_does_not_exist(name: str, closed: bool) -> None:
    of = overridden({**SCHEMA, "additionalProperties": not closed}, ALL)
    refused = sent(of, **{name: "/etc"})
    assert isinstance(refused, str)
    assert f"{name}: there is no such argument" in refused
    assert "/srv" not in refused


@pytest.mark.behaviour("overrides.fingerprint_is_the_servers")
def test_the_fingerprint_and_the_approval_stay_those_of_the_servers_own_tool() -> None:
    found = verdict(overridden(SCHEMA, ALL))
    assert isinstance(found, OpenTool)
    assert found.tool.spec == ToolSpec("read", input_schema=SCHEMA)
    assert found.visible_tool.spec.fingerprint != found.tool.spec.fingerprint


def test_a_tool_that_nobody_overrides_is_shown_as_it_is() -> None:
    found = verdict(overridden(SCHEMA, saying(ToolId(GITHUB, "write"), path=pinned("/srv"))))
    assert isinstance(found, OpenTool)
    assert (found.overridden_tool, found.visible_tool) == (None, found.tool)


@pytest.mark.behaviour("overrides.arguments_merge")
def test_each_parameter_is_decided_by_itself_and_the_most_specific_wins() -> None:
    rows = (
        saying(
            Pattern("*", "*"),
            path=pinned("/general"),
            limit=ArgumentOverride(default=freeze_json(1), description="general"),
        ),
        saying(READ, path=pinned("/exact"), limit=ArgumentOverride(default=freeze_json(2))),
    )
    of = overridden(SCHEMA, *rows)
    assert sent(of) == {"path": "/exact", "limit": 2}
    look = of.policy.overrides.for_tool(READ)
    assert {place: row.target for place, row in look.origin.items()} == {
        "arguments.path.pin": READ,
        "arguments.limit.default": READ,
        "arguments.limit.description": Pattern("*", "*"),
    }


@pytest.mark.behaviour("overrides.arguments_merge")
def test_hide_false_shows_again_what_a_weaker_override_pins() -> None:
    of = overridden(
        SCHEMA, saying(Pattern("*", "*"), path=pinned("/x")), saying(READ, path=ArgumentOverride(hide=False))
    )
    assert seen(of) == SCHEMA


@pytest.mark.behaviour("overrides.declared_pin_stays")
@pytest.mark.parametrize("loosened", [pinned("/etc"), ArgumentOverride(hide=False), ArgumentOverride(hide=True)])
def test_what_the_operators_file_pins_no_persons_override_loosens(loosened: ArgumentOverride) -> None:
    of = overridden(SCHEMA, saying(Pattern("*", "*"), declared=True, path=pinned("/srv")), saying(READ, path=loosened))
    assert sent(of, limit=1) == {"path": "/srv", "limit": 1}


def test_a_person_changes_what_a_person_pinned_although_the_file_speaks_of_the_parameter() -> None:
    declared = saying(declared=True, path=ArgumentOverride(description="The file"))
    of = overridden(SCHEMA, declared, saying(Pattern("*", "*"), path=pinned("/a")), saying(READ, path=pinned("/b")))
    assert sent(of, limit=1) == {"path": "/b", "limit": 1}


# --- what cannot be expressed ----------------------------------------------------------------------------------------

ENTANGLED: list[JsonObject] = [
    {**SCHEMA, "anyOf": [{"properties": {"path": {"const": "/a"}}}, {"required": ["limit"]}]},
    {**SCHEMA, "oneOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"required": ["path"]}}},
    {**SCHEMA, "if": {"properties": {"path": {"const": "/a"}}}, "then": {"required": ["verbose"]}},
    {**SCHEMA, "not": {"properties": {"path": {"const": "/a"}}}},
    {**SCHEMA, "allOf": [{"additionalProperties": False, "properties": {"path": {}, "limit": {}}}]},
    {**SCHEMA, "anyOf": [{"$ref": "https://elsewhere.test/x"}]},
    {**SCHEMA, "dependentSchemas": {"path": {"required": ["verbose"]}}},
    {**SCHEMA, "dependencies": {"path": {"required": ["verbose"]}}},
    {**SCHEMA, "properties": {**dict(SCHEMA["properties"]), "limit": {"$ref": "#/properties/path"}}},  # type: ignore[arg-type]
    {**SCHEMA, "properties": {**dict(SCHEMA["properties"]), "path": {"$anchor": "p"}}},  # type: ignore[arg-type]
    {**SCHEMA, "const": {"path": "/srv"}},
    {"$ref": "#/$defs/whole", "$defs": {"whole": SCHEMA}},
    {"allOf": [SCHEMA]},
]


@pytest.mark.behaviour("overrides.unfit_is_closed")
@pytest.mark.parametrize(
    "schema", ENTANGLED, ids=[json.dumps({k: s[k] for k in s if k not in SCHEMA}) for s in ENTANGLED]
)
@pytest.mark.parametrize("declared", [True, False])
def test_a_pin_that_a_schema_cannot_express_closes_the_tool(schema: JsonObject, declared: bool) -> None:
    found = verdict(overridden(schema, saying(declared=declared, path=pinned("/srv"))))
    assert isinstance(found, LockedTool)
    assert found.status is (LockStatus.DISABLED_BY_CONFIG if declared else LockStatus.DISABLED_BY_USER)


@pytest.mark.behaviour("overrides.unfit_is_closed")
def test_a_pin_of_what_the_tool_does_not_take_closes_it_and_a_patterns_does_not() -> None:
    schema: JsonObject = {"type": "object", "properties": {"dir": {}}}
    assert isinstance(verdict(overridden(schema, saying(path=pinned("/srv")))), LockedTool)
    assert isinstance(verdict(overridden(schema, saying(Pattern("*", "*"), path=pinned("/srv")))), OpenTool)


@pytest.mark.behaviour("overrides.misspelled_argument_is_closed")
@each_case("key", ["read", "dev:read", "github:read", "dev~github:read", "mcp:dev~github:read"])
@each_case("argument", [pinned("/srv"), ArgumentOverride(hide=True)])
@each_case("room", [{}, {"additionalProperties": True}, {"additionalProperties": False}])
def test_an_exact_name_that_fixes_what_the_tool_does_not_declare_closes_it_like_a_full_id(
    key: str, argument: ArgumentOverride, room: JsonObject
) -> None:
    about = parse_target(key, DEV)
    assert not isinstance(about, BadId)
    of = overridden(
        {"type": "object", "properties": {"root": {}}, **room}, saying(about, declared=True, rooot=argument)
    )
    found = verdict(of)
    assert isinstance(found, LockedTool)
    assert found.reason == UnusableOverride(READ, is_operators=True)
    assert isinstance(sent(of, root="/etc"), str)


@pytest.mark.behaviour("overrides.misspelled_argument_is_closed", "overrides.pin_does_not_evaporate")
@pytest.mark.parametrize("key", ["rea*", "dev:*", "github:rea[d]"])
def test_a_pattern_with_wildcards_that_fixes_what_the_tool_does_not_declare_leaves_it_open(key: str) -> None:
    about = parse_target(key, DEV)
    assert not isinstance(about, BadId)
    of = overridden({"type": "object", "properties": {"root": {}}}, saying(about, rooot=pinned("/srv")))
    assert sent(of, root="/etc") == {"root": "/etc", "rooot": "/srv"}


def test_what_is_required_cannot_be_hidden_without_a_value() -> None:
    shape = override_tool(with_schema(SCHEMA), {"path": ArgumentOverride(hide=True)}, frozenset())
    assert shape is not None
    why = "the tool requires it, so it cannot be hidden without a value: pin it"
    assert shape.inapplicable == (InapplicableOverride("path", why, locks_tool=True),)


def test_words_for_a_parameter_that_is_not_there_close_nothing() -> None:
    of = overridden(SCHEMA, saying(path=pinned("/srv"), nope=ArgumentOverride(description="x", default=freeze_json(1))))
    assert sent(of, limit=1) == {"path": "/srv", "limit": 1}
    found = verdict(of)
    assert isinstance(found, OpenTool)
    assert found.overridden_tool is not None
    assert [unfit.parameter for unfit in found.overridden_tool.inapplicable] == ["nope"]


def test_a_branch_that_only_requires_what_is_always_sent_is_satisfied() -> None:
    of = overridden({**SCHEMA, "anyOf": [{"required": ["path"]}, {"required": ["verbose"]}]}, ALL_BUT_HIDDEN)
    assert seen(of)["anyOf"] == [{}, {"required": ["verbose"]}]
    assert sent(of) == {"path": "/srv", "limit": 10}


ALL_BUT_HIDDEN = saying(path=pinned("/srv"), limit=ArgumentOverride(default=freeze_json(10)))


def test_what_depends_on_a_pinned_argument_is_required_and_a_bound_counts_what_is_put_in() -> None:
    schema: JsonObject = {**SCHEMA, "dependentRequired": {"path": ["verbose"], "limit": ["path"]}, "maxProperties": 2}
    of = overridden(schema, ALL_BUT_HIDDEN)
    assert {key: seen(of).get(key) for key in ("required", "dependentRequired", "maxProperties")} == {
        "required": ["verbose"],
        "dependentRequired": {"limit": []},
        "maxProperties": 1,
    }


def test_definitions_that_only_a_pinned_parameter_used_are_gone_and_others_stay() -> None:
    of = overridden(
        {
            "properties": {"path": {"$ref": "#/$defs/file"}, "to": {"$ref": "#/$defs/place"}},
            "$defs": {"file": {"$ref": "#/$defs/name"}, "name": {}, "place": {"type": "string"}, "spare": {}},
        },
        saying(path=pinned("/srv")),
    )
    assert seen(of) == {
        "properties": {"to": {"$ref": "#/$defs/place"}},
        "$defs": {"place": {"type": "string"}, "spare": {}},
    }


def test_words_beside_a_reference_are_read_in_old_dialects_too() -> None:
    old: JsonObject = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"path": {"$ref": "#/definitions/p"}},
        "definitions": {"p": {}},
    }
    worded = saying(path=ArgumentOverride(description="A path"))
    assert seen(overridden(old, worded))["properties"] == {
        "path": {"allOf": [{"$ref": "#/definitions/p"}], "description": "A path"}
    }
    new = {key: value for key, value in old.items() if key != "$schema"}
    assert seen(overridden(new, worded))["properties"] == {"path": {"$ref": "#/definitions/p", "description": "A path"}}


def test_a_schema_of_any_shape_or_depth_breaks_nothing() -> None:
    deep: Json = {"required": ["path"]}
    for _ in range(5_000):
        deep = {"allOf": [deep]}
    hostile: list[JsonObject] = [
        {**SCHEMA, "allOf": [deep]},
        {"properties": {"path": 1, "limit": None}, "required": "path", "allOf": {}, "not": [], "$ref": 7},
        {"properties": []},
        {"properties": {"path": False}},
        {**SCHEMA, "anyOf": [{"$ref": "#"}], "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {**SCHEMA, "anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#/$defs/a"}}},
    ]
    for schema in hostile:
        assert isinstance(verdict(overridden(schema, ALL)), OpenTool | LockedTool)


# --- a pinned value is never told ------------------------------------------------------------------------------------


@pytest.mark.behaviour("overrides.pin_never_told", "overrides.pin_cannot_be_sent", "overrides.provider_untouched")
@given(schemas, st.dictionaries(parameters, secrets, min_size=1), st.dictionaries(parameters, values))
def test_a_pinned_value_reaches_the_server_and_nobody_else(
    schema: JsonObject, pins: Mapping[str, Json], arguments: JsonObject
) -> None:
    row = Override(DEV, Pattern("*", "*"), arguments={name: pinned(value) for name, value in pins.items()})
    of = overridden(schema, row)
    found = verdict(of)
    trail = explain(of.catalogue, of.policy, View(ME), READ)
    ended = admit(replace(call("read"), arguments=arguments), resolve(of.catalogue, of.policy, View(ME)), valid)
    assert SECRET not in repr((found, trail, row))
    if isinstance(found, OpenTool):
        assert SECRET not in json.dumps(dict(found.visible_tool.spec.input_schema))
        assert not pins.keys() & dict(found.visible_tool.spec.input_schema)["properties"].keys()  # type: ignore[union-attr]
    match ended:
        case AdmittedCall(done):
            unsent = pins.keys() - done.arguments.keys()
            assert done.arguments == {**arguments, **{name: pins[name] for name in pins.keys() - unsent}}
            assert not pins.keys() & arguments.keys()
            assert not unsent or schema.get("additionalProperties") is False or schema.get("maxProperties") == 0
            assert valid(with_schema(schema), done.arguments) == ()
        case BadArguments() | LockedToolRefusal():
            assert SECRET not in refusal_text(ended)
        case _:
            pytest.fail(f"{ended!r}")


@given(schemas, st.dictionaries(parameters, values, min_size=1), st.dictionaries(parameters, values))
def test_what_the_shown_schema_takes_the_servers_own_takes_with_what_is_put_in(
    schema: JsonObject, pins: JsonObject, arguments: JsonObject
) -> None:
    """With values that fit by themselves, the schema that callers see says neither more nor less than the server's."""
    own = with_schema(schema)
    shape = override_tool(own, {name: pinned(value) for name, value in pins.items()}, frozenset())
    if shape is None or not shape.is_applicable or shape.removed_names & arguments.keys():
        return
    alone = {name: dict(schema["properties"]).get(name, {}) for name in shape.pins}  # type: ignore[arg-type]
    if valid(with_schema({"properties": alone}), {name: pin.value for name, pin in shape.pins.items()}):
        return
    whole = fill_arguments(shape, arguments)
    assert (valid(shape.tool, arguments) == ()) == (valid(own, whole) == ())


def test_the_text_of_an_override_shows_no_pin() -> None:
    row = saying(path=pinned(SECRET))
    assert SECRET not in repr(row)
    assert SECRET not in str(merge_overrides(READ, [row]))
