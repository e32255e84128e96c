"""A function as a tool, from its description to the result that a client gets."""

import json
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from pydantic import Base64Bytes
from tests.tools.shapes import Forecast, Node, Options, Place

from pegboard.core.model.tool import ToolSpec
from pegboard.tools import NotAToolError, ToolContext, describe_function, metadata_of, tool
from pegboard.tools.context import Secrets, ToolCancelledError
from pegboard.tools.function import BadResultError
from pegboard.tools.metadata import ToolMetadata

pytestmark = pytest.mark.anyio


async def result(function: Callable[..., object], arguments: bytes = b"{}") -> Any:
    return json.loads(await describe_function(function).call(arguments))


def text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def greeting(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name} ✓\n"


def nothing() -> None: ...


def unannotated():  # type: ignore[no-untyped-def]
    return {"a": [1, None]}


def bare_list():  # type: ignore[no-untyped-def]
    return [1, 2]


def count() -> int:
    return 3


def perhaps() -> int | None:
    return None


def places() -> list[Place]:
    return [Place("Oslo")]


def one_place() -> Place:
    return Place("Oslo")


@dataclass
class Branch:
    twigs: "list[Branch]" = field(default_factory=list)


def branch() -> Branch:
    return Branch([Branch()])


def node() -> Node:
    return Node(name="a", children=[Node(name="b")])


def options() -> Options:
    return {"verbose": True}


def flags() -> dict[str, bool]:
    return {"on": True}


@pytest.mark.behaviour("python.results")
@pytest.mark.parametrize(
    ("function", "text", "structured"),
    [
        (unannotated, '{"a":[1,null]}', {"a": [1, None]}),
        (bare_list, "[1,2]", None),
        (count, "3", {"result": 3}),
        (perhaps, "null", {"result": None}),
        (places, '[{"city":"Oslo","country":"NO"}]', {"result": [{"city": "Oslo", "country": "NO"}]}),
        (one_place, '{"city":"Oslo","country":"NO"}', {"city": "Oslo", "country": "NO"}),
        (branch, '{"twigs":[{"twigs":[]}]}', {"twigs": [{"twigs": []}]}),
        (
            node,
            '{"name":"a","children":[{"name":"b","children":[]}]}',
            {"name": "a", "children": [{"name": "b", "children": []}]},
        ),
        (options, '{"verbose":true}', {"verbose": True}),
        (flags, '{"on":true}', {"on": True}),
    ],
)
async def test_a_result_is_text_and_an_object_where_there_is_one(
    function: Callable[..., object], text: str, structured: object
) -> None:
    expected: dict[str, object] = {"content": [text_block(text)]}
    if structured is not None:
        expected["structuredContent"] = structured
    assert await result(function) == expected


@pytest.mark.behaviour("python.results")
async def test_a_text_is_told_as_it_is_and_nothing_as_nothing() -> None:
    assert await result(greeting, b'{"name":"Ada"}') == {"content": [text_block("Hello Ada ✓\n")]}
    assert await result(nothing) == {"content": []}


@pytest.mark.behaviour("python.results")
@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (greeting, None),
        (nothing, None),
        (unannotated, None),
        (count, {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}),
        (
            one_place,
            {
                "type": "object",
                "description": "Somewhere on earth.",
                "properties": {"city": {"type": "string"}, "country": {"type": "string", "default": "NO"}},
                "required": ["city"],
            },
        ),
        (
            branch,
            {
                "type": "object",
                "properties": {"twigs": {"type": "array", "items": {"$ref": "#/$defs/Branch"}}},
                "$defs": {
                    "Branch": {
                        "type": "object",
                        "properties": {"twigs": {"type": "array", "items": {"$ref": "#/$defs/Branch"}}},
                    }
                },
            },
        ),
        (
            places,
            {
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Place"}}},
                "required": ["result"],
                "$defs": {
                    "Place": {
                        "type": "object",
                        "description": "Somewhere on earth.",
                        "properties": {"city": {"type": "string"}, "country": {"type": "string", "default": "NO"}},
                        "required": ["city"],
                    }
                },
            },
        ),
    ],
)
def test_the_output_schema_is_that_of_the_annotation(function: Callable[..., object], schema: object) -> None:
    told = describe_function(function).spec.output_schema
    assert (None if told is None else dict(told)) == schema


async def test_a_result_unlike_its_annotation_is_refused_in_words() -> None:
    def wrong() -> int:
        return "three"  # type: ignore[return-value]

    def wrong_inside() -> Place:
        return Place(city=5)  # type: ignore[arg-type]

    def wrong_within() -> list[Place]:
        return [Place(city="Oslo", country=5)]  # type: ignore[arg-type]

    def wrong_among() -> list[int]:
        return [1, "2"]  # type: ignore[list-item]

    def untellable() -> Any:
        return object()

    ran = "The tool ran, and gave back a value of type"
    for function, what in (
        (wrong, "str where its annotation says int."),
        (wrong_inside, "Place, in which 'city' is of type int where its annotation says str."),
        (wrong_within, "list, in which 'country' is of type int where its annotation says str."),
        (wrong_among, "list, in which one is of type str where its annotation says int."),
        (untellable, "object that cannot be written as JSON."),
    ):
        with pytest.raises(BadResultError) as raised:
            await result(function)
        assert str(raised.value) == f"{ran} {what}"


