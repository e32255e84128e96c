"""Tools for the tests of stubs, plain and hostile, and what a stub may hold."""

import ast

from hypothesis import strategies as st

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ServerId, ServerKey, ToolId, ToolsetId
from pegboard.core.model.tool import ToolSpec
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.render import HEADER, module_stubs


def key(server: str, toolset: str | None = None) -> ServerKey:
    return ServerKey(ToolsetId(toolset or server), ServerId(server))


def tool_id(name: str, server: str = "github") -> ToolId:
    return ToolId(key(server), name)


def stub(spec: ToolSpec) -> str:
    """Of the only tool of a server."""
    id = tool_id(spec.name)
    named = ProgramNames.of([id]).function_of(id)
    assert named is not None
    (only,) = module_stubs([(named, spec)])
    return only.text


def takes(properties: JsonObject, *required: str, **more: Json) -> ToolSpec:
    needed: list[Json] = [*required]
    return ToolSpec("go", input_schema={"type": "object", "properties": properties, "required": needed, **more})


def gives(schema: JsonObject) -> ToolSpec:
    return ToolSpec("go", input_schema={"type": "object", "properties": {}}, output_schema=schema)


def is_what_was_meant(text: str, functions: list[str]) -> bool:
    """The functions, types for them, and nothing else: no statement, no default and no decorator that does anything."""
    body = ast.parse(f"{HEADER}\n\n{text}").body
    found = [node.name for node in body if isinstance(node, ast.AsyncFunctionDef)]
    return found == functions and all(map(_is_declared, body[2:]))


def _is_declared(node: ast.stmt) -> bool:
    match node:
        case ast.AsyncFunctionDef(body=[ast.Expr(value=ast.Constant())], decorator_list=[]):
            given = [*node.args.kw_defaults, *node.args.defaults]
            return all(each is None or (isinstance(each, ast.Constant) and each.value is ...) for each in given)
        case ast.ClassDef(bases=[ast.Name(id="TypedDict")], keywords=[], decorator_list=[]):
            return all(isinstance(each, ast.AnnAssign) and each.value is None for each in node.body)
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Name(id="TypedDict"))):
            return True
        case _:
            return False


NASTY = (
    *(
        '"""',
        "'''",
        '\\"""',
        '"',
        "\\",
        "\n",
        "\r",
        "\x00",
        "\u2028",
        "\x0c",
        "\ud800",
        "\n    import os\n",
        '")\nx = 1\n#',
    ),
    *("class", "None", "__class__", "a-b", "a b", "", "1x", "é", "ﬁ", "self", "others", "Any", "TypedDict", "#", "{}"),
)
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=20), st.lists(st.sampled_from(NASTY)).map("".join))
leaves: st.SearchStrategy[Json] = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"]).map(
        lambda kind: {"type": kind}
    ),
    st.lists(st.one_of(texts, st.integers(), st.none(), st.booleans(), st.floats(allow_nan=False)), max_size=4).map(
        lambda values: {"enum": [*values]}
    ),
    texts.map(lambda value: {"const": value}),
    st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/nowhere", "elsewhere"]).map(lambda ref: {"$ref": ref}),
    st.sampled_from([True, False, None, 3, "x", {}, {"type": ["string", "null"]}, {"type": "wrong"}, {"type": 7}]),
)


def _nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    several = st.lists(inner, max_size=3)
    members = st.dictionaries(texts, inner, max_size=4)
    return st.one_of(
        inner.map(lambda each: {"type": "array", "items": each}),
        several.map(lambda each: {"type": "array", "prefixItems": each}),
        st.tuples(members, st.lists(texts, max_size=3), texts).map(
            lambda each: {
                "type": "object",
                "properties": {**each[0]},
                "required": [*each[1]],
                "title": each[2],
                "description": each[2],
            }
        ),
        inner.map(lambda each: {"type": "object", "additionalProperties": each}),
        several.map(lambda each: {"anyOf": each}),
        several.map(lambda each: {"oneOf": each, "properties": {"x": True}}),
        several.map(lambda each: {"allOf": each}),
    )


schemas: st.SearchStrategy[Json] = st.recursive(leaves, _nested, max_leaves=12)
whole: st.SearchStrategy[JsonObject] = st.tuples(schemas, schemas, st.dictionaries(texts, schemas, max_size=4)).map(
    lambda each: {"type": "object", "properties": {**each[2]}, "$defs": {"A": each[0], "B": each[1]}}
)
specs = st.builds(
    ToolSpec,
    texts,
    description=texts,
    input_schema=whole,
    output_schema=st.one_of(st.none(), whole, schemas.filter(lambda each: isinstance(each, dict))),
)
