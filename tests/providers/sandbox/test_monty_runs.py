"""Programs in real Monty workers: what they call, print, answer and raise."""

import json

import anyio
import pytest

from pegboard.ports.sandbox import (
    CallFailure,
    HostReply,
    Program,
    ProgramFailure,
    ProgramProblem,
    RunResult,
    SandboxFunction,
    SandboxLimits,
    UnawaitedCall,
)

from .hosts import Answers, ended, opened, program

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("code.program")
async def test_a_program_calls_functions_under_their_modules_prints_and_answers_with_its_last_line() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "a = await srv.echo(x=[1, {'b': None}])\nprint('é', a)\n{'sum': a[0] + 1}", host)
    assert ran == RunResult({"sum": 2}, "é [1, {'b': None}]\n")
    assert host.calls == [(1, "echo", {"x": [1, {"b": None}]})]
    assert "".join(host.said) == ran.stdout


async def test_a_module_may_be_imported_in_every_way_that_python_has() -> None:
    code = (
        "import srv\nimport srv as other\nfrom srv import echo as say\nf = other.echo\n[await say(x=1), await f(x=2)]"
    )
    async with opened() as sandbox:
        assert await ended(sandbox, code) == RunResult([1, 2])


async def test_a_function_that_stands_alone_takes_arguments_by_their_order() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "f = alone\n[await f(1, y=2), await alone(3, 4)]", host)
    assert ran == RunResult([1, 3])
    assert host.calls == [(1, "alone", {"x": 1, "y": 2}), (2, "alone", {"x": 3, "y": 4})]


@pytest.mark.behaviour("code.program")
async def test_the_first_line_may_be_an_import_from_the_future() -> None:
    async with opened() as sandbox:
        assert await ended(sandbox, "# why\nfrom __future__ import annotations\nawait srv.echo(x=2)") == RunResult(2)
        checked = await sandbox.check(program("from __future__ import annotations, division\nx: int = 1\nx"))
    assert checked == ()


@pytest.mark.behaviour("code.gather")
async def test_gathered_calls_run_at_the_same_time() -> None:
    host = Answers()
    code = "import asyncio\nawait asyncio.gather(*[srv.meet(of=5, x=i) for i in range(5)])"
    async with opened() as sandbox:
        # Each waits for the others: one after the other they would wait for ever.
        assert await ended(sandbox, code, host) == RunResult([0, 1, 2, 3, 4])
    assert sorted(host.calls) == [(count + 1, "meet", {"of": 5, "x": count}) for count in range(5)]


async def test_functions_of_the_program_that_await_calls_are_gathered_too() -> None:
    code = """\
import asyncio
async def twice(i):
    first = await srv.meet(of=3, x=i)
    return [first, await srv.echo(x=first * 10)]
await asyncio.gather(*(twice(i) for i in range(3)))"""
    async with opened() as sandbox:
        assert await ended(sandbox, code) == RunResult([[0, 0], [1, 10], [2, 20]])


@pytest.mark.behaviour("code.limits")
async def test_no_more_calls_run_at_the_same_time_than_the_limit() -> None:
    host = Answers()
    # The first three wait for one another, so none of the others can have come before.
    code = "import asyncio\nawait asyncio.gather(*[srv.meet(of=3) for i in range(20)])"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host, SandboxLimits(concurrency=3))
    assert ran.error is None
    assert (len(host.calls), host.most_at_once) == (20, 3)


@pytest.mark.behaviour("code.errors")
async def test_an_error_has_its_type_its_message_and_the_line_of_the_programs_own_code() -> None:
    code = "def inner(d):\n    return d['key']\n\n\nprint('before')\ninner({})"
    async with opened() as sandbox:
        assert await ended(sandbox, code) == RunResult(None, "before\n", error=ProgramFailure("KeyError", "key", 2))
        assert (await ended(sandbox, "x = (1,\n")).error == ProgramFailure(
            "SyntaxError", "unexpected EOF while parsing", 2
        )
        assert (await ended(sandbox, "\n\nnobody(1)")).error == ProgramFailure(
            "NameError", "name 'nobody' is not defined", 3
        )
        assert (await ended(sandbox, "nobody")).error == ProgramFailure("NameError", "name 'nobody' is not defined", 1)


