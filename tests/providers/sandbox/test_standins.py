"""What has no form outside of a worker is refused as what it is, though the worker hands out a text in its place."""

import builtins
from typing import get_args

import pytest
from pydantic_monty import ExcType

from pegboard.providers.sandbox.prelude import SHADOWED_BUILTINS
from pegboard.providers.sandbox.values import stand_in_type

from .hosts import Answers, ended, opened, program

pytestmark = pytest.mark.anyio

START = """\
import asyncio, csv, functools, hashlib, itertools, math, random, re
class Own:
    def method(self): return 1
async def waits(): return 1
def own(): return 1
"""
VALUES = {
    "lambda: 1": "function",
    "own": "function",
    "waits": "function",
    "Own().method": "function",
    "math.sin": "function",
    "functools.partial(own)": "function",
    "waits()": "coroutine",
    "asyncio.sleep(1)": "coroutine",
    "asyncio.gather(waits())": "coroutine",
    "iter([1])": "iterator",
    "iter((1,))": "iterator",
    "iter({1: 1})": "iterator",
    "iter('abc')": "iterator",
    "itertools.count()": "iterator",
    "itertools.chain([1], [2])": "iterator",
    "range(3)": "range",
    "range(9, -3, -2)": "range",
    "slice(1, 2)": "slice",
    "re.compile('a')": "Pattern",
    "re.compile('a', re.I)": "Pattern",
    "re.match('a', 'a')": "Match",
    "{1: 2}.keys()": "dict_keys",
    "{1: 2}.values()": "dict_values",
    "{1: 2}.items()": "dict_items",
    "math": "module",
    "random.Random()": "object",
    "hashlib.sha256(b'a')": "object",
    "csv.reader(['a'])": "object",
}


@pytest.mark.behaviour("code.plain_json")
async def test_what_only_the_program_has_reaches_no_tool_and_no_caller_as_a_text() -> None:
    async with opened() as sandbox:
        for value, kind in VALUES.items():
            host = Answers()
            sent = await ended(sandbox, f"{START}await srv.echo(x=[{value}])", host)
            assert sent.error is not None, value
            assert sent.error.message.startswith(f"echo(): the argument x[0] is of type {kind}, which is not JSON"), (
                value
            )
            assert host.calls == []
            told = await ended(sandbox, f"{START}{{'a': {value}}}")
            assert told.error is not None, value
            assert f"result['a'] is of type {kind}, which is not JSON" in told.error.message, value


@pytest.mark.behaviour("code.plain_json")
async def test_a_call_that_was_not_awaited_is_told_as_one_where_it_would_be_sent() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "await srv.echo(x=srv.echo(x=1))", host)
    assert ran.error is not None
    assert ran.error.message.endswith("is of type coroutine, which is not JSON; did you forget `await`?")
    assert host.calls == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "<", ")", "<a>", "<b>bold</b>", "range", "range(n)", "for i in range(0, 3)", "def f(x)", "reduce(a)"),
        *("<class 'int'>", "<function f at 0x7f3a2c1b4d30>", "re.compile(x)\nre.compile('a')", "[...]", "srv.echo"),
    ],
)
def test_a_text_that_a_program_may_mean_is_a_text(text: str) -> None:
    assert stand_in_type(text) is None


@pytest.mark.behaviour("code.program")
async def test_a_comprehension_may_name_its_variable_like_any_function_of_python() -> None:
    own = [name for name in get_args(ExcType) if name in dir(builtins)]
    names = [*(name for name in dir(builtins) if name[0].islower()), *own]
    lines = [f"found.append([{name} for {name} in [7]])" for name in names]
    async with opened() as sandbox:
        ran = await ended(sandbox, "\n".join(["found = []", *lines, "found"]))
    assert ran.error is None
    assert ran.result == [[7]] * len(names)
    assert set(names) >= SHADOWED_BUILTINS


@pytest.mark.behaviour("code.errors")
@pytest.mark.parametrize("code", ["raise SystemExit(3)", "raise SystemExit(0)"])
async def test_an_exception_that_this_python_cannot_make_is_told_with_what_to_write(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code)
    assert ran.error is not None
    assert (ran.error.type, ran.error.is_unsupported) == ("RuntimeError", True)
    assert "as in `raise ValueError" in ran.error.message


@pytest.mark.behaviour("code.program")
async def test_an_exception_that_names_a_variable_can_be_caught_all_the_same() -> None:
    code = "[ValueError for ValueError in [1]]\ntry:\n    int('a')\nexcept ValueError:\n    r = 'caught'\nr"
    async with opened() as sandbox:
        assert (await ended(sandbox, code)).result == "caught"


@pytest.mark.behaviour("code.program", "code.checked")
async def test_a_name_of_python_stays_what_it_is_outside_of_the_comprehension() -> None:
    host = Answers()
    code = """\
ids = [await srv.echo(x=id) for id in [3, 4]]
most = {max: [sum for sum in [max]] for max in ids if max > 3}
[ids, most, max(ids), sum(ids), id(ids) > 0]"""
    async with opened() as sandbox:
        assert (await ended(sandbox, code, host)).result == [[3, 4], {"4": [4]}, 4, 7, True]
        assert await sandbox.check(program(code)) == ()
        assert await sandbox.check(program("id: int = 3\n[[id for id in [1]], id]")) == ()
        broken = await ended(sandbox, "[id for id in [1]]\n1 / 0")
        assert broken.error is not None
        assert broken.error.line == 2
