"""Each limit of a run, reached by a program that does nothing else, in real Monty workers."""

import pytest

from pegboard.memory import large_value_count
from pegboard.ports.sandbox import ProgramFailure, ProgramProblem, RunResult, SandboxLimits

from .hosts import Answers, ended, opened, program

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("code.limits")
@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        # Not one of Monty's own checks is reached here: the pool ends the worker.
        "x = ()\ny = ()\nfor i in range(60):\n    x = (x, x)\n    y = (y, y)\nx == y",
    ],
)
async def test_computing_has_an_end(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code, limits=SandboxLimits(cpu=0.2))
        assert ran.error == ProgramFailure(
            "TimeoutError", "The program computed for more than 0.2 seconds. Do less, or in several runs."
        )
        assert await ended(sandbox, "1") == RunResult(1)


@pytest.mark.behaviour("code.limits")
async def test_waiting_for_calls_has_an_end_and_what_was_printed_is_kept() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "print('begun')\nawait srv.hang()", host, SandboxLimits(wall=1))
    why = "The program took longer than 1 seconds, waiting for its calls included."
    assert ran == RunResult(None, "begun\n", error=ProgramFailure("TimeoutError", why, 2))
    assert host.cancelled == 1


@pytest.mark.behaviour("code.limits")
@pytest.mark.parametrize(
    "code",
    [
        "x = []\nwhile True:\n    x.append('a' * 100_000)",
        "'a' * 10 ** 9",
        "10 ** 10 ** 8",
        "f'{1:>999999999}'",
        "x = await srv.echo(x='a' * 1000)\ny = [x * 1000 for i in range(1000)]",
    ],
)
async def test_memory_has_an_end(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code, limits=SandboxLimits(memory=32 << 20))
        assert ran.error is not None
        assert (ran.error.type, ran.error.message) == (
            "MemoryError",
            "The program needs more than 32 MB of memory. Keep less at a time.",
        )
        assert await ended(sandbox, "1") == RunResult(1)


@pytest.mark.behaviour("code.limits")
async def test_an_answer_larger_than_the_memory_ends_the_run_and_not_us() -> None:
    class Huge(Answers):
        async def _reply(self, *_: object) -> str:
            return "x" * (48 << 20)

    async with opened() as sandbox:
        ran = await ended(sandbox, "len(await srv.echo(x=1))", Huge(), SandboxLimits(memory=16 << 20))
        assert ran.error is not None
        assert ran.error.type == "MemoryError"
        assert await ended(sandbox, "1") == RunResult(1)


@pytest.mark.behaviour("code.limits")
async def test_one_call_too_many_is_an_error_that_the_program_may_catch() -> None:
    host = Answers()
    code = """\
done = []
try:
    for i in range(9):
        done.append(await srv.echo(x=i))
except RuntimeError as error:
    print(error)
done"""
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host, SandboxLimits(calls=3))
    why = (
        "A program may make 3 calls, and this is one more. All of them have been made. Do less in one run, or go on in "
        "another.\n"
    )
    assert ran == RunResult([0, 1, 2], why)
    assert len(host.calls) == 3


@pytest.mark.behaviour("code.limits")
@pytest.mark.parametrize(
    ("first", "made"),
    [
        ("", "None of them has been made so far"),
        ("await srv.echo(x=1)\n", "1 of them has been made so far"),
        ("await srv.echo(x=1)\nawait srv.echo(x=2)\n", "2 of them have been made so far"),
    ],
)
async def test_more_calls_at_once_than_allowed_tell_how_many_were_made(first: str, made: str) -> None:
    host = Answers()
    code = f"import asyncio\n{first}await asyncio.gather(*[srv.echo(x=i) for i in range(4)])"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host, SandboxLimits(calls=3))
    assert ran.error is not None
    assert (ran.error.type, ran.error.message) == (
        "RuntimeError",
        f"A program may make 3 calls, and this is one more. {made}. Do less in one run, or go on in another.",
    )
    assert len(host.calls) == first.count("await")


@pytest.mark.behaviour("code.limits")
async def test_calls_that_are_tried_without_end_end_the_run() -> None:
    host = Answers()
    code = "while True:\n    try:\n        await srv.echo(x=1)\n    except Exception:\n        pass"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host, SandboxLimits(calls=3))
    assert ran.error is not None
    assert (ran.error.type, ran.error.line) == ("RuntimeError", 3)
    assert ran.error.message.startswith("The program keeps asking its host for things")
    assert len(host.calls) == 3


@pytest.mark.behaviour("code.limits")
async def test_two_hundred_thousand_gathered_calls_are_refused_at_the_limit() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(
            sandbox, "import asyncio\nawait asyncio.gather(*[srv.echo(x=i) for i in range(200_000)])", host
        )
    assert ran.error is not None
    assert ran.error.message.startswith("A program may make 50 calls")
    assert host.calls == []


