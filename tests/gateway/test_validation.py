"""Arguments against schemas: the keywords of JSON Schema 2020-12, compiled once; problems name the argument."""

import pytest
from tests.gateway.schemas import Compilations, of, problems, tool

from pegboard.core.calls.call import Arguments
from pegboard.core.json.values import Json
from pegboard.core.model.tool import JsonSchema
from pegboard.gateway import validation
from pegboard.gateway.validation import Validators


@pytest.mark.behaviour("admission.arguments_validated")
@pytest.mark.parametrize(
    ("schema", "fits", "fails"),
    [
        ({"type": "integer"}, 3, "3"),
        ({"type": ["integer", "null"]}, None, "3"),
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": "boolean"}, True, 1),
        ({"enum": ["open", "closed", None]}, None, "OPEN"),
        ({"const": {"x": [1]}}, {"x": [1]}, {"x": [2]}),
        ({"minimum": 1, "exclusiveMaximum": 5, "multipleOf": 0.5}, 4.5, 5),
        ({"minLength": 2, "maxLength": 3}, "äöü", "ä"),
        ({"pattern": "^[a-z]+$"}, "abc", "ABC"),
        ({"minItems": 1, "maxItems": 2, "uniqueItems": True}, [1, 2], [1, 1]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["x", 1, 2], ["x", "y"]),
        ({"contains": {"const": 7}, "minContains": 2}, [7, 1, 7], [7, 1]),
        ({"prefixItems": [True], "unevaluatedItems": False}, [1], [1, 2]),
        ({"propertyNames": {"maxLength": 3}, "minProperties": 1}, {"abc": 1}, {"abcd": 1}),
        ({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False}, {"x-a": "1"}, {"y": "1"}),
        ({"dependentRequired": {"card": ["name"]}}, {"card": 1, "name": "n"}, {"card": 1}),
        ({"dependentSchemas": {"card": {"required": ["name"]}}}, {"name": "n"}, {"card": 1}),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, 7, 3),
        ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, 4, 6),
        ({"not": {"type": "string"}}, 1, "x"),
        ({"if": {"type": "string"}, "then": {"minLength": 3}, "else": {"minimum": 3}}, "abc", 2),
        ({"allOf": [{"properties": {"x": True}}], "unevaluatedProperties": False}, {"x": 1}, {"y": 1}),
    ],
)
def test_each_keyword_lets_what_fits_and_refuses_what_does_not(schema: Json, fits: Json, fails: Json) -> None:
    assert problems(of(schema), {"a": fits}) == ()
    (problem, *_) = problems(of(schema), {"a": fails})
    assert problem.startswith("a")


def test_a_schema_may_be_a_plain_yes_or_no() -> None:
    assert problems(of(True), {"a": "anything"}) == ()
    assert problems(of(False), {"a": "anything"}) == ("a: False schema does not allow the value",)


@pytest.mark.behaviour("admission.arguments_validated")
@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"Id": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/Id"}}},
        {"definitions": {"I d/": {"type": "integer"}}, "properties": {"a": {"$ref": "#/definitions/I%20d~1"}}},
        {"$defs": {"x": {"$anchor": "Id", "type": "integer"}}, "properties": {"a": {"$ref": "#Id"}}},
        {"$defs": {"x": {"$dynamicAnchor": "Id", "type": "integer"}}, "properties": {"a": {"$dynamicRef": "#Id"}}},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "integer"}}},
        {
            "$id": "https://example.org/root",
            "$defs": {"x": {"$id": "item", "type": "integer"}},
            "properties": {"a": {"$ref": "item"}},
        },
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "integer"}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"type": "integer"}}},
    ],
)
def test_references_within_a_schema_are_followed(schema: JsonSchema) -> None:
    assert problems(schema, {"a": 1}) == ()
    assert problems(schema, {"a": "1"}) == ('a: the value is not of type "integer"',)


TREE: JsonSchema = {
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/Node"}}},
            "required": ["name"],
        }
    },
    "properties": {"root": {"$ref": "#/$defs/Node"}},
}


def test_a_schema_may_refer_to_itself() -> None:
    assert problems(TREE, {"root": {"name": "a", "children": [{"name": "b", "children": []}]}}) == ()
    assert problems(TREE, {"root": {"name": "a", "children": [{"children": []}]}}) == (
        'root.children[0]: "name" is a required property',
    )


@pytest.mark.parametrize("schema", ["http://json-schema.org/draft-07/schema#", None])
def test_a_format_is_a_remark_and_refuses_nothing(schema: str | None) -> None:
    """Servers read them more kindly: a date and time without a zone is common, and by its format it is none."""
    asked: JsonSchema = {**of({"type": "string", "format": "date-time"}), **({"$schema": schema} if schema else {})}
    assert problems(asked, {"a": "2026-01-02 10:00"}) == ()


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {}}])
def test_a_schema_that_asks_nothing_lets_everything(schema: JsonSchema) -> None:
    assert problems(schema, {"anything": [1, {"ключ": None}], "": "", "💥": 1.5}) == ()
    assert problems(schema, {}) == ()


# What a refusal says


