"""The sandbox `full`: a whole Python, the contract of sandboxes, and every way in which a run can end."""

import asyncio
import os
from dataclasses import replace

import anyio
import psutil
import pytest
from tests.providers.sandbox.answering import ECHO, Answering, Gathering

from pegboard.core.json.values import Json
from pegboard.ports.sandbox import (
    CallFailure,
    InvalidRunStateError,
    PendingDecision,
    Program,
    ProgramFailure,
    RunResult,
    SandboxFunction,
    SandboxLimits,
    UnawaitedCall,
)
from pegboard.providers.sandbox.errors import NO_FILES_HINT
from pegboard.providers.sandbox.jail.sandbox import FullSandbox

pytestmark = pytest.mark.anyio

LIMITS = SandboxLimits(cpu=20, wall=30)
TOOLS = (ECHO, SandboxFunction("files", "read"), SandboxFunction("files", "write"))


async def ran(
    sandbox: FullSandbox, code: str, host: Answering | None = None, limits: SandboxLimits = LIMITS
) -> RunResult:
    with anyio.fail_after(60):
        return await sandbox.run(Program(code, TOOLS), host or Answering(), limits)


@pytest.mark.behaviour("code.full")
async def test_a_program_has_the_language_and_the_library_of_python(full: FullSandbox) -> None:
    code = """
import abc, csv, dataclasses, datetime, decimal, enum, fractions, hashlib, heapq, io, re, statistics, string
import textwrap, uuid, zoneinfo, zlib, xml.etree.ElementTree, html, urllib.parse, typing, contextlib, pprint
import operator, unicodedata

class Colour(enum.Enum):
    RED = 'red'

@dataclasses.dataclass
class Point:
    x: int
    y: int = 2

def count():
    yield from range(3)

[
    Colour('red').name,
    dataclasses.asdict(Point(1)),
    list(count()),
    re.sub('[0-9]+', lambda found: str(int(found[0]) * 2), 'a1 b22'),
    str(decimal.Decimal('0.1') * 3),
    datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).isoformat(),
    hashlib.sha256(b'abc').hexdigest()[:8],
    'é'.encode('cp1252').hex(),
    statistics.median([1, 5, 3]),
]
"""
    berlin = "2026-07-01T00:00:00+02:00"
    expected: list[Json] = ["RED", {"x": 1, "y": 2}, [0, 1, 2], "a2 b44", "0.3", berlin, "ba7816bf", "e9", 3]
    assert await ran(full, code) == RunResult(expected)


@pytest.mark.behaviour("code.full")
@pytest.mark.parametrize(
    "code",
    [
        "await files.read(path='a')",
        "import files\nawait files.read(path='a')",
        "from files import read\nawait read(path='a')",
        "import asyncio\nasync def main():\n    return await files.read(path='a')\nasyncio.run(main())",
        "import asyncio\nasyncio.get_event_loop().run_until_complete(files.read(path='a'))",
        "import asyncio\n(await asyncio.gather(asyncio.create_task(files.read(path='a'))))[0]",
        "import asyncio\nawait asyncio.wait_for(files.read(path='a'), 20)",
        "import asyncio\nasync with asyncio.timeout(20):\n    x = await files.read(path='a')\nx",
        "import asyncio\nasync with asyncio.TaskGroup() as g:\n    t = g.create_task(files.read(path='a'))\nt.result()",
        "import asyncio\nx = await files.read(path='a')\nx if asyncio.current_task() else None",
    ],
)
async def test_functions_are_called_in_every_way_that_python_has(full: FullSandbox, code: str) -> None:
    host = Answering(lambda _, arguments: {"text": arguments["path"]})
    assert await ran(full, code, host) == RunResult({"text": "a"})
    assert host.calls == [(1, "read", {"path": "a"})]