@pytest.mark.behaviour("code.limits")
async def test_arguments_of_calls_that_are_not_answered_are_bounded_together() -> None:
    host = Answers()
    code = "import asyncio\nbig = 'x' * 400_000\nawait asyncio.gather(*[srv.echo(x=big) for i in range(5)])"
    async with opened() as sandbox:
        ran = await ended(sandbox, code, host, SandboxLimits(arguments=1_000_000))
        one_by_one = "big = 'x' * 400_000\nfor i in range(5):\n    await srv.echo(x=big)\n'fine'"
        assert await ended(sandbox, one_by_one, host, SandboxLimits(arguments=1_000_000)) == RunResult("fine")
        named = await ended(sandbox, "await srv.echo(**{'y' * 2_000_000: 1})", host, SandboxLimits(arguments=1_000_000))
    assert ran.error is not None
    assert ran.error.message == "echo(): the argument x is too large: 1,000,000 bytes of JSON may leave the sandbox"
    assert named.error is not None
    assert named.error.message == ran.error.message.replace(" x ", f" {'y' * 80} ")


@pytest.mark.behaviour("code.limits")
@pytest.mark.parametrize(
    "code",
    [
        "import time\nfor i in range(99):\n    time.sleep(0.2)",
        "import asyncio\nfor i in range(99):\n    await asyncio.sleep(0.2)",
    ],
)
async def test_sleeping_is_bounded_in_all(code: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, code, limits=SandboxLimits(sleep=0.3))
        assert ran.error == ProgramFailure("TimeoutError", "A program may sleep 0.3 seconds in all.", 3)
        endless = await ended(sandbox, "import time\ntime.sleep(1e6)")
        assert endless.error == ProgramFailure("TimeoutError", "A program may sleep 10 seconds in all.", 2)


@pytest.mark.behaviour("code.limits")
async def test_sleeps_and_calls_are_gathered() -> None:
    host = Answers()
    code = "import asyncio, time\ntime.sleep(0.01)\nawait asyncio.gather(asyncio.sleep(0.01, 'slept'), srv.echo(x=1))"
    async with opened() as sandbox:
        assert await ended(sandbox, code, host) == RunResult(["slept", 1])


@pytest.mark.behaviour("code.limits")
@pytest.mark.parametrize("text", ["x" * 65_536, "\\n" * 40_000, "é" * 40_000])
async def test_a_result_is_bounded_by_its_json(text: str) -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, f"'{text[:2]}' * {len(text) // len(text[:2])}")
    why = "The result cannot be given back: result is too large: 65,536 bytes of JSON may leave the sandbox."
    assert ran.error == ProgramFailure("TypeError", why)


@pytest.mark.behaviour("code.limits")
async def test_what_is_printed_beyond_the_limit_is_dropped_and_told() -> None:
    host = Answers()
    async with opened() as sandbox:
        ran = await ended(sandbox, "print('é' * 600)\nprint('more')\n7", host, SandboxLimits(stdout=1_001))
    assert ran == RunResult(7, "é" * 500, truncated=True)
    assert "".join(host.said) == ran.stdout


@pytest.mark.behaviour("code.limits")
async def test_a_program_that_does_nothing_but_print_is_ended() -> None:
    async with opened() as sandbox:
        ran = await ended(sandbox, "while True:\n    print('x' * 1_000)", limits=SandboxLimits(stdout=1_000))
        assert await ended(sandbox, "1") == RunResult(1)
    why = "The program printed more than 64 times the 1,000 bytes that are kept."
    assert ran == RunResult(None, ("x" * 1_000), truncated=True, error=ProgramFailure("RuntimeError", why))


@pytest.mark.behaviour("code.limits")
async def test_code_is_bounded_and_must_be_text() -> None:
    async with opened() as sandbox:
        long = "#" * 70_000
        why = "The program has 70,000 bytes and may have 65,536. Send less code."
        assert await ended(sandbox, long) == RunResult(error=ProgramFailure("ValueError", why))
        assert await sandbox.check(program(long)) == (ProgramProblem(1, why),)
        half = await ended(sandbox, "'\ud800'")
    assert half.error == ProgramFailure("SyntaxError", "The program holds half of a character (a lone surrogate).")


@pytest.mark.behaviour("code.limits")
async def test_recursion_has_an_end_that_a_program_may_catch() -> None:
    async with opened() as sandbox:
        deep = await ended(sandbox, "def f(n):\n    return f(n + 1)\nf(0)")
        assert deep.error == ProgramFailure("RecursionError", "maximum recursion depth exceeded", 2)
        nested = await ended(sandbox, "x = []\nfor i in range(50_000):\n    x = [x]\nx")
    assert nested.error is not None
    assert "nested more than 64 levels deep" in nested.error.message


@pytest.mark.parametrize(
    ("code", "is_large"),
    [
        ("len(await srv.echo(x=[1] * 5_000))", True),
        ("len([1] * 5_000 if (await srv.echo(x=[1])) else [])", False),
        ("[1] * 5_000", True),
    ],
    ids=["arguments", "neither", "result"],
)
async def test_memory_that_many_values_took_is_known_to_be_given_back(code: str, is_large: bool) -> None:
    async with opened() as sandbox:
        before = large_value_count()
        ran = await ended(sandbox, code)
        assert (ran.error, large_value_count() > before) == (None, is_large)
