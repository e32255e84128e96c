"""Stubs: what schemas say, as Python's types say it."""

import ast
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.prompts.stubs.specs import gives, is_what_was_meant, specs, stub, takes, texts, tool_id

from pegboard.core.json.values import JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.render import HEADER, MAX_STUB_LENGTH, function_line, module_stubs
from pegboard.prompts.stubs.values import argument_names, to_tool_names


def signature(spec: ToolSpec) -> str:
    (function,) = (node for node in ast.parse(stub(spec)).body if isinstance(node, ast.AsyncFunctionDef))
    return f"({ast.unparse(function.args)}) -> {ast.unparse(function.returns or ast.Constant(None))}"


def text(source: str) -> str:
    return dedent(source).strip()


@pytest.mark.behaviour("code.stubs")
def test_a_tool_is_an_async_function_whose_arguments_are_named() -> None:
    spec = ToolSpec(
        "create_issue",
        description="Creates an issue.",
        input_schema={
            "type": "object",
            "properties": {
                "body": {"type": "string"},
                "title": {"type": "string", "description": "In a few words."},
                "labels": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["title"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "user": {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]},
            },
            "required": ["number", "user"],
        },
    )
    assert stub(spec) == text(
        '''
        class CreateIssueResult(TypedDict):
            number: int
            user: CreateIssueResultUser

        class CreateIssueResultUser(TypedDict):
            login: str

        async def create_issue(*, title: str, body: str = ..., labels: list[str] = ...) -> CreateIssueResult:
            """Creates an issue.
            title: In a few words.
            """
        '''
    )


@pytest.mark.behaviour("code.stubs")
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int | None"),
        ({"enum": ["open", "closed"]}, "Literal['open', 'closed']"),
        ({"enum": [1, 2.5]}, "float"),
        ({"const": True}, "Literal[True]"),
        ({"enum": ["a", None]}, "Literal['a', None]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, "list[list[bool]]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list[str | int]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str"),
        ({"$ref": "#/$defs/Name", "$defs": {"Name": {"type": "string"}}}, "str"),
        ({"$ref": "#/nowhere"}, "Any"),
        ({"$ref": "http://elsewhere/schema"}, "Any"),
        ({}, "Any"),
        ({"type": "nonsense"}, "Any"),
        ({"anyOf": [{"type": "string"}, {}]}, "Any"),
    ],
)
def test_what_a_tool_gives_back_has_the_type_that_its_schema_says(schema: JsonObject, told: str) -> None:
    assert signature(gives(schema)) == f"() -> {told}"


@pytest.mark.behaviour("code.stubs")
@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"enum": ["open", "closed"]}, "Literal['open', 'closed'] | str"),
        ({"type": "array", "items": {"type": "number"}}, "Sequence[float]"),
        ({"type": "array", "items": {"enum": ["a"]}}, "Sequence[Literal['a'] | str]"),
        ({"type": "object", "properties": {"x": {"type": "integer"}}}, "GoA | dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, Any]"),
    ],
)
def test_what_a_tool_takes_may_be_built_piece_by_piece(schema: JsonObject, told: str) -> None:
    assert signature(takes({"a": schema}, "a")) == f"(*, a: {told}) -> str"


@pytest.mark.behaviour("code.stubs")
def test_a_tool_without_an_output_schema_gives_a_text() -> None:
    assert signature(takes({})) == "() -> str"


@pytest.mark.behaviour("code.stubs")
def test_a_tool_that_takes_whatever_it_is_given_says_so() -> None:
    assert signature(ToolSpec("go")) == "(**others: Any) -> str"
    assert signature(takes({"a": {"type": "string"}}, additionalProperties=True)) == (
        "(*, a: str=..., **others: Any) -> str"
    )


@pytest.mark.behaviour("code.stubs")
def test_ways_of_calling_a_tool_are_told_together() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "oneOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"properties": {"c": {}}}],
    }
    assert signature(ToolSpec("go", input_schema=schema)) == "(*, a: str, c: Any=..., b: int=...) -> str"


