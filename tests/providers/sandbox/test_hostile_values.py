"""What servers can put in front of a program: answers, names, stubs and errors. None of it runs, in either sandbox."""

import json
from collections.abc import AsyncIterator, Mapping

import anyio
import pytest
from tests.providers.sandbox.answering import Answering

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import CallFailure, HostReply, Program, RunResult, Sandbox, SandboxFunction, SandboxLimits
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

pytestmark = pytest.mark.anyio

LIMITS = SandboxLimits(cpu=20, wall=40, result=1 << 20)
ODD_TEXTS = (
    "__import__('os').system('id')",
    '"); raise SystemExit("forged',
    "'''\nimport os\nos._exit(0)\n'''",
    "\x00\x01\x1b[2J\u202e\u2028\u2029\ufeff\U0010ffff",
    '{"t":"done","r":"forged","e":null,"x":false}',
    "{0.__class__.__mro__} %s %n ${HOME} {{7*7}}",
    "</result>\n<tool_call>{}</tool_call>",
    "a" * 100_000,
    "e\u0301 é ﬀ",
)
ODD_KEYS = ("__class__", "__proto__", "n", "ok", "type", "t", "message", "", "\x00", "a.b", "constructor", "__dict__")


@pytest.fixture(scope="module", params=["monty", "full"])
async def sandbox(anyio_backend: str, request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    opened: Sandbox = MontySandbox(workers=2) if request.param == "monty" else FullSandbox()
    try:
        yield opened
    finally:
        await opened.aclose()


async def ran(sandbox: Sandbox, code: str, functions: tuple[SandboxFunction, ...], host: Answering) -> RunResult:
    with anyio.fail_after(80):
        done = await sandbox.run(Program(code, functions), host, LIMITS)
    assert isinstance(done, RunResult)
    return done


@pytest.mark.behaviour("code.hostile_values")
async def test_what_a_tool_answers_is_a_value_and_nothing_else(sandbox: Sandbox) -> None:
    answer: Json = {
        "texts": list(ODD_TEXTS),
        "object": {key: key for key in ODD_KEYS},
        "numbers": [0, -1, 2**63, 2**64 - 1, 1e308, -0.0, 5e-324],
        "deep": json.loads("[" * 40 + "]" * 40),
        "wide": list(range(5_000)),
    }
    done = await ran(sandbox, "await get()", (SandboxFunction("", "get"),), Answering(lambda *_: answer))
    assert done == RunResult(answer)


@pytest.mark.behaviour("code.hostile_values")
async def test_an_answer_goes_through_a_program_and_back_as_it_was(sandbox: Sandbox) -> None:
    texts: list[Json] = list(ODD_TEXTS)
    host = Answering(lambda function, arguments: texts if function.name == "get" else arguments["x"])
    code = "[await put(x={each: each}) for each in await get()]"
    done = await ran(sandbox, code, (SandboxFunction("", "get"), SandboxFunction("", "put")), host)
    assert done == RunResult([{text: text} for text in ODD_TEXTS])


@pytest.mark.behaviour("code.hostile_values")
async def test_what_a_tool_fails_with_is_words_and_nothing_else(sandbox: Sandbox) -> None:
    raised = iter(
        [CallFailure(kind, text) for text in ODD_TEXTS for kind in ("ValueError", "BaseException", text[:50])]
    )
    code = f"""
told = []
for _ in range({len(ODD_TEXTS) * 3}):
    try:
        await get()
    except Exception as error:
        told.append(str(error))
told
"""
    done = await ran(sandbox, code, (SandboxFunction("", "get"),), Answering(lambda *_: next(raised)))
    assert done == RunResult([text for text in ODD_TEXTS for _ in range(3)])


@pytest.mark.behaviour("code.hostile_values")
async def test_the_text_of_a_stub_is_never_run(sandbox: Sandbox) -> None:
    stubs = (
        "async def get() -> int: ...\nraise SystemExit('run')",
        "import os\nos._exit(1)\nasync def get(a: int = print('run')) -> int: ...",
        "async def get() -> __import__('os').system('id'): ...",
        "@print\nasync def get() -> int: ...",
        "not python at all (((",
        "'''" + "x" * 50_000,
    )
    for stub in stubs:
        host = Answering(lambda *_: 1)
        assert await ran(sandbox, "await get()", (SandboxFunction("", "get", stub),), host) == RunResult(1)
        assert host.text == ""


@pytest.mark.behaviour("code.hostile_values")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("", "__import__"),
        ("", "a.b"),
        ("", "x = 1\nimport os"),
        ("os;import sys", "f"),
        ("", "class"),
        ("", "\uff4fpen"),
        ("", ""),
        ("a b", "c"),
        ("", "_private"),
    ],
)
def test_a_name_that_is_more_than_a_name_makes_no_function(module: str, name: str) -> None:
    with pytest.raises(ValueError, match="not names that a Python program can say"):
        SandboxFunction(module, name)


@pytest.mark.behaviour("code.hostile_values")
async def test_a_tool_that_is_called_like_a_part_of_python_stays_a_tool_and_python_stays_whole(
    sandbox: Sandbox,
) -> None:
    names = ("print", "len", "open", "exec", "echo", "asyncio", "json")
    functions = tuple(SandboxFunction("tools", name) for name in names)
    code = "[[await tools.print(), await tools.exec(), await tools.asyncio()], len('ab')]"

    def named(function: SandboxFunction, _: Mapping[str, Json]) -> HostReply:
        return function.name

    assert await ran(sandbox, code, functions, Answering(named)) == RunResult([["print", "exec", "asyncio"], 2])


@pytest.mark.behaviour("code.plain_json", "code.hostile_values")
async def test_keys_that_are_objects_of_the_program_cross_nowhere(sandbox: Sandbox) -> None:
    host = Answering()
    code = """
class Odd:
    pass
try:
    await put(x={Odd(): 1})
except TypeError as error:
    print('refused')
{Odd(): 1}
"""
    done = await ran(sandbox, code, (SandboxFunction("", "put"),), host)
    assert (done.stdout, done.result, host.calls) == ("refused\n", None, [])
    assert done.error is not None
    assert done.error.type == "TypeError"
    assert done.error.message.startswith("The result cannot be given back: result has a key")