@pytest.mark.behaviour("code.gather")
async def test_gathered_calls_are_all_under_way_at_once_up_to_the_limit(full: FullSandbox) -> None:
    host = Gathering(wanted=4)
    code = "import asyncio\nawait asyncio.gather(*[echo(x) for x in range(12)])"
    with anyio.fail_after(60):
        done = await full.run(Program(code, TOOLS), host, replace(LIMITS, concurrency=4))
    assert (done, host.most) == (RunResult(list(range(1, 13))), 4)


@pytest.mark.behaviour("code.program")
async def test_what_is_printed_is_told_as_it_comes_and_kept(full: FullSandbox) -> None:
    host = Answering()
    done = await ran(full, "import sys\nprint('a', end='')\nprint('é')\nprint('b', file=sys.stderr)\n'end'", host)
    assert (done, host.text) == (RunResult("end", "aé\nb\n"), "aé\nb\n")


async def test_output_beyond_the_limit_is_dropped_between_characters_and_told(full: FullSandbox) -> None:
    host = Answering()
    done = await ran(full, "print('é' * 10)\nprint('more')\n1", host, replace(LIMITS, stdout=9))
    assert (done, host.text) == (RunResult(1, "éééé", truncated=True), "éééé")


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("x = 1\nraise KeyError('a')", ProgramFailure("KeyError", "'a'", 2)),
        ("def f(:\n  pass", ProgramFailure("SyntaxError", "invalid syntax", 1)),
        ("def f():\n    return 1 / 0\n\nf()", ProgramFailure("ZeroDivisionError", "division by zero", 2)),
        ("class Odd(Exception):\n    pass\nraise Odd('é')", ProgramFailure("Odd", "é", 3)),
        (
            "import json\njson.loads('{')",
            ProgramFailure(
                "JSONDecodeError", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", 2
            ),
        ),
        ("exit(3)", ProgramFailure("SystemExit", "3", 1)),
        ("import sys\nsys.exit()", None),
        ("input()", ProgramFailure("EOFError", "EOF when reading a line", 1)),
        (
            "import ctypes\nctypes.string_at(0)",
            ProgramFailure(
                "RuntimeError",
                "The Python of this program crashed (SIGSEGV). Too deep a recursion does that, and so does ctypes.",
            ),
        ),
        ("import os\nos._exit(0)", ProgramFailure("RuntimeError", "The program ended its process without an answer.")),
        (
            "import os\nos.closerange(0, 9)\nwhile True: pass",
            ProgramFailure("RuntimeError", "The program closed its connection, and was ended."),
        ),
        (
            "x = bytearray(10**10)",
            ProgramFailure("MemoryError", "The program needs more than 128 MB of memory. Keep less at a time.", 1),
        ),
        (
            "open('/etc/passwd')",
            ProgramFailure("PermissionError", f"[Errno 1] Operation not permitted: '/etc/passwd'. {NO_FILES_HINT}", 1),
        ),
        (
            "await echo({1, 2})",
            ProgramFailure(
                "TypeError", "echo(): the argument x is of type set, which is not JSON; use sorted() or list()", 1
            ),
        ),
        (
            "await echo(1, 2)",
            ProgramFailure("TypeError", "echo() takes 1 positional arguments only: write echo(name=value, …)", 1),
        ),
        ("import time\ntime.sleep(11)", ProgramFailure("TimeoutError", "A program may sleep 10 seconds in all.", 2)),
    ],
)
async def test_how_a_program_failed_is_told_with_type_words_and_line(
    full: FullSandbox, code: str, fault: ProgramFailure | None
) -> None:
    done = await ran(full, code)
    assert isinstance(done, RunResult)
    assert done.error == fault


@pytest.mark.behaviour("code.left_out")
async def test_a_call_that_was_never_awaited_is_told_with_its_line_and_takes_no_result_away(full: FullSandbox) -> None:
    host = Answering()
    assert await ran(full, "files.read(x=1)\ny = await echo(5)\necho(6)\ny", host) == RunResult(
        5, unawaited_calls=(UnawaitedCall("files.read", 1), UnawaitedCall("echo", 3))
    )
    assert host.calls == [(2, "echo", {"x": 5})]