@pytest.mark.behaviour("admission.problems_name_the_argument")
def test_every_problem_names_its_argument_and_what_was_expected() -> None:
    schema: JsonSchema = {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "state": {"enum": ["open", "closed"]},
            "filter": {"type": "object", "properties": {"any": {"items": {"properties": {"ключ": {"minimum": 3}}}}}},
            "длина см.": {"maxLength": 2},
        },
        "required": ["query", "repo"],
        "additionalProperties": False,
    }
    arguments: Arguments = {
        "query": 7,
        "limit": "many",
        "state": "ajar",
        "filter": {"any": [{}, {"ключ": 2}]},
        "длина см.": "abc",
        "extra": 1,
    }
    assert sorted(problems(schema, arguments)) == [
        '"repo" is a required property',
        "Additional properties are not allowed ('extra' was unexpected)",
        "['длина см.']: the value is longer than 2 characters",
        "filter.any[1].ключ: the value is less than the minimum of 3",
        'limit: the value fits no alternative: the value is not of type "integer"; the value is not of type "null"',
        'query: the value is not of type "string"',
        'state: the value is not one of "open" or "closed"',
    ]


def test_of_alternatives_it_is_said_what_each_asked_and_where() -> None:
    point: Json = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert problems(of({"oneOf": [point, {"type": "string"}]}), {"a": {"x": "1"}}) == (
        'a: the value fits no alternative: x: the value is not of type "integer"; the value is not of type "string"',
    )


def test_a_refusal_never_repeats_the_value() -> None:
    secret = "swordfish"
    schema: JsonSchema = {
        "properties": {"a": {"type": "integer"}, "b": {"const": 1}, "c": {"pattern": "^x$"}, "d": {"anyOf": [False]}},
        "not": {"required": ["a"]},
    }
    told = problems(schema, dict.fromkeys("abcd", secret))
    assert len(told) == 5
    assert secret not in "".join(told)


@pytest.mark.behaviour("admission.problems_name_the_argument")
def test_problems_are_few_and_short_whatever_was_sent() -> None:
    many: JsonSchema = {"properties": {f"n{n}": {"type": "integer"} for n in range(50)}}
    told = problems(many, {f"n{n}": "x" for n in range(50)})
    assert (len(told), told[-1]) == (11, "and more")
    (long,) = problems({"additionalProperties": False}, {"x" * 5000: 1})
    assert len(long) <= validation.MAX_PROBLEM_CHARS + 1
    (far,) = problems({"additionalProperties": {"type": "integer"}}, {"y" * 5000: "x"})
    assert far.startswith("y" * 120 + "…: the value is not")


@pytest.mark.behaviour("admission.problems_name_the_argument")
def test_of_an_enumeration_all_values_are_named_up_to_twenty() -> None:
    def told(count: int) -> tuple[str, ...]:
        return problems(of({"enum": [f"value number {n}" for n in range(count)]}), {"a": "ajar"})

    def named(count: int) -> list[str]:
        return [f'"value number {n}"' for n in range(count)]

    assert told(20) == (f'a: the value is not one of {", ".join(named(19))} or "value number 19"',)
    assert told(25) == (f"a: the value is not one of {', '.join(named(20))} and 5 more",)
    assert problems(of({"enum": ["ключ", 1, None]}), {"a": "x"}) == ('a: the value is not one of "ключ", 1 or null',)
    assert problems(of({"enum": ["x" * 1_000]}), {"a": "x"}) == (f'a: the value is not one of "{"x" * 59}…',)
    assert problems(of({"enum": []}), {"a": "x"}) == ("a: the value is not one of ",)
    either: Json = {"anyOf": [{"enum": [f"value number {n}" for n in range(20)]}, {"type": "null"}]}
    assert problems(of(either), {"a": "ajar"}) == (
        f'a: the value fits no alternative: the value is not one of {", ".join(named(19))} or "value number 19"; '
        'the value is not of type "null"',
    )


# Compiling


@pytest.mark.behaviour("admission.schema_compiled_once")
def test_a_schema_is_compiled_once_for_its_fingerprint_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compilations, validators = Compilations(monkeypatch), Validators()
    for n in range(100):
        again = tool(of({"type": "integer"}))  # a new value each time, of the same fingerprint
        assert bool(validators.problems(again, {"a": n if n % 2 else "x"})) is not bool(n % 2)
    assert compilations.count == 1
    validators.problems(tool(of({"type": "integer"}), description="changed"), {})
    assert compilations.count == 2


def test_nothing_is_compiled_before_a_tool_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    compilations = Compilations(monkeypatch)
    Validators()
    assert compilations.count == 0


def test_only_so_many_compiled_schemas_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_CACHED_SCHEMAS", 3)
    compilations, validators = Compilations(monkeypatch), Validators()
    for name in ("a", "b", "c", "a", "d", "a"):
        validators.problems(tool(of({"type": "integer"}), name=name), {})
    assert compilations.count == 4
    validators.problems(tool(of({"type": "integer"}), name="b"), {})
    assert (compilations.count, len(validators._checks)) == (5, 3)


def test_an_outdated_schema_is_not_what_a_changed_tool_is_checked_by() -> None:
    validators = Validators()
    assert validators.problems(tool(of({"type": "integer"})), {"a": 1}) == ()
    assert validators.problems(tool(of({"type": "string"})), {"a": 1}) != ()
    assert validators.problems(tool(of({"type": "integer"})), {"a": 1}) == ()