@pytest.mark.behaviour("code.stubs")
def test_an_object_may_hold_itself() -> None:
    tree: JsonObject = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "required": ["name"],
    }
    assert stub(gives({"$ref": "#/$defs/Node", "$defs": {"Node": tree}})) == text(
        """
        class Node(TypedDict):
            name: str
            children: NotRequired[list[Node]]

        async def go() -> Node: ...
        """
    )


@pytest.mark.behaviour("code.stubs")
def test_an_object_that_extends_itself_leaves_room_for_what_comes_after_it() -> None:
    endless: JsonObject = {"allOf": [{"$ref": "#/$defs/Endless"}], "properties": {"a": {"type": "integer"}}}
    schema: JsonObject = {
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/Endless"}, "second": {"type": "string"}},
        "$defs": {"Endless": endless},
    }
    assert stub(gives(schema)) == text(
        """
        class GoResult(TypedDict):
            first: NotRequired[Endless]
            second: NotRequired[str]

        class Endless(TypedDict):
            a: NotRequired[int]

        async def go() -> GoResult: ...
        """
    )


@pytest.mark.behaviour("code.stubs")
def test_what_may_be_one_of_several_objects_has_the_keys_of_all() -> None:
    one: JsonObject = {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}}
    other: JsonObject = {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}}
    one["required"] = other["required"] = ["kind"]
    assert stub(gives({"anyOf": [one, other, {"type": "null"}]})) == text(
        """
        class GoResult(TypedDict):
            kind: Literal['a'] | Literal['b']
            x: NotRequired[int]
            y: NotRequired[str]

        async def go() -> GoResult | None: ...
        """
    )


@pytest.mark.behaviour("code.stubs")
def test_an_object_with_keys_that_nobody_names_can_be_asked_for_any() -> None:
    assert signature(gives({"type": "object", "properties": {"a": {}}, "additionalProperties": True})) == (
        "() -> dict[str, Any]"
    )


@pytest.mark.behaviour("code.stubs")
def test_keys_that_python_cannot_write_as_names_stay_what_they_are() -> None:
    spec = gives({"type": "object", "properties": {"user-id": {"type": "integer"}, "class": {"type": "string"}}})
    assert stub(spec) == text(
        """
        GoResult = TypedDict('GoResult', {'user-id': NotRequired['int'], 'class': NotRequired['str']})

        async def go() -> GoResult: ...
        """
    )


@pytest.mark.behaviour("code.stubs")
def test_arguments_that_python_cannot_write_have_another_name_and_reach_the_tool_by_their_own() -> None:
    keys = ("user-id", "class", "2nd", "from", "user.id", "plain", "é", "__x")
    called = argument_names(keys)
    assert called == {
        "user-id": "user_id_dbd618",
        "class": "class_",
        "2nd": "n_2nd",
        "from": "from_",
        "user.id": "user_id_955a4e",
        "plain": "plain",
        "é": "argument",
        "__x": "x",
    }
    given = {called["user-id"]: 1, "class_": 2, "plain": 3, "unknown": 4, "2nd": 5}
    assert to_tool_names(given, keys) == {"user-id": 1, "class": 2, "plain": 3, "unknown": 4, "2nd": 5}


@pytest.mark.behaviour("code.stubs_hold")
def test_no_key_takes_the_name_that_another_was_given() -> None:
    once = argument_names(["a-b", "a.b"])
    both = argument_names(["a-b", "a.b", once["a-b"], once["a.b"]])
    assert len({*both.values()}) == 4
    assert both[once["a-b"]] == once["a-b"]


@given(st.lists(texts, unique=True, max_size=8))
def test_no_two_arguments_have_one_name_and_each_leads_back(keys: list[str]) -> None:
    called = argument_names(keys)
    assert len({*called.values()}) == len(keys)
    assert to_tool_names({called[key]: key for key in keys}, keys) == {key: key for key in keys}


@pytest.mark.behaviour("code.stubs")
def test_functions_of_one_module_share_equal_types_and_no_name() -> None:
    user: JsonObject = {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]}
    other: JsonObject = {"type": "object", "properties": {"id": {"type": "integer"}}}
    ids = [tool_id(name) for name in ("get", "find", "User")]
    names = ProgramNames.of(ids)
    schemas: list[JsonObject] = [{"$ref": "#/$defs/User", "$defs": {"User": each}} for each in (user, user, other)]
    told = [(names.function_of(id), gives(schema)) for id, schema in zip(ids, schemas, strict=True)]
    written = [each.text for each in module_stubs((named, spec) for named, spec in told if named is not None)]
    assert written == [
        "class GetUser(TypedDict):\n    login: str\n\nasync def get() -> GetUser: ...",
        "async def find() -> GetUser: ...",
        "class UserUser(TypedDict):\n    id: NotRequired[int]\n\nasync def User() -> UserUser: ...",
    ]