@pytest.mark.behaviour("code.errors")
async def test_what_a_call_raises_can_be_caught_by_its_type() -> None:
    code = """\
try:
    await srv.fail(type='PermissionError', message='not "you"\\n  File "/etc/passwd", line 1')
except PermissionError as error:
    print(error)
await srv.fail(type='no such type', message='x')"""
    async with opened() as sandbox:
        ran = await ended(sandbox, code)
    assert ran == RunResult(
        None, 'not "you"\n  File "/etc/passwd", line 1\n', error=ProgramFailure("RuntimeError", "x", 5)
    )


@pytest.mark.parametrize("type_", ["SystemExit", "KeyboardInterrupt", "BaseException", "", "__import__('os')"])
async def test_no_call_raises_what_programs_do_not_catch(type_: str) -> None:
    code = f"try:\n    await srv.fail(type={type_!r}, message='m')\nexcept Exception as error:\n    x = str(error)\nx"
    async with opened() as sandbox:
        assert await ended(sandbox, code) == RunResult("m")


async def test_what_breaks_in_the_host_is_raised_by_the_run() -> None:
    async with opened() as sandbox:
        with pytest.raises(LookupError, match="the host is broken"):
            await sandbox.run(program("try:\n    await srv.break_down()\nexcept BaseException:\n    pass"), Answers())
        assert await ended(sandbox, "1") == RunResult(1)


@pytest.mark.behaviour("code.program")
async def test_a_call_without_await_is_not_made_and_is_told_so() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "x = 1\nsrv.echo(x=x)\nx", host)
    assert ran == RunResult(1, unawaited_calls=(UnawaitedCall("srv.echo", 2),))
    assert host.calls == []


@pytest.mark.behaviour("code.left_out")
async def test_a_call_that_is_left_over_beside_others_takes_no_result_away() -> None:
    host = Answers()
    code = "ahead = srv.echo(x=0)\nfor n in (1, 2):\n    x = await ahead\n    ahead = srv.echo(x=n)\nx"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host)
    assert ran == RunResult(1, unawaited_calls=(UnawaitedCall("srv.echo", 4),))
    assert len(host.calls) == 2


@pytest.mark.behaviour("code.plain_json")
@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("C()", "srv_x is of type C, which is not JSON; send plain values: None, bool, int, float, str, list, dict"),
        ("len", "srv_x is of type len, which is not JSON"),
        (
            "{'when': [datetime.date(2026, 1, 1)]}",
            "srv_x['when'][0] is of type date, which is not JSON; use .isoformat()",
        ),
        ("float('inf')", "srv_x is inf, which JSON does not have"),
        ("10 ** 30", "srv_x is an integer of more than 64 bits"),
        ("srv", "srv_x is of type ExternalModule"),
        ("{1: 2, '1': 3}", "srv_x['1'] comes twice"),
    ],
)
async def test_only_plain_values_reach_a_call(argument: str, why: str) -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, f"import datetime\nclass C: pass\nawait srv.echo(x={argument})", host)
    assert ran.error is not None
    assert (ran.error.type, ran.error.line) == ("TypeError", 3)
    assert ran.error.message.startswith(why.replace("srv_x", "echo(): the argument x"))
    assert host.calls == []


async def test_arguments_without_a_name_and_given_twice_are_refused_in_words() -> None:
    async with opened() as sandbox:
        by_place = await ended(sandbox, "await srv.echo(1)")
        twice = await ended(sandbox, "await alone(1, x=2)")
        too_many = await ended(sandbox, "await alone(1, 2, 3)")
    assert [each.error and each.error.message for each in (by_place, twice, too_many)] == [
        "echo() takes named arguments only: write echo(name=value, …)",
        "alone() got two values for the argument 'x'",
        "alone() takes 2 positional arguments only: write alone(name=value, …)",
    ]


