"""Errors of a run, told with what to write instead: the same in both sandboxes where both have them."""

from collections.abc import AsyncIterator, Mapping

import anyio
import pytest

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import Program, ProgramFailure, ProgramProblem, RunResult, Sandbox, SandboxFunction
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

from .hosts import Answers, opened, program

pytestmark = pytest.mark.anyio

NO_FILES = "There are no files, no network and no environment here: what a program needs comes from tools."
ONE_BY_ONE = "Give `asyncio.gather` the calls one by one: `await asyncio.gather(*calls)`."
AWAIT = "Is `await` missing before the call?"
HALF = "a\ud83d"


class Halved(Answers):
    """Answers with half of a character."""

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> Json:
        return {HALF: [HALF, "\U0001f600"]}


@pytest.fixture(params=["monty", "full"])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    if request.param == "monty":
        async with opened() as monty:
            yield monty
    else:
        full = FullSandbox()
        yield full
        await full.aclose()


async def ended(sandbox: Sandbox, code: str, host: Answers | None = None, modules: tuple[str, ...] = ()) -> RunResult:
    with anyio.fail_after(60):
        ran = await sandbox.run(Program(code, program(code).functions, "", modules), host or Answers())
    assert isinstance(ran, RunResult)
    return ran


@pytest.mark.behaviour("code.hints")
@pytest.mark.parametrize(
    ("code", "type", "end"),
    [
        ("r = await srv.echo(x={'books': []})\nr.books", "AttributeError", "A dictionary has keys: write `['books']`."),
        (
            "r = await srv.echo(x='{}')\nr['books']",
            "TypeError",
            "This is a text. If it holds JSON, read it first: `json.loads(…)`.",
        ),
        ("def f(calls):\n    return calls[0]\nf([srv.echo(x=1)])['n']", "TypeError", AWAIT),
        ("import json\njson.loads(srv.echo(x='1'))", "TypeError", AWAIT),
        ("len(srv.echo(x=[1]))", "TypeError", AWAIT),
        ("1 in srv.echo(x=[1])", "TypeError", AWAIT),
        ("x = {}\nx |= srv.echo(x={})", "TypeError", AWAIT),
        ("open('/etc/passwd')", "PermissionError", NO_FILES),
        ("srv.echo(x=1)", "TypeError", "did you forget `await`?"),
        ("import asyncio\ncalls = [srv.echo(x=1)]\nawait asyncio.gather(calls)", "TypeError", ONE_BY_ONE),
    ],
)
async def test_an_error_is_told_with_what_to_write(sandbox: Sandbox, code: str, type: str, end: str) -> None:
    error = (await ended(sandbox, code)).error
    assert error is not None
    assert (error.type, error.message[-len(end) :]) == (type, end)


@pytest.mark.behaviour("code.hints")
@pytest.mark.parametrize(
    ("type", "words"),
    [
        ("AttributeError", "'dict' object has no attribute 'key'"),
        ("TypeError", "string indices must be integers"),
        ("TypeError", "'coroutine' object is not subscriptable"),
        ("PermissionError", "[Errno 13] Permission denied: '/srv'"),
        ("RuntimeError", "this is not supported"),
    ],
)
async def test_words_of_a_tool_that_failed_are_told_as_they_are(sandbox: Sandbox, type: str, words: str) -> None:
    ran = await ended(sandbox, f"await srv.fail(type={type!r}, message={words!r})")
    assert ran.error == ProgramFailure(type, words, 1)


@pytest.mark.behaviour("code.hints")
async def test_half_of_a_character_in_an_answer_is_what_cannot_be_shown(sandbox: Sandbox) -> None:
    ran = await ended(sandbox, "await srv.echo()", Halved())
    assert (ran.error, ran.result) == (None, {"a\ufffd": ["a\ufffd", "\U0001f600"]})


@pytest.mark.behaviour("code.hints")
@pytest.mark.parametrize("code", ["```python\n1\n```", "\n ```\n1\n```"])
async def test_marks_around_a_program_are_told(sandbox: Sandbox, code: str) -> None:
    error = (await ended(sandbox, code)).error
    assert error is not None
    assert (error.type, error.line) == ("SyntaxError", 1)
    assert error.message == (
        "The program stands between ``` marks, which are no Python. Send the code alone, without these lines."
    )


@pytest.mark.behaviour("code.hints")
async def test_a_mark_of_the_byte_order_is_nothing(sandbox: Sandbox) -> None:
    code = "\ufeff# one\n1 + 1"
    assert await sandbox.check(Program(code)) == ()
    ran = await ended(sandbox, code)
    assert (ran.error, ran.result) == (None, 2)


@pytest.mark.behaviour("code.hints")
async def test_a_module_is_there_of_which_a_program_names_no_function(sandbox: Sandbox) -> None:
    code = "import desk\nfrom srv import echo\nawait echo(x=1)"
    assert await sandbox.check(Program(code, program(code).functions, "", ("desk",))) == ()
    assert (await ended(sandbox, code, modules=("desk",))).result == 1


@pytest.mark.behaviour("code.hints")
async def test_a_wait_that_took_too_long_says_so_in_words() -> None:
    full = FullSandbox()
    ran = await ended(full, "import asyncio\nawait asyncio.wait_for(asyncio.sleep(5), 0.01)")
    await full.aclose()
    assert ran.error is not None
    assert ran.error.type == "TimeoutError"
    assert ran.error.message.endswith("(`asyncio.wait_for`, `asyncio.timeout`) took longer than that.")


@pytest.mark.behaviour("code.hints")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "sorted(['b'], key=str.lower)",
            "type object 'str' has no attribute 'lower'. This Python has not all methods, and none as a value: call "
            "`x.lower(…)` in a lambda, or do without.",
        ),
        (
            "import asyncio\nawait asyncio.gather(*map(lambda x: srv.echo(x=x), 'ab'))",
            "This Python does not support calls of tools in a function that `map`, `filter` or `key=` calls: call "
            "`srv.echo` in a list comprehension instead.",
        ),
        (
            "raise ValueError('a', 'b')",
            "This Python does not support exceptions of anything but one text, or nothing: put all of it into one, "
            "as in `raise ValueError(f'{a}: {b}')`.",
        ),
    ],
)
async def test_what_the_small_python_lacks_is_told_with_a_way_around_it(code: str, message: str) -> None:
    async with opened() as monty:
        error = (await ended(monty, code)).error
    assert error is not None
    assert (error.message, error.is_unsupported) == (message, True)


@pytest.mark.behaviour("code.hints")
@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        (
            "from srv import ecko\nawait srv.echo(x=1)",
            ProgramProblem(1, "`srv` has no function `ecko`. Did you mean `echo`?"),
        ),
        ("from desk import typo", ProgramProblem(1, "`desk` has no function `typo`.")),
        ("desk.typo()", ProgramProblem(1, "`desk` has no function `typo`.")),
        ("open('/etc/passwd')", ProgramProblem(1, f"There is no `open`. {NO_FILES}")),
        (
            "from collections import OrderedDict",
            ProgramProblem(1, "`collections.OrderedDict` does not exist in this Python.", is_unsupported=True),
        ),
    ],
)
async def test_what_is_not_there_is_told_for_what_it_is(code: str, complaint: ProgramProblem) -> None:
    async with opened() as monty:
        assert await monty.check(Program(code, program(code).functions, "", ("desk",))) == (complaint,)