@pytest.mark.behaviour("code.stubs_hold")
@pytest.mark.parametrize(
    "description",
    [
        'It ends."""\nimport os\nos.system("x")\n"""',
        "a\\",
        'a\\"""',
        '"',
        '""',
        '"""',
        "a\x00b",
        "a\rb",
        "\ud83d",
        "\\N{nothing}\\x\\u12",
        "# type: ignore",
        "a" * 100_000,
    ],
)
def test_no_description_breaks_out_of_its_quotes(description: str) -> None:
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "description": description}}}
    written = stub(ToolSpec("go", description=description, input_schema=schema, output_schema=schema))
    assert is_what_was_meant(written, ["go"])
    assert len(written) < MAX_STUB_LENGTH
    written.encode()


@pytest.mark.behaviour("code.stubs_hold")
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300, deadline=None)
@given(st.lists(specs, max_size=3))
def test_whatever_servers_say_stubs_are_those_functions_and_nothing_else(several: list[ToolSpec]) -> None:
    ids = [*dict.fromkeys(tool_id(spec.name) for spec in several)]
    names = ProgramNames.of(ids)
    named = [each for each in (names.function_of(id) for id in ids) if each is not None]
    by_id = {tool_id(spec.name): spec for spec in several}
    written = [*module_stubs((each, by_id[each.id]) for each in named)]
    text = "\n\n".join(each.text for each in written)
    assert is_what_was_meant(text, [each.function for each in named])
    assert all(len(each.text) <= MAX_STUB_LENGTH for each in written)
    defined = [node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)]
    assert len({*defined}) == len(defined)
    f"{HEADER}\n{text}".encode()
    for each in named:
        assert "\n" not in function_line(each, by_id[each.id])


@pytest.mark.behaviour("code.stubs_hold")
def test_of_a_schema_too_large_to_tell_less_is_told() -> None:
    wide: JsonObject = {
        f"key_{number}": {"type": "object", "properties": {f"inner_{each}": {"type": "string"} for each in range(50)}}
        for number in range(200)
    }
    written = stub(takes(wide))
    assert is_what_was_meant(written, ["go"])
    assert len(written) <= MAX_STUB_LENGTH


@pytest.mark.behaviour("code.stubs_hold")
def test_a_schema_that_names_itself_a_thousand_times_is_read_at_once() -> None:
    many: JsonObject = {
        f"d{number}": {"anyOf": [{"$ref": f"#/$defs/d{(number + k) % 40}"} for k in range(1, 20)]}
        for number in range(40)
    }
    written = stub(gives({"$ref": "#/$defs/d0", "$defs": many}))
    assert is_what_was_meant(written, ["go"])


@pytest.mark.behaviour("code.lines")
def test_a_tool_in_one_line_tells_how_it_is_called_and_what_comes_back() -> None:
    id = tool_id("list-issues")
    named = ProgramNames.of([id]).function_of(id)
    assert named is not None
    spec = ToolSpec(
        "list-issues",
        input_schema={
            "type": "object",
            "properties": {"state": {"enum": ["open", "closed"]}, "repo": {"type": "string"}},
            "required": ["repo"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "issues": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}, "title": {"type": "string"}}},
                }
            },
            "required": ["issues"],
        },
    )
    assert function_line(named, spec) == (
        "await github.list_issues(*, repo: str, state: Literal['open', 'closed'] = ...) -> "
        "{'issues': list[{'id'?: int, 'title'?: str}]}"
    )


@pytest.mark.behaviour("code.lines")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(specs)
def test_a_line_is_short_whatever_a_server_says(spec: ToolSpec) -> None:
    id = tool_id(spec.name)
    named = ProgramNames.of([id]).function_of(id)
    assert named is not None
    assert len(function_line(named, spec)) < 2_000
