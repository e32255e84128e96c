"""What a model is shown of a function's parameters, and what the function gets for the arguments that it sends."""

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import Field
from tests.tools.shapes import Branch, Forecast, Level, Node, Options, Place, Trip, Unit

from pegboard.tools import BadArgumentsError, NotAToolError, ToolContext, describe_function
from pegboard.tools.parameters import parameters_of

CONTEXT = ToolContext(toolset="mine")


def schema_of(function: Callable[..., object]) -> Any:
    return parameters_of(function).schema


def property_of(function: Callable[..., object], name: str = "value") -> Any:
    return schema_of(function)["properties"][name]


def given(function: Callable[..., object], **arguments: object) -> dict[str, object]:
    places, names = parameters_of(function).parse(json.dumps(arguments).encode(), CONTEXT)
    assert places == []
    return names


def text(value: str) -> None: ...
def number(value: float) -> None: ...
def whole(value: int = 3) -> None: ...
def maybe(value: Optional[str] = None) -> None: ...  # noqa: UP045 - as many write it
def either(value: Union[int, str]) -> None: ...  # noqa: UP007 - as many write it
def choice(value: Literal["a", "b"] = "a") -> None: ...
def unit(value: Unit) -> None: ...
def level(value: Level = Level.LOW) -> None: ...
def many(value: list[int]) -> None: ...
def pair(value: tuple[int, str]) -> None: ...
def table(value: dict[str, float]) -> None: ...
def unlike(value: set[int]) -> None: ...
def day(value: datetime.date) -> None: ...
def money(value: Decimal) -> None: ...
def anything(value) -> None: ...  # type: ignore[no-untyped-def]
def bounded(value: Annotated[int, Field(ge=1, le=10)]) -> None: ...
def place(value: Place) -> None: ...
def model(value: Forecast) -> None: ...
def typed(value: Options) -> None: ...
def nested(value: Trip) -> None: ...
def tree(value: Node) -> None: ...
def grown(value: Branch) -> None: ...


