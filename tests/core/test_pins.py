"""What is pinned or hidden is never a caller's to send, whatever the schema of the tool says or stops saying."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.boards import ME
from tests.core.laws import call
from tests.core.pinning import DEV, READ, overridden, pinned, saying, seen, sent, subschemas, valid, values, verdict
from tests.support.collect_failures import each_case
from tests.support.sentences import unfit_arguments

from pegboard.core.calls.call import AdmittedCall, admit
from pegboard.core.decision.resolve import LockedTool, resolve
from pegboard.core.explain.effects import HIDDEN_FROM_CALLERS, NOT_SENT_TO_SERVER, SENT_TO_SERVER, override_effects
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ToolId
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.selection import View
from pegboard.core.overrides.model import ArgumentOverride, Override, normalize_name

EVERY = Pattern("*", "*")
ROOMY: JsonObject = {"type": "object", "properties": {"dir": {"type": "string"}}}
SHUT: JsonObject = {**ROOMY, "additionalProperties": False}


@pytest.mark.behaviour("overrides.pin_does_not_evaporate")
def test_a_patterns_pin_is_sent_to_a_tool_that_stopped_naming_the_argument_but_leaves_room_for_it() -> None:
    of = overridden(ROOMY, saying(EVERY, tenant=pinned("ours")))
    assert sent(of, dir="/a") == {"dir": "/a", "tenant": "ours"}
    assert sent(of, tenant="theirs") == unfit_arguments(READ, "tenant: there is no such argument; leave it out")
    assert override_effects(of.tools[READ], of.policy)["arguments.tenant.pin"] == SENT_TO_SERVER


@pytest.mark.behaviour("overrides.pin_does_not_evaporate")
@pytest.mark.parametrize(
    "schema",
    [
        SHUT,
        {**ROOMY, "unevaluatedProperties": False},
        {"maxProperties": 0},
        {"$ref": "#/$defs/own", "$defs": {"own": SHUT}},
        {"allOf": [{"properties": {}}, SHUT]},
    ],
    ids=json.dumps,
)
def test_a_patterns_pin_is_not_sent_to_a_tool_that_takes_nothing_else(schema: JsonObject) -> None:
    of = overridden(schema, saying(EVERY, tenant=pinned("ours")))
    assert sent(of) == {}
    assert "tenant: there is no such argument; leave it out" in str(sent(of, tenant="theirs"))
    assert override_effects(of.tools[READ], of.policy)["arguments.tenant.pin"] == NOT_SENT_TO_SERVER


@pytest.mark.behaviour("overrides.pin_cannot_be_sent")
def test_what_a_pattern_hides_cannot_be_sent_to_a_tool_that_does_not_name_it() -> None:
    of = overridden(ROOMY, saying(EVERY, tenant=ArgumentOverride(hide=True)))
    assert "tenant: there is no such argument" in str(sent(of, tenant="theirs"))
    assert override_effects(of.tools[READ], of.policy)["arguments.tenant.hide"] == HIDDEN_FROM_CALLERS
    resolution = resolve(of.catalogue, of.policy, View(ME))
    ended = admit(replace(call("read"), arguments={"dir": "/a"}, raw=b'{"dir": "/a"}'), resolution, valid)
    assert isinstance(ended, AdmittedCall)
    assert ended.call.raw == b'{"dir": "/a"}'


@pytest.mark.behaviour("overrides.pin_cannot_be_sent")
@pytest.mark.parametrize("schema", [ROOMY, {"properties": {"key": {}}}], ids=["not named", "named"])
@each_case("sent_as", ["Key", "KEY", " key", "\uff4bey", "ke\u200by", "\u212aey"])
def test_another_writing_of_a_pinned_name_is_refused_too(sent_as: str, schema: JsonObject) -> None:
    of = overridden(schema, saying(EVERY, key=pinned("ours")))
    assert "there is no such argument; leave it out" in str(sent(of, **{sent_as: "theirs"}))


@pytest.mark.behaviour("overrides.pin_cannot_be_sent")
def test_an_argument_of_the_tools_own_that_is_written_like_a_pinned_one_may_be_sent() -> None:
    of = overridden({"properties": {"key": {}, "Key": {}}}, saying(EVERY, key=pinned("ours")))
    assert sent(of, Key="mine") == {"Key": "mine", "key": "ours"}


@pytest.mark.behaviour("overrides.unfit_is_closed")
def test_a_patterns_pin_closes_a_tool_whose_further_arguments_only_a_pattern_of_names_tells() -> None:
    schema: JsonObject = {**SHUT, "patternProperties": {"^t": {"type": "string"}}}
    assert isinstance(verdict(overridden(schema, saying(EVERY, tenant=pinned("ours")))), LockedTool)


@pytest.mark.behaviour("overrides.unfit_is_closed")
def test_what_a_tool_requires_without_describing_it_cannot_be_hidden_by_a_pattern() -> None:
    schema: JsonObject = {"required": ["tenant"]}
    assert isinstance(verdict(overridden(schema, saying(EVERY, tenant=ArgumentOverride(hide=True)))), LockedTool)
    of = overridden(schema, saying(EVERY, tenant=pinned("ours")))
    assert (sent(of), "required" in seen(of)) == ({"tenant": "ours"}, False)


any_case = st.sampled_from(["path", "Path", "PATH", "limit", "other", "Other", "tenant", "tenant ", "\uff54enant"])
"""Names of which some are other writings of others."""
parts = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(any_case, subschemas, max_size=3),
            "required": st.lists(any_case, max_size=2, unique=True),
            "additionalProperties": st.booleans() | subschemas,
            "patternProperties": st.dictionaries(st.sampled_from(["^t", "^Pa", "."]), subschemas, max_size=1),
            "unevaluatedProperties": st.booleans(),
            "propertyNames": st.sampled_from([{"maxLength": 5}, {"pattern": "^[a-z]*$"}]),
            "maxProperties": st.integers(0, 4),
            "minProperties": st.integers(0, 3),
            "dependentRequired": st.dictionaries(any_case, st.lists(any_case, max_size=2, unique=True), max_size=2),
            "$ref": st.just("#/$defs/shared"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(any_case, subschemas, max_size=3),
            "additionalProperties": st.booleans(),
            **{key: st.lists(inner, min_size=1, max_size=2) for key in ("allOf", "anyOf", "oneOf")},
            **dict.fromkeys(("not", "if", "then", "else"), inner),
            "dependentSchemas": st.dictionaries(any_case, inner, max_size=2),
        },
    ),
    max_leaves=4,
)
fixed = st.dictionaries(
    any_case, st.just(ArgumentOverride(hide=True)) | st.just(pinned("ours-only")), min_size=1, max_size=3
)


@pytest.mark.behaviour("overrides.pin_cannot_be_sent", "overrides.pin_does_not_evaporate")
@given(
    parts, parts, fixed, st.sampled_from([READ, EVERY]), st.dictionaries(any_case, values, max_size=3), st.booleans()
)
def test_whatever_a_schema_says_the_server_gets_the_pinned_value_or_nothing_and_never_the_callers(
    schema: JsonObject,
    shared: JsonObject,
    said: Mapping[str, ArgumentOverride],
    target: ToolId | Pattern,
    arguments: JsonObject,
    checked: bool,
) -> None:
    """Even where the gateway cannot check the schema and lets every argument through."""
    of = overridden({**schema, "$defs": {"shared": shared}}, Override(DEV, target, arguments=said))
    resolution = resolve(of.catalogue, of.policy, View(ME))
    ended = admit(replace(call("read"), arguments=arguments), resolution, valid if checked else lambda *_: ())
    if not isinstance(ended, AdmittedCall):
        return
    got = ended.call.arguments
    declared = {name for part in (schema, shared) for name in _declared(part)}
    for name, value in got.items():
        if (argument := said.get(name)) is not None:
            assert argument.pin is not None
            assert value == argument.pin.value
        elif normalize_name(name) in {normalize_name(other) for other in said}:
            assert name in declared
    assert {name: value for name, value in got.items() if name not in said} == arguments


def _declared(part: Json) -> Iterator[str]:
    """Every name that any part of a schema has."""
    if isinstance(part, dict):
        yield from part
        for inner in part.values():
            yield from _declared(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _declared(inner)
    elif isinstance(part, str):
        yield part


@pytest.mark.behaviour("overrides.pin_cannot_be_sent")
@each_case("name", ["tenant\0", "tenant\0x", "\0"])
def test_a_name_with_a_nul_is_refused_beside_a_pin_and_without_one(name: str) -> None:
    """What reads names in C would cut it there."""
    told = f"- {name!r}: no argument's name can hold a NUL; leave it out"
    assert told in str(sent(overridden(ROOMY, saying(EVERY, tenant=pinned("ours"))), **{name: "theirs"}))
    assert told in str(sent(overridden(ROOMY), **{name: "theirs"}))
