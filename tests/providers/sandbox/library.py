"""A server of books for programs in tests, with stubs made of its schemas, and what it answers."""

from collections.abc import Mapping

from tests.prompts.stubs.specs import tool_id

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.sandbox import CallFailure, HostReply, Program, SandboxFunction
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.render import HEADER, module_stubs

NUMBER: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
TEXTS: JsonObject = {"type": "array", "items": TEXT}
BOOK: JsonObject = {
    "type": "object",
    "properties": {"id": NUMBER, "title": TEXT, "author": TEXT, "year": NUMBER, "tags": TEXTS},
    "required": ["id", "title", "author", "year"],
}
FOUND: JsonObject = {
    "type": "object",
    "properties": {"books": {"type": "array", "items": BOOK}, "total": NUMBER},
    "required": ["books", "total"],
}
STORED: JsonObject = {"type": "object", "properties": {"ok": {"type": "boolean"}, "bytes": NUMBER}, "required": ["ok"]}


def _takes(**properties: Json) -> JsonObject:
    return {"type": "object", "properties": properties}


FILTER: JsonObject = {
    **_takes(published_from=NUMBER, published_to=NUMBER, shelf={"enum": ["fiction", "science", "history", "art"]}),
    "additionalProperties": False,
}
BY: JsonObject = {"enum": ["shelf", "author", "title", "year"]}
SPECS = (
    ToolSpec("search_books", input_schema=_takes(query=TEXT, filter=FILTER, limit=NUMBER, by=BY), output_schema=FOUND),
    ToolSpec("get_book", input_schema={**_takes(id=NUMBER), "required": ["id"]}, output_schema=BOOK),
    ToolSpec("status", input_schema=_takes(id=NUMBER)),
    ToolSpec("rows", input_schema=_takes(n=NUMBER)),
    ToolSpec(
        "put",
        input_schema={**_takes(text=TEXT, items=TEXTS, level={"enum": [1, 2, 3]}), "required": ["text"]},
        output_schema=STORED,
    ),
    ToolSpec("fail", input_schema=_takes(m=TEXT)),
)


def program(code: str) -> Program:
    names = ProgramNames.of([tool_id(each.name, "library") for each in SPECS])
    named = [(names.function_of(tool_id(each.name, "library")), each) for each in SPECS]
    stubs = module_stubs((each, spec) for each, spec in named if each is not None)
    takes = {each.name: each.input_schema for each in SPECS}
    functions = (
        SandboxFunction(
            each.function.module, each.function.function, each.text, input_schema=takes[each.function.function]
        )
        for each in stubs
    )
    return Program(code, tuple(functions), HEADER)


class Library:
    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        match function.name, dict(arguments):
            case "search_books", given:
                count = given.get("limit", 10)
                assert isinstance(count, int)
                return {"books": [_book(each) for each in range(count)], "total": 10}
            case "get_book", {"id": int() as id}:
                return _book(id)
            case "status", _:
                return "ok"
            case "rows", _:
                return '[{"a": 0}, {"a": 1}]'
            case "put", _:
                return {"ok": True}
            case _:
                return CallFailure("RuntimeError", "bad")

    def on_output(self, text: str) -> None:
        pass

    def set_idle(self, is_so: bool) -> None:
        pass


def _book(id: int) -> Json:
    return {"id": id, "title": f"T{id}", "author": f"A{id % 3}", "year": 1900 + id * 10, "tags": ["x"]}
