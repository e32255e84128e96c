"""Values that a program writes out for a tool: what the tool refuses for certain is told before anything runs."""

import ast
from itertools import product

import jsonschema_rs
import pytest
from tests.prompts.stubs.specs import tool_id

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.sandbox import Program, ProgramProblem, SandboxFunction
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.render import HEADER, module_stubs
from pegboard.providers.sandbox.checks.arguments import find_literal_mismatches
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.prelude import prepare_program

from .hosts import Answers, opened

pytestmark = pytest.mark.anyio

FILTER: JsonObject = {
    "type": "object",
    "properties": {"published_from": {"type": "integer"}, "kind": {"enum": ["novel", "poem"]}},
}
LINE: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["sku"],
    "additionalProperties": False,
}
NULL: JsonObject = {"type": "null"}
TAKES: JsonObject = {
    "type": "object",
    "$defs": {"Filter": FILTER, "Line": LINE},
    "properties": {
        "by": {"enum": ["shelf", "author", "title", "year"]},
        "level": {"enum": [1, 2, 3]},
        "filter": {"$ref": "#/$defs/Filter"},
        "other": {"anyOf": [{"$ref": "#/$defs/Filter"}, NULL]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "text": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "many": {"enum": [f"v{n}" for n in range(30)]},
        "maybe": {"anyOf": [{"enum": ["asc", "desc"]}, NULL]},
        "free": {"anyOf": [{"enum": ["a"]}, {"type": "string"}]},
        "open": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": True},
        "of": {"type": "number"},
        "both": {"allOf": [{"properties": {"first": {}}}, {"properties": {"firsts": {}}}]},
    },
}
GIVES: JsonObject = {
    "type": "object",
    "properties": {"body": {"type": "string"}, "by": {"type": "string"}, "level": {"type": "integer"}, "x": {}},
}
SPEC = ToolSpec("find", input_schema=TAKES, output_schema=GIVES)


def functions() -> tuple[SandboxFunction, ...]:
    named = ProgramNames.of([tool_id("find")]).function_of(tool_id("find"))
    assert named is not None
    [stub] = module_stubs([(named, SPEC)])
    return (SandboxFunction("lib", "find", stub.text, input_schema=TAKES),)


def said(argument: str) -> Program:
    head = "x = 'bok'; r = await lib.find(); b = {'t': 'a', 'l': 2}\n"
    return Program(f"{head}await lib.find({argument})", functions(), HEADER)


BY = 'which takes "shelf", "author", "title" or "year"'
TWENTY = ", ".join(f'"v{n}"' for n in range(20))
WRONG: tuple[tuple[str, int, list[str]], ...] = (
    ("by='shelv'", 2, [f'`find`: "shelv" is no value of `by`, {BY}. Did you mean "shelf"?']),
    ("by='zzz'", 2, [f'`find`: "zzz" is no value of `by`, {BY}.']),
    ("by=1", 2, [f"`find`: `1` is no value of `by`, {BY}."]),
    ("\nby=\n'zzz'", 4, [f'`find`: "zzz" is no value of `by`, {BY}.']),
    ("level=5", 2, ["`find`: `5` is no value of `level`, which takes 1, 2 or 3."]),
    ("level=-1", 2, ["`find`: `-1` is no value of `level`, which takes 1, 2 or 3."]),
    ("level=True", 2, ["`find`: `True` is no value of `level`, which takes 1, 2 or 3."]),
    (
        "filter={'publishd_from': 1900}",
        2,
        ['There is no key "publishd_from" in `filter` of `find`. Did you mean "published_from"?'],
    ),
    (
        "filter={'kind': 'nove'}",
        2,
        ['`find`: "nove" is no value of `filter["kind"]`, which takes "novel" or "poem". Did you mean "novel"?'],
    ),
    ("filter={'published_from': '1900'}", 2, ['`find`: `filter["published_from"]` takes `int`, not "1900".']),
    ("filter={'published_from': f'{x}'}", 2, ['`find`: `filter["published_from"]` takes `int`, not a text.']),
    (
        "other={'publishd_from': 1}",
        2,
        ['There is no key "publishd_from" in `other` of `find`. Did you mean "published_from"?'],
    ),
    (
        "lines=[{'sku': 'a'}, {'skuu': 'b'}]",
        2,
        [
            'There is no key "skuu" in `lines[1]` of `find`. Did you mean "sku"?',
            '`lines[1]` of `find` needs the key "sku".',
        ],
    ),
    (
        "lines=[{'sku': str(i), 'm': i} for i in range(3)]",
        2,
        ['There is no key "m" in `lines[…]` of `find`. It takes "sku", "n".'],
    ),
    (
        "many='w'",
        2,
        [f'`find`: "w" is no value of `many`, which takes {TWENTY} and 10 more.'],
    ),
    ("maybe='up'", 2, ['`find`: "up" is no value of `maybe`, which takes "asc", "desc" or `None`.']),
    ("tags=['a', 1]", 2, ["`find`: `tags[1]` takes `str`, not `1`."]),
    ("by=x", 1, [f'`find`: "bok" is no value of `by`, {BY}.']),
)
RIGHT = (
    *("by='year'", "level=2", "level=2.0", "filter={'published_from': 1900, 'kind': 'poem'}", "filter={'whatever': 1}"),
    *("other=None", "other={}", "lines=[{'sku': 'a'}]", "lines=[]", "text=r.get('body')", "by=r.get('by')"),
    *("level=r.get('level')", "level=int('2')", "maybe=None", "maybe='asc'", "free='zzz'", "open={'nam': 1}"),
    *("text=f'{1}'", "tags=('a', 'b')", "filter={**b}", "filter={'kind': 'x', **b}", "by='sh' + 'elf'"),
    *("by=r['by'] if r else 'nope'", "tags=[r.get('body')]", "tags=[t for t in r]", "filter=b", "lines=[b]", "of=5"),
    *("of=5.0", "filter={'published_from': 5.0}", "lines=[dict(b, sku='a')]", "text=r.get('x')", "tags=list(r)"),
    *("by=max(['shelf', 'year'])", "text=b['t']", "level=b.get('l', 1)", "lines=[{x: 1, 'sku': 'a'}]", "tags=[*r]"),
    *("both={'first': 1, 'firsts': 2}", "both={'firsts': 2}", "filter={'kind': 'x', 'kind': 'poem'}", "of=True + 1"),
)


@pytest.mark.behaviour("code.checked_values")
async def test_what_a_tool_surely_refuses_is_told_with_line_and_what_it_takes() -> None:
    async with opened() as sandbox:
        found = {code: await sandbox.check(said(code)) for code, _, _ in WRONG}
    assert found == {code: tuple(ProgramProblem(line, each) for each in told) for code, line, told in WRONG}


@pytest.mark.behaviour("code.checked_values")
async def test_what_a_tool_may_take_is_not_told() -> None:
    async with opened() as sandbox:
        told = {code: found for code in RIGHT if (found := await sandbox.check(said(code)))}
    assert told == {}


@pytest.mark.behaviour("code.checked_values")
async def test_the_full_python_tells_the_same_and_runs_nothing() -> None:
    sandbox = FullSandbox()
    found = {code: await sandbox.check(said(code)) for code, _, _ in WRONG}
    assert found == {code: tuple(ProgramProblem(line, each) for each in told) for code, line, told in WRONG}
    assert {code: told for code in RIGHT if (told := await sandbox.check(said(code)))} == {}
    assert await sandbox.check(said("text=5, tags='a', filter=[]")) == (
        ProgramProblem(2, "`find`: `text` takes `str`, not `5`."),
        ProgramProblem(2, '`find`: `tags` takes `list`, not "a".'),
        ProgramProblem(2, "`find`: `filter` takes `dict`, not a `list`."),
    )


PLAIN: tuple[Json, ...] = (None, True, False, 0, 1, 2, 1.0, 1.5, -1, "", "a", "b")
LISTS: list[Json] = [[], ["a"], [1, "a"], [{"a": 1}], [{"b": 1}, 2]]
OBJECTS: list[Json] = [
    {},
    {"a": 1},
    {"a": "x"},
    {"b": 1},
    {"a": 1, "b": [1]},
    {"a": None},
    {"a": {"a": 1}},
    {"a": {"b": "x"}},
]
VALUES = (*PLAIN, *LISTS, *OBJECTS)
PARTS: tuple[Json, ...] = (
    True,
    {},
    {"type": "string"},
    {"type": ["integer", "null"]},
    {"type": "number"},
    {"enum": ["a", 1, None]},
    {"const": True},
    {"const": "b"},
    {"type": "array", "items": {"type": "string"}},
    {"items": {"enum": [1, "a"]}},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": {"enum": ["x", 1]}}, "additionalProperties": False},
    {"properties": {"b": {"type": "array"}}, "additionalProperties": {"type": "integer"}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
    {"$ref": "#/$defs/Self"},
    {"$ref": "#/$defs/None"},
    {"$ref": "elsewhere"},
    {"enum": []},
    {"type": "no such"},
)


def schemas() -> tuple[Json, ...]:
    found = [*PARTS]
    for first, second in product(PARTS, repeat=2):
        for key in ("allOf", "anyOf", "oneOf"):
            both: JsonObject = {key: [first, second]}
            found.append(both)
    return tuple(found)


@pytest.mark.behaviour("code.checked_values")
def test_nothing_is_told_of_what_the_schema_takes() -> None:
    own: JsonObject = {"properties": {"a": {"$ref": "#/$defs/Self"}, "b": {"type": "integer"}}}
    told = 0
    texts = [f"lib.find(by={value!r})" for value in VALUES]
    read = [
        (value, parse_program(f"import lib\n{text}", functions())) for value, text in zip(VALUES, texts, strict=True)
    ]
    assert [ast.literal_eval(repr(each)) for each in VALUES] == [*VALUES]
    for schema in schemas():
        whole: JsonObject = {"$defs": {"Self": own}, "properties": {"by": schema}}
        try:
            validator = jsonschema_rs.validator_for(whole)
        except ValueError:  # what cannot be checked is the server's to refuse
            validator = None
        for value, program in read:
            found = find_literal_mismatches(program, (SandboxFunction("lib", "find", input_schema=whole),), kinds=True)
            told += bool(found)
            if found and validator is not None:
                assert not validator.is_valid({"by": value}), (schema, value, found)
    assert told > 5_000


@pytest.mark.behaviour("code.checked_values")
def test_a_schema_or_a_program_without_end_takes_no_time() -> None:
    deep: Json = {"$ref": "#/$defs/A"}
    whole: JsonObject = {"$defs": {"A": {"anyOf": [deep] * 40}, "B": {"$ref": "#/$defs/B"}}, "properties": {"by": deep}}
    for code in ("lib.find(by='a')", f"lib.find(by={'[' * 90}{']' * 90})", f"lib.find(by={[{'a': 1}] * 5_000!r})"):
        frame = prepare_program(Program(f"await {code}", functions()))
        program = parse_program(frame.text, frame.functions)
        assert find_literal_mismatches(program, (SandboxFunction("lib", "find", input_schema=whole),), kinds=True) == ()


@pytest.mark.behaviour("code.checked_values")
async def test_what_passes_as_a_list_is_one_for_the_tool() -> None:
    host = Answers()
    async with opened() as sandbox:
        await sandbox.run(said("tags=('a', 'b')"), host)
    assert host.calls[-1][2] == {"tags": ["a", "b"]}