@pytest.mark.behaviour("code.left_out")
@pytest.mark.parametrize("code", ["echo(6)\n1 / 0", "x = echo(6)\nx"])
async def test_of_a_program_that_failed_only_that_is_told(full: FullSandbox, code: str) -> None:
    done = await ran(full, code)
    assert done.error is not None
    assert done.unawaited_calls == ()


@pytest.mark.behaviour("code.errors")
async def test_a_recursion_that_fills_the_memory_is_told_as_one(full: FullSandbox) -> None:
    code = "import sys\nsys.setrecursionlimit(10**9)\ndef deeper(n): return deeper(n + 1)\ndeeper(0)"
    done = await full.run(Program(code), Answering(), LIMITS)
    why = "The functions of the program call one another so deep that the memory it may use is full."
    assert done == RunResult(error=ProgramFailure("RecursionError", why, 3))


@pytest.mark.behaviour("code.errors")
async def test_what_the_host_raises_in_a_call_is_raised_in_the_program(full: FullSandbox) -> None:
    raised = iter(
        [
            CallFailure("ValueError", "no such file: 'é'\n  File \"x\", line 1"),
            CallFailure("SystemExit", "not an error that a program catches"),
            CallFailure("UnicodeDecodeError", "made of more than words"),
            CallFailure("os.system", "no exception at all"),
            CallFailure("print", "a built-in that is none"),
        ]
    )
    code = """
told = []
for _ in range(5):
    try:
        await echo(1)
    except Exception as error:
        told.append([type(error).__name__, str(error)])
told
"""
    assert await ran(full, code, Answering(lambda *_: next(raised))) == RunResult(
        [
            ["ValueError", "no such file: 'é'\n  File \"x\", line 1"],
            ["RuntimeError", "not an error that a program catches"],
            ["RuntimeError", "made of more than words"],
            ["RuntimeError", "no exception at all"],
            ["RuntimeError", "a built-in that is none"],
        ]
    )


@pytest.mark.behaviour("code.full_waits")
async def test_a_call_that_waits_for_a_person_is_refused_with_its_ticket(full: FullSandbox) -> None:
    code = "try:\n    await echo(1)\nexcept PermissionError as error:\n    told = str(error)\ntold"
    done = await ran(full, code, Answering(lambda *_: PendingDecision("t-17")))
    assert done == RunResult(
        "A person must allow this call first (ticket t-17). This sandbox cannot wait for them: "
        "run the program again when it is decided."
    )
    with pytest.raises(InvalidRunStateError, match="No run was ever suspended by the sandbox 'full'"):
        await full.resume(b"", {}, Answering())


@pytest.mark.behaviour("code.limits")
async def test_more_calls_than_allowed_raise_in_the_program_and_never_reach_the_host(full: FullSandbox) -> None:
    host = Answering()
    code = """
made = 0
for _ in range(10):
    try:
        await echo(_)
        made += 1
    except RuntimeError as error:
        told = str(error)
[made, told]
"""
    done = await ran(full, code, host, replace(LIMITS, calls=3))
    words = "A program may make 3 calls, and this is one more. {}. Do less in one run, or go on in another."
    assert (done, len(host.calls)) == (RunResult([3, words.format("All of them have been made")]), 3)
    code = "import asyncio\nawait echo(1)\nawait asyncio.gather(*[echo(i) for i in range(3)])"
    done = await ran(full, code, host, replace(LIMITS, calls=3))
    told = ProgramFailure("RuntimeError", words.format("1 of them has been made so far"), 3)
    assert (done, len(host.calls)) == (RunResult(None, error=told), 4)


@pytest.mark.slow
@pytest.mark.behaviour("code.limits")
async def test_the_processor_time_that_a_program_may_use_is_kept(full: FullSandbox) -> None:
    done = await ran(full, "print('on')\nwhile True: pass", limits=replace(LIMITS, cpu=1))
    words = "The program computed for more than 1 seconds. Do less, or in several runs."
    assert done == RunResult(None, "on\n", error=ProgramFailure("TimeoutError", words))


