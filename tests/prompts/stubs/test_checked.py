"""Stubs before the real type check: right programs pass, also those that build what they send; wrong ones do not."""

from collections.abc import AsyncIterator

import anyio
import pytest
from tests.prompts.stubs.specs import tool_id

from pegboard.core.json.values import JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.ports.sandbox import Program, SandboxFunction
from pegboard.prompts.stubs.names import ProgramNames
from pegboard.prompts.stubs.render import HEADER, module_stubs
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

pytestmark = pytest.mark.anyio

ITEM: JsonObject = {
    "type": "object",
    "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["sku"],
}
NODE: JsonObject = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["name", "kids"],
}
USER: JsonObject = {
    "type": "object",
    "properties": {"login": {"type": "string"}, "name": {"type": ["string", "null"]}},
    "required": ["login", "name"],
}
NOTHING: JsonObject = {"type": "object", "properties": {}}
SPECS = (
    ToolSpec(
        "create",
        description="Creates.",
        input_schema={
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "items": {"type": "array", "items": ITEM},
                "nums": {"type": "array", "items": {"type": "number"}},
                "where": ITEM,
                "class": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "maybe": {"type": ["string", "null"]},
            },
            "required": ["title"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "user": USER,
                "rows": {"type": "array", "items": ITEM},
                "user-id": {"type": "integer"},
            },
            "required": ["id", "user", "rows"],
        },
    ),
    ToolSpec("text", input_schema=NOTHING),
    ToolSpec("tree", input_schema=NOTHING, output_schema={"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}),
    ToolSpec(
        "either",
        input_schema=NOTHING,
        output_schema={
            "anyOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}},
                {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}},
            ]
        },
    ),
)
RIGHT = (
    "r = await github.create(title='x')\nprint(r['id'], r['user']['login'].upper(), r['user-id'])",
    "for state in ['open', 'closed']:\n    await github.create(title='x', state=state)",
    "items = []\nfor i in range(3):\n    items.append({'sku': str(i)})\nawait github.create(title='x', items=items)",
    "rows = [{'sku': str(i), 'n': i} for i in range(3)]\nawait github.create(title='x', items=rows)",
    "item = {'sku': 'a'}\nitem['n'] = 3\nawait github.create(title='x', where=item)",
    "nums = [1, 2, 3]\nawait github.create(title='x', nums=nums)",
    "await github.create(title='x', class_='y', maybe=None, tags=['a'])",
    "import json\ntext = await github.text()\njson.loads(text)['x']",
    "import asyncio\nrs = await asyncio.gather(*[github.create(title=t) for t in 'abc'])\n[r['id'] for r in rs]",
    "import asyncio\na, b = await asyncio.gather(github.text(), github.create(title='x'))\n[a.upper(), b['id']]",
    "t = await github.tree()\ndef walk(n):\n    return [n['name']] + [x for k in n['kids'] for x in walk(k)]\nwalk(t)",
    "e = await github.either()\nprint(e['y'] if e['kind'] == 'b' else e['x'])",
    "r = await github.create(title='x')\nmax(r['rows'], key=lambda row: row['n'])['sku']",
    "r = await github.create(title='x')\nawait github.create(title='y', items=r['rows'], where=r['rows'][0])",
    "from github import create\n(await create(title='x'))['id']",
    "given = {'title': 'x', 'tags': ['a']}\nawait github.create(**given)",
)
WRONG = (
    ("r = github.create(title='x')\nprint(r['id'])", "`await` is missing"),
    ("print(github.text().upper())", "`await` is missing"),
    ("await github.create(titel='x')", "has no argument `titel`"),
    ("await github.create()", "needs the argument `title`"),
    ("await github.create(title=1)", "expected `str`"),
    ("await github.create(title='x', tags='a')", "expected `list[str]`"),
    ("await github.create('x')", "takes named arguments"),
    ("await github.crate(title='x')", "has no function `crate`"),
    ("r = await github.create(title='x')\nr['idd']", 'There is no key "idd"'),
    ("r = await github.create(title='x')\nr['user']['logn']", 'There is no key "logn"'),
    ("t = await github.tree()\nt['kids'][0]['nam']", 'There is no key "nam"'),
    ("e = await github.either()\ne['z']", 'There is no key "z"'),
)


@pytest.fixture
async def monty() -> AsyncIterator[MontySandbox]:
    sandbox = MontySandbox(workers=1)
    try:
        yield sandbox
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()


def functions() -> tuple[SandboxFunction, ...]:
    names = ProgramNames.of([tool_id(spec.name) for spec in SPECS])
    named = [(names.function_of(tool_id(spec.name)), spec) for spec in SPECS]
    stubs = module_stubs((each, spec) for each, spec in named if each is not None)
    return tuple(SandboxFunction(stub.function.module, stub.function.function, stub.text) for stub in stubs)


@pytest.mark.behaviour("code.stubs_are_checked")
async def test_right_programs_pass_the_check(monty: MontySandbox) -> None:
    given = functions()
    with anyio.fail_after(60):
        found = {code: await monty.check(Program(code, given, HEADER)) for code in RIGHT}
    assert {code: complaints for code, complaints in found.items() if complaints} == {}


@pytest.mark.behaviour("code.stubs_are_checked")
async def test_wrong_programs_are_told_what_is_wrong(monty: MontySandbox) -> None:
    given = functions()
    with anyio.fail_after(60):
        found = {code: await monty.check(Program(code, given, HEADER)) for code, _ in WRONG}
    assert [code for code, told in WRONG if not any(told in each.message for each in found[code])] == []
