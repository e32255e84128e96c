"""A call without `await` is found before anything runs; what is right is never taken for one."""

import threading

import pytest

from pegboard.ports.sandbox import ProgramProblem
from pegboard.providers.sandbox.checks.missing_await import find_missing_awaits
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.prelude import prepare_program

from .hosts import ended, opened, program
from .programs_that_forget import ELSEWHERE, FORGET, RIGHT, SILENT

pytestmark = pytest.mark.anyio


def lines(code: str) -> list[int | None]:
    frame = prepare_program(program(code))
    return [frame.own_line(each.line) for each in find_missing_awaits(parse_program(frame.text, frame.functions))]


@pytest.mark.behaviour("code.await")
@pytest.mark.parametrize(("code", "where"), [*FORGET, *SILENT])
def test_a_call_that_nothing_awaits_is_found_where_it_stands(code: str, where: list[int]) -> None:
    assert lines(code) == where


@pytest.mark.behaviour("code.await")
@pytest.mark.parametrize("code", [*RIGHT, *ELSEWHERE])
def test_a_call_that_may_be_awaited_is_not_told(code: str) -> None:
    assert lines(code) == []


@pytest.mark.behaviour("code.await")
async def test_what_is_told_would_have_failed_and_what_is_right_works() -> None:
    async with opened() as sandbox:
        for code, where in (*FORGET, *SILENT):
            complaints = await sandbox.check(program(code))
            assert [each.line for each in complaints if "`await` is missing" in each.message] == where, code
        for code, _ in FORGET:
            ran = await ended(sandbox, code)
            assert ran.error is not None or ran.unawaited_calls, code
        for code in RIGHT:
            assert await sandbox.check(program(code)) == (), code
            ran = await ended(sandbox, code)
            assert (ran.error, ran.unawaited_calls) == (None, ()), code


@pytest.mark.behaviour("code.await")
@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        (
            "print(srv.echo(x=1))",
            ProgramProblem(
                1,
                "`await` is missing before `srv.echo(…)`: this is the call, not its answer. Write `await srv.echo(…)`.",
            ),
        ),
        (
            "all = []\nall.append(srv.echo(x=1))\nprint(all)",
            ProgramProblem(
                2,
                "`await` is missing before `srv.echo(…)`: this is the call, not its answer. Write `await srv.echo(…)`, "
                "or `await asyncio.gather(*…)` of all of them.",
            ),
        ),
        (
            "def f(x):\n    return len(srv.echo(x=x))\nf(1)",
            ProgramProblem(
                2,
                "`await` is missing before `srv.echo(…)`: this is the call, not its answer. Write `await srv.echo(…)`, "
                "and `async def f`, which is then awaited too.",
            ),
        ),
        (
            "import asyncio\nasyncio.gather(srv.echo(x=1))",
            ProgramProblem(
                2,
                "`await` is missing before `asyncio.gather(…)`: these are the calls, not their answers. "
                "Write `await asyncio.gather(…)`.",
            ),
        ),
        (
            "async def f(x):\n    return srv.echo(x=x)\nprint(await f(1))",
            ProgramProblem(
                2,
                "`await` is missing before `srv.echo(…)`: `f` gives back the call, not its answer. "
                "Write `return await srv.echo(…)`.",
            ),
        ),
    ],
)
async def test_it_is_told_once_and_with_what_to_write(code: str, complaint: ProgramProblem) -> None:
    async with opened() as sandbox:
        assert await sandbox.check(program(code)) == (complaint,)


@pytest.mark.behaviour("code.await")
@pytest.mark.parametrize(
    "code",
    [
        "x = srv.echo(x=1)" + "+ 1" * 5_000,
        "x = " + "[" * 5_000,
        "-" * 60_000 + "1",
        "if x:\n    pass\n" + "elif x:\n    pass\n" * 4_000,
        "x = srv.echo(x=1)\nprint(x)\n" * 2_000 + "await x",
        "a = []\n" + "a.append(srv.echo(x=1))\n" * 2_500 + "b = a\nawait b[0]",
        "lambda: " * 8_000 + "1",
        "not " * 15_000 + "1",
        "a" + ".b" * 30_000,
        "a" + "()" * 30_000,
        "1 if 1 else " * 5_000 + "1",
        "1" + "**1" * 20_000,
    ],
)
def test_a_program_that_was_written_to_take_time_or_a_stack_takes_none(code: str) -> None:
    """In a thread of little stack: what overruns it ends this process."""
    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(target=lines, args=(code,))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.behaviour("code.await")
async def test_the_full_python_tells_the_same_but_of_what_begins_by_itself_there() -> None:
    sandbox = FullSandbox()
    for code, where in (*FORGET, *SILENT):
        found = [each.line for each in await sandbox.check(program(code))]
        assert found == where or "gather" in code, code
    begun = "import asyncio\nboth = asyncio.gather(srv.echo(x=1), srv.echo(x=2))\nawait asyncio.sleep(0)"
    for code in (*RIGHT, *ELSEWHERE, begun):
        assert await sandbox.check(program(code)) == (), code