@pytest.mark.behaviour("code.limits")
async def test_the_wall_clock_is_kept_while_a_program_waits_for_its_host(full: FullSandbox) -> None:
    host = Gathering(wanted=2)
    with anyio.fail_after(60):
        done = await full.run(Program("print(1)\nawait echo(1)", TOOLS), host, replace(LIMITS, wall=2))
    words = "The program took longer than 2 seconds, waiting for its calls included."
    assert done == RunResult(None, "1\n", error=ProgramFailure("TimeoutError", words))
    assert host.was_cancelled


@pytest.mark.behaviour("code.cancelled")
async def test_a_cancelled_run_leaves_no_process_and_no_call() -> None:
    sandbox = FullSandbox()
    before = _children()
    host = Gathering(wanted=2)
    run = asyncio.create_task(sandbox.run(Program("await echo(1)", TOOLS), host, LIMITS))
    with anyio.fail_after(60):
        await host.came.wait()
        run.cancel()
        await asyncio.wait([run])
        assert (run.cancelled(), host.was_cancelled) == (True, True)
        await sandbox.aclose()
    assert _children() - before == set()


async def test_what_the_host_breaks_with_is_raised_and_the_program_is_over(full: FullSandbox) -> None:
    def broken(*_: object) -> Json:
        raise LookupError("the host is broken")

    with pytest.raises(LookupError, match="the host is broken"):
        await ran(full, "await echo(1)", Answering(broken))
    assert await ran(full, "2") == RunResult(2)


async def test_programs_do_not_see_each_other(full: FullSandbox) -> None:
    await ran(full, "import json, builtins\njson.left = builtins.left = 1\nopen = None")
    assert await ran(
        full, "import json, builtins\n[hasattr(json, 'left'), hasattr(builtins, 'left'), open is None]"
    ) == RunResult([False, False, False])


@pytest.mark.behaviour("code.full")
async def test_a_program_is_not_told_where_things_lie_on_this_machine(full: FullSandbox) -> None:
    code = """
import gc, os, sys, types
codes = [one.__code__ for one in gc.get_objects() if isinstance(one, types.FunctionType)]
frame = sys._getframe()
while frame is not None:
    codes.append(frame.f_code)
    frame = frame.f_back
for code in codes:
    codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
loaders = [getattr(module.__spec__, 'loader', None) for module in sys.modules.values() if hasattr(module, '__spec__')]
places = {code.co_filename for code in codes} | {getattr(loader, 'path', '') for loader in loaders}
[len(codes) > 1_000, sorted(place for place in places if os.path.isabs(place))]
"""
    assert await ran(full, code) == RunResult([True, []])


async def test_many_programs_run_at_the_same_time(full: FullSandbox) -> None:
    results: dict[int, RunResult] = {}

    async def one(number: int) -> None:
        results[number] = await ran(full, f"await echo({number})")

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(one, number)
    assert results == {number: RunResult(number) for number in range(6)}


@pytest.mark.parametrize(
    ("code", "limits", "fault"),
    [
        (
            "#" * 100,
            replace(LIMITS, code=99),
            ProgramFailure("ValueError", "The program has 100 bytes and may have 99. Send less code."),
        ),
        (
            "'\ud800'",
            LIMITS,
            ProgramFailure("SyntaxError", "The program holds half of a character (a lone surrogate)."),
        ),
    ],
)
async def test_a_program_that_is_no_program_is_refused_before_anything_starts(
    code: str, limits: SandboxLimits, fault: ProgramFailure
) -> None:
    sandbox = FullSandbox()
    assert await ran(sandbox, code, limits=limits) == RunResult(error=fault)
    assert sandbox.protections == ()


async def test_nothing_is_checked_before_a_run(full: FullSandbox) -> None:
    assert await full.check(Program("await nothing()")) == ()
    assert full.name == "full"
    assert "no files" in full.dialect


def _children() -> set[int]:
    return {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}