@pytest.mark.behaviour("python.results")
async def test_a_number_that_json_lacks_is_refused_where_its_schema_has_no_place_for_it() -> None:
    def ratio() -> dict[str, float]:
        return {"a": 1.5, "b": math.nan}

    def at_most() -> float:
        return math.inf

    def perhaps() -> list[float | None]:
        return [1.5, None, math.nan]

    refused = (
        "The tool ran, and gave back a number that JSON does not have (nan or an infinity). Its author can annotate "
        "the result as float | None, and it is null then."
    )
    for function in (ratio, at_most):
        with pytest.raises(BadResultError) as raised:
            await result(function)
        assert str(raised.value) == refused
    assert (await result(perhaps))["structuredContent"] == {"result": [1.5, None, None]}


@pytest.mark.behaviour("python.results")
async def test_bytes_are_told_as_text_that_says_how_or_the_function_is_no_tool() -> None:
    @dataclass
    class Picture:
        name: str
        content: bytes

    def bare() -> bytes:
        return b"\xff"

    def inside() -> list[Picture]:
        return []

    def encoded() -> Base64Bytes:
        return b"\xff"

    for function in (bare, inside):
        with pytest.raises(NotAToolError, match=f"{function.__name__}: it gives back bytes, which JSON cannot hold"):
            describe_function(function)
    assert (await result(encoded))["structuredContent"] == {"result": "/w=="}


async def test_async_functions_run_on_the_loop_and_others_beside_it() -> None:
    here = threading.get_ident()

    async def on_the_loop() -> bool:
        await anyio.lowlevel.checkpoint()
        return threading.get_ident() == here

    def beside_it() -> bool:
        return threading.get_ident() == here

    assert (await result(on_the_loop))["structuredContent"] == {"result": True}
    assert (await result(beside_it))["structuredContent"] == {"result": False}


async def test_methods_and_callable_objects_are_tools_too() -> None:
    @dataclass
    class Adder:
        by: int

        def add(self, to: int) -> int:
            """Add."""
            return to + self.by

        async def __call__(self, to: int) -> int:
            return to + self.by

    assert (await result(Adder(2).add, b'{"to":1}'))["structuredContent"] == {"result": 3}
    assert (await result(Adder(2), b'{"to":1}'))["structuredContent"] == {"result": 3}
    assert describe_function(Adder(2)).spec.name == "Adder"


@pytest.mark.behaviour("python.marks")
def test_a_mark_says_more_and_a_manifest_has_the_last_word() -> None:
    @tool(name="forecast", title="Weather", description="Ask.", read_only=True, open_world=False)
    def weather(city: str) -> Forecast:
        """Own words."""
        raise NotImplementedError

    spec = describe_function(weather).spec
    assert (spec.name, spec.title, spec.description) == ("forecast", "Weather", "Ask.")
    assert spec.annotations is not None
    assert dict(spec.annotations) == {"readOnlyHint": True, "openWorldHint": False}
    named = describe_function(weather, name="other", description="The manifest's.").spec
    assert (named.name, named.description) == ("other", "The manifest's.")


@pytest.mark.behaviour("python.marks")
def test_a_bare_mark_changes_nothing_and_a_function_stays_a_function() -> None:
    @tool
    def hello() -> str:
        """Say hello."""
        return "hello"

    assert hello() == "hello"
    assert metadata_of(hello) == ToolMetadata()
    assert describe_function(hello).spec == ToolSpec(
        "hello",
        description="Say hello.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    )


def yields() -> Any:
    yield 1


async def yields_later() -> Any:
    yield 1


@pytest.mark.behaviour("python.unfit_functions_told")
@pytest.mark.parametrize(
    ("thing", "what"),
    [
        (5, "it is of type int, and no function."),
        (Place, "it is a class. Name a function, or an instance that can be called."),
        (yields, "it yields. Return a list, and tell of the way there by the context's progress."),
        (yields_later, "it yields. Return a list, and tell of the way there by the context's progress."),
        (lambda: 1, "'<lambda>' cannot be a tool's name. Use 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'."),
    ],
)
def test_what_is_no_function_to_be_called_is_refused(thing: Any, what: str) -> None:
    with pytest.raises(NotAToolError) as refused:
        describe_function(thing)
    assert refused.value.what == what


@pytest.mark.behaviour("python.context")
def test_secrets_are_had_by_name_and_shown_to_nobody() -> None:
    context = ToolContext(secrets=Secrets({"KEY": "s3cret"}))
    assert context.secrets["KEY"] == "s3cret"
    assert (len(context.secrets), list(context.secrets)) == (1, ["KEY"])
    assert "s3cret" not in repr(context)
    with pytest.raises(KeyError, match=r"'OTHER' is not set\. Name it under `secrets` in toolset"):
        context.secrets["OTHER"]


@pytest.mark.behaviour("python.context")
def test_a_context_tells_whoever_listens_and_stops_when_nobody_waits() -> None:
    class Ear:
        def __init__(self) -> None:
            self.heard: list[object] = []
            self.is_cancelled = False

        def progress(self, done: float, total: float | None, words: str | None) -> None:
            self.heard.append((done, total, words))

        def log(self, level: str, message: str) -> None:
            self.heard.append((level, message))

    ear = Ear()
    context = ToolContext(_listener=ear)
    context.progress(1, 2, "half")
    context.log("careful", "warning")
    context.stop_if_cancelled()
    ear.is_cancelled = True
    with pytest.raises(ToolCancelledError):
        context.stop_if_cancelled()
    assert ear.heard == [(1, 2, "half"), ("warning", "careful")]