@pytest.mark.behaviour("python.schema_from_signature")
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (text, {"type": "string"}),
        (number, {"type": "number"}),
        (whole, {"type": "integer", "default": 3}),
        (maybe, {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}),
        (either, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (choice, {"enum": ["a", "b"], "type": "string", "default": "a"}),
        (unit, {"$ref": "#/$defs/Unit"}),
        (level, {"$ref": "#/$defs/Level", "default": 1}),
        (many, {"type": "array", "items": {"type": "integer"}}),
        (table, {"type": "object", "additionalProperties": {"type": "number"}}),
        (unlike, {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (day, {"type": "string", "format": "date"}),
        (anything, {}),
        (bounded, {"type": "integer", "minimum": 1, "maximum": 10}),
        (place, {"$ref": "#/$defs/Place"}),
    ],
)
def test_each_annotation_has_its_schema(function: Callable[..., object], expected: object) -> None:
    assert property_of(function) == expected


@pytest.mark.behaviour("python.schema_from_signature")
def test_only_what_has_no_default_is_required_and_nothing_else_is_taken() -> None:
    def search(query: str, limit: int = 10, *, exact: bool = False) -> None: ...

    assert schema_of(search) == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> str:
        return ""

    assert schema_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_types_by_name_are_described_once_and_without_titles_that_repeat_their_names() -> None:
    assert schema_of(nested)["$defs"] == {
        "Place": {
            "type": "object",
            "description": "Somewhere on earth.",
            "properties": {"city": {"type": "string"}, "country": {"type": "string", "default": "NO"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "Trip": {
            "type": "object",
            "properties": {
                "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
                "options": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "required": ["stops"],
            "additionalProperties": False,
        },
    }
    assert "title" in schema_of(model)["$defs"]["Forecast"]["properties"]


def test_a_typed_dictionary_tells_which_of_its_members_must_be_there() -> None:
    assert schema_of(typed)["$defs"]["Options"]["required"] == ["verbose"]
    assert given(typed, value={"verbose": True}) == {"value": {"verbose": True}}


@pytest.mark.behaviour("python.schema_from_signature")
def test_a_typed_dictionary_may_hold_others_and_itself() -> None:
    assert schema_of(grown)["$defs"] == {
        "Branch": {
            "type": "object",
            "description": "Part of a tree.",
            "properties": {
                "name": {"type": "string"},
                "place": {"$ref": "#/$defs/Spot"},
                "branches": {"type": "array", "items": {"$ref": "#/$defs/Branch"}},
            },
            "required": ["name", "branches"],
            "additionalProperties": False,
        },
        "Spot": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "on": {"$ref": "#/$defs/Branch"}},
            "required": ["x"],
            "additionalProperties": False,
        },
    }
    sent = {"name": "a", "branches": [{"name": "b", "branches": [], "place": {"x": 1}}]}
    assert given(grown, value=sent) == {"value": sent}
    with pytest.raises(BadArgumentsError) as raised:
        given(grown, value={"name": "a", "branches": [{"name": "b", "branches": 7}]})
    assert raised.value.problems == ("value.branches[0].branches: Input should be a valid array",)


@pytest.mark.behaviour("python.arguments_instantiated")
@pytest.mark.parametrize(
    ("function", "sent", "expected"),
    [
        (unit, "celsius", Unit.CELSIUS),
        (level, 2, Level.HIGH),
        (pair, [1, "a"], (1, "a")),
        (unlike, [1, 2], {1, 2}),
        (day, "2026-01-31", datetime.date(2026, 1, 31)),
        (money, "1.50", Decimal("1.50")),
        (place, {"city": "Oslo"}, Place("Oslo")),
        (nested, {"stops": [{"city": "Bergen"}]}, Trip([Place("Bergen")])),
        (model, {"day": "2026-01-31", "high": 2}, Forecast(day=datetime.date(2026, 1, 31), high=2)),
        (tree, {"name": "a", "children": [{"name": "b"}]}, Node(name="a", children=[Node(name="b")])),
    ],
)
def test_a_function_gets_what_its_annotations_say(
    function: Callable[..., object], sent: object, expected: object
) -> None:
    assert given(function, value=sent) == {"value": expected}


def test_defaults_come_as_they_were_written_also_those_that_are_no_json() -> None:
    marker = object()

    def odd(value: Any = marker, copy: int = 1, model_fields: str = "x") -> None: ...

    assert given(odd) == {"value": marker, "copy": 1, "model_fields": "x"}
    assert "default" not in property_of(odd)


@pytest.mark.behaviour("python.arguments_checked")
def test_all_that_does_not_fit_is_told_by_its_place() -> None:
    def plan(trip: Trip, days: Annotated[int, Field(le=10)]) -> None: ...

    with pytest.raises(BadArgumentsError) as refused:
        given(plan, trip={"stops": [{"city": 5}]}, days=11, more=True)
    assert refused.value.problems == (
        "trip.stops[0].city: Input should be a valid string",
        "days: Input should be less than or equal to 10",
        "more: Extra inputs are not permitted",
    )


def test_of_very_many_problems_the_first_are_told() -> None:
    with pytest.raises(BadArgumentsError) as refused:
        given(many, value=["x"] * 1000)
    assert len(refused.value.problems) == 11
    assert refused.value.problems[-1] == "and more"


@pytest.mark.behaviour("python.descriptions")
def test_descriptions_come_from_the_docstring_in_whichever_manner_and_from_annotations_first() -> None:
    def google(city: str, days: int = 1) -> None:
        """Tell the weather.

        Args:
            city: The city,
                in English.
            days (int): How many.
        """

    def numpy(city: str, days: int = 1) -> None:
        """Tell the weather.

        Parameters
        ----------
        city : str
            The city, in English.
        days : int, optional
            How many.
        """

    def sphinx(city: str, days: int = 1) -> None:
        """Tell the weather.

        :param city: The city, in English.
        :param days: How many.
        """

    def annotated(
        city: Annotated[str, "The city, in English."], days: Annotated[int, Field(description="How many.")] = 1
    ) -> None:
        """Tell the weather.

        Args:
            city: Something else.
        """

    for function in (google, numpy, sphinx, annotated):
        told = {name: shown["description"] for name, shown in schema_of(function)["properties"].items()}
        assert told == {"city": "The city, in English.", "days": "How many."}
        assert describe_function(function).spec.description == "Tell the weather."


@pytest.mark.behaviour("python.context")
@pytest.mark.parametrize("kind", [ToolContext, ToolContext | None, Annotated[ToolContext, "not shown"]])
def test_the_context_is_given_and_not_shown(kind: Any) -> None:
    def work(text: str, context: ToolContext) -> None: ...

    work.__annotations__["context"] = kind
    assert list(schema_of(work)["properties"]) == ["text"]
    assert given(work, text="a") == {"text": "a", "context": CONTEXT}


def test_parameters_that_are_given_by_place_come_in_their_order() -> None:
    def move(a: int, b: int, /, c: int, context: ToolContext) -> None: ...

    assert parameters_of(move).parse(b'{"c":3,"b":2,"a":1}', CONTEXT) == ([1, 2], {"c": 3, "context": CONTEXT})


def variable(*names: str) -> None: ...
def keyed(**more: int) -> None: ...
def callback(then: Callable[[int], int]) -> None: ...
def unknown(value: "NeverImported") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def twice(one: ToolContext, two: ToolContext) -> None: ...


@pytest.mark.behaviour("python.unfit_functions_told")
@pytest.mark.parametrize(
    ("function", "what"),
    [
        (variable, "*names cannot be described to a model. Write a parameter of its own, such as a list or a dict."),
        (keyed, "**more cannot be described to a model. Write a parameter of its own, such as a list or a dict."),
        (
            callback,
            "then: its type cannot be written as JSON (Cannot generate a JsonSchema for core_schema.CallableSchema). "
            "Use plain types, Literal, Enum, dataclasses, TypedDict or Pydantic models.",
        ),
        (
            unknown,
            "the annotation 'NeverImported' is not known when the program runs. Import it outside of TYPE_CHECKING.",
        ),
        (twice, "one and two are both the context. Keep one."),
    ],
)
def test_what_no_model_can_call_is_refused_with_its_place_and_a_way_out(
    function: Callable[..., object], what: str
) -> None:
    with pytest.raises(NotAToolError) as refused:
        describe_function(function)
    line = function.__code__.co_firstlineno
    assert str(refused.value) == f"test_parameters.py:{line}: {function.__name__}: {what}"
