"""What a model is told of its Python is true of the version that is installed."""

import importlib

import pytest

from pegboard.providers.sandbox.prelude import MODULES, MONTY_DIALECT, PARTIAL_MODULES

from .hosts import ended, opened, program

pytestmark = pytest.mark.anyio

LACKING = {
    "class inheritance": "class A(Exception): pass",
    "yield": "def f():\n    yield 1",
    "del": "x = [1]\ndel x[0]",
    "property": "class A:\n    @property\n    def x(self): return 1",
    "classmethod": "class A:\n    @classmethod\n    def x(cls): return 1",
    "staticmethod": "class A:\n    @staticmethod\n    def x(): return 1",
    "async with": "async def f(x):\n    async with x: pass",
    "async for": "async def f(x):\n    async for y in x: pass",
    "except*": "try:\n    pass\nexcept* ValueError:\n    pass",
    "import *": "from math import *",
    "gather(return_exceptions=...)": "import asyncio\nawait asyncio.gather(return_exceptions=True)",
    "create_task": "import asyncio\nasyncio.create_task",
    "wait_for": "import asyncio\nasyncio.wait_for",
    "re.sub with a function": "import re\nre.sub('a', lambda m: 'b', 'a')",
    "next() of a generator expression": "next(x for x in [1])",
    "json.dumps(default=...)": "import json\njson.dumps({1}, default=list)",
    "asdict": "from dataclasses import asdict",
    "OrderedDict": "from collections import OrderedDict",
    "a method as a value": "sorted(['b', 'A'], key=str.lower)",
    "int.from_bytes": "int.from_bytes(b'a', 'big')",
    "bytes of a list": "bytes([1])",
    "exceptions of anything but one text": "raise ValueError('a', 'b')",
    "dir": "dir()",
    "callable": "callable(len)",
    "vars": "vars()",
    "globals": "globals()",
    "__len__": "class A:\n    def __len__(self): return 1\nlen(A())",
    "__lt__": "class A:\n    def __lt__(self, other): return True\nA() < A()",
    "dataclass(order=...)": "from dataclasses import dataclass\n@dataclass(order=True)\nclass A:\n    x: int",
    "fromtimestamp": "import datetime\ndatetime.datetime.fromtimestamp(0)",
    "isocalendar": "import datetime\ndatetime.date(2026, 1, 1).isocalendar()",
    "timedelta of fractions": "import datetime\ndatetime.timedelta(days=1.5)",
    "IOError": "IOError",
}
OTHERS = ("statistics", "string", "enum", "io", "heapq", "operator", "textwrap", "uuid")


@pytest.mark.behaviour("code.dialect")
async def test_the_modules_that_are_named_are_there_and_the_others_are_not() -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, "".join(f"import {module}\n" for module in MODULES) + "'all'")
        assert ran.result == "all"
        for module in OTHERS:
            assert module in MONTY_DIALECT
            assert (await ended(sandbox, f"import {module}")).error is not None


@pytest.mark.behaviour("code.dialect")
@pytest.mark.parametrize("module", PARTIAL_MODULES)
async def test_of_a_module_of_which_there_is_little_all_is_named_that_there_is(module: str) -> None:
    names = [name for name in dir(importlib.import_module(module)) if not name.startswith("_")]
    tried = "".join(
        f"try:\n    {module}.{name}\n    there.append({name!r})\nexcept AttributeError:\n    pass\n" for name in names
    )
    async with opened() as sandbox:
        ran = await ended(sandbox, f"import {module}\nthere = []\n{tried}there")
    assert ran.result == [*PARTIAL_MODULES[module]]


@pytest.mark.behaviour("code.dialect")
async def test_what_is_said_to_be_missing_is_missing() -> None:
    async with opened() as sandbox:
        for words, code in LACKING.items():
            assert words in MONTY_DIALECT
            ran = await ended(sandbox, code)
            assert ran.error is not None, words
            # The check may say so before, and then says that it is this Python which has it not.
            assert all(each.is_unsupported for each in await sandbox.check(program(code))), words


@pytest.mark.behaviour("code.dialect")
async def test_what_is_said_to_work_works() -> None:
    code = """\
import asyncio
from collections import Counter, defaultdict, deque, namedtuple
async def twice(x):
    return 2 * await srv.echo(x=x)
{'sums': await asyncio.gather(twice(1), twice(2)), 'most': Counter('aab').most_common(1)}"""
    async with opened() as sandbox:
        assert await sandbox.check(program(code)) == ()
        ran = await ended(sandbox, code)
    assert ran.result == {"sums": [2, 4], "most": [["a", 2]]}
