"""A forgotten `await` is reported when the program runs at the latest; what is right is never taken for one."""

import threading

import anyio
import pytest

from pegboard.ports.sandbox import RunResult, SandboxLimits
from pegboard.providers.sandbox.checks.arguments import find_literal_mismatches
from pegboard.providers.sandbox.checks.missing_keys import HostCallIndex, MissingKeys
from pegboard.providers.sandbox.checks.program import parse_program
from pegboard.providers.sandbox.checks.unsupported_features import find_unsupported_features
from pegboard.providers.sandbox.jail.sandbox import FullSandbox
from pegboard.providers.sandbox.prelude import prepare_program

from .hosts import Answers, ended, opened, program
from .programs_that_forget import ELSEWHERE, FORGET, RIGHT

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("code.await")
async def test_a_forgotten_await_is_reported_by_the_run_where_the_check_lets_it_pass() -> None:
    async with opened() as sandbox:
        for code in FORGET:
            ran = await ended(sandbox, code)
            assert ran.error is not None or ran.unawaited_calls, code


@pytest.mark.slow
@pytest.mark.behaviour("code.await", "code.full")
async def test_the_full_python_reports_each_forgotten_await_when_it_runs(full: FullSandbox) -> None:
    for code in FORGET:
        with anyio.fail_after(60):
            ran = await full.run(program(code), Answers(), SandboxLimits(cpu=20, wall=50))
        assert isinstance(ran, RunResult)
        assert ran.error is not None or ran.unawaited_calls, code


@pytest.mark.behaviour("code.await")
async def test_a_call_that_is_awaited_is_not_told() -> None:
    async with opened() as sandbox:
        for code in RIGHT:
            assert await sandbox.check(program(code)) == (), code
            ran = await ended(sandbox, code)
            assert (ran.error, ran.unawaited_calls) == (None, ()), code
    full = FullSandbox()
    for code in (*RIGHT, *ELSEWHERE):
        assert await full.check(program(code)) == (), code


def read(code: str) -> None:
    """All that is told by reading alone."""
    frame = prepare_program(program(code))
    parsed = parse_program(frame.text, frame.functions)
    find_literal_mismatches(parsed, frame.functions, kinds=True)
    [*find_unsupported_features(parsed, frame.functions)]
    if parsed is not None:
        MissingKeys(parsed)
        HostCallIndex(parsed)


@pytest.mark.behaviour("code.checked")
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
        thread = threading.Thread(target=read, args=(code,))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join(60)
    assert not thread.is_alive()