@pytest.mark.behaviour("code.no_surroundings")
@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname').read()",
        "from pathlib import Path\nPath('/etc/hostname').read_text()",
        "import os\nos.listdir('/')",
        "import os\nos.environ['PATH']",
        "import os\nos.getenv('PATH')",
        "import os\nos.system('true')",
        "import socket",
        "import subprocess",
    ],
)
async def test_there_are_no_files_no_network_and_no_environment(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code)
    assert ran.result is None
    assert ran.error is not None


@pytest.mark.parametrize("name", ["", "a.b", "a b", "class", "_private", "é", "x\nimport os", "1st", "a-b"])
def test_only_plain_names_become_words_of_a_program(name: str) -> None:
    with pytest.raises(ValueError, match="not names that a Python program can say"):
        SandboxFunction("srv", name)


async def test_a_stub_is_never_run_and_a_broken_one_does_not_hide_its_function() -> None:
    evil = SandboxFunction("srv", "echo", "print('from the stub')\nimport os\nasync def (")
    async with opened() as sandbox:
        asked = Program("await srv.echo(x=1)", (evil,), "raise SystemExit(")
        assert await sandbox.check(asked) == ()
        assert await sandbox.run(asked, Answers()) == RunResult(1)


async def test_runs_side_by_side_do_not_see_each_other() -> None:
    hosts = [Answers() for _ in range(6)]
    ran: list[RunResult] = []
    async with opened(workers=3) as sandbox:

        async def one(number: int) -> None:
            ran.append(await ended(sandbox, f"x = {number}\ny = await srv.echo(x=x)\nprint(x)\n[x, y]", hosts[number]))

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(one, number)
        after = await ended(sandbox, "x")
    assert sorted(ran, key=lambda each: each.stdout) == [RunResult([count, count], f"{count}\n") for count in range(6)]
    assert after.error == ProgramFailure("NameError", "name 'x' is not defined", 1)


@pytest.mark.behaviour("code.fallback")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import heapq", "No module named 'heapq'"),
        ("from dataclasses import asdict", "cannot import name 'asdict' from 'dataclasses'"),
        ("class A(Exception): pass", "This Python does not support class inheritance and metaclasses."),
        ("import asyncio\nasyncio.create_task", "module 'asyncio' has no attribute 'create_task'"),
        ("callable(1)", "name 'callable' is not defined"),
        ("import re\nre.sub('a', lambda m: 'b', 'a')", "callable replacement is not yet supported in re.sub()"),
        (
            "(5).bit_length()",
            "'int' object has no attribute 'bit_length'. This Python has not all methods, and none as a value: call "
            "`x.bit_length(…)` in a lambda, or do without.",
        ),
    ],
)
async def test_what_this_python_lacks_is_told_from_what_is_wrong(code: str, message: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code)
    assert ran.error is not None
    assert (ran.error.message, ran.error.is_unsupported) == (message, True)


@pytest.mark.behaviour("code.fallback")
@pytest.mark.parametrize(
    "code", ["import no_such_thing", "[].no_such", "no_such", "raise NotImplementedError('later')", "1/0"]
)
async def test_what_is_wrong_in_any_python_is_not_lacking(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code)
    assert ran.error is not None
    assert not ran.error.is_unsupported


async def test_an_answer_may_be_deep_and_may_hold_half_of_a_character() -> None:
    class Odd(Answers):
        async def _reply(self, ordinal: int, *_: object) -> HostReply:
            if ordinal == 1:
                return json.loads("[" * 400 + "]" * 400)  # type: ignore[no-any-return]
            return {"\ud800": ["a\udfffb"]} if ordinal == 2 else CallFailure("ValueError", "c\ud800d")

    code = """\
deep = await srv.echo(x=1)
odd = await srv.echo(x=2)
try:
    await srv.echo(x=3)
except ValueError as error:
    said = str(error)
[len(str(deep)), odd, said]"""
    async with opened() as sandbox:
        assert await ended(sandbox, code, Odd()) == RunResult([800, {"\ufffd": ["a\ufffdb"]}, "c\ufffdd"])


def test_values_of_the_contract_are_compared_as_a_whole() -> None:
    assert ProgramProblem(1, "x") == ProgramProblem(1, "x")
    assert CallFailure("ValueError", "x") != CallFailure("ValueError", "y")
