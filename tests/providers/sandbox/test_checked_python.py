"""Whatever of Python a worker runs, the type check lets through: each function and method there is, called in turn."""

import builtins
import importlib
from collections.abc import Iterator, Sequence

import pytest

from pegboard.ports.sandbox import DEFAULT_LIMITS, Program, SandboxLimits
from pegboard.providers.sandbox.monty.sandbox import MontySandbox
from pegboard.providers.sandbox.prelude import BUILTINS_UNKNOWN_TO_CHECKER, MODULES

from .hosts import ended, opened

pytestmark = pytest.mark.anyio

GIVEN = (
    *("", "1", "0", "2.5", "'a'", "'a b'", "b'ab'", "[1, 2]", "['a', 'b']", "{'a': 1}", "{1, 2}", "None", "(1, 2)"),
    *("1, 2", "'a', 'b'", "'a', 1", "[1, 2], 1", "[1, 2], [3, 4]", "'a', ['b']", "b'a', b'b'", "'a', 'b', 1"),
    *("lambda x: x, [1, 2]", "lambda x, y: x, [1, 2]", "lambda x: x", "str, [1, 2]", "None, [1, 0]", "'a', 'b', 'ab'"),
    *(
        "2026, 1, 2",
        "'2026-01-02'",
        "'%Y'",
        "range(3)",
        "iter([1])",
        "True",
        "'utf-8'",
        "'upper'",
        "int",
        "int, 'x'",
    ),
    *("[1, 2], key=lambda x: -x", "['a'], key=len, reverse=True", "[1], default=0", "[], default=None", "'1', base=8"),
    *("'a-b', sep='-'", "sep='-'", "sep=',', maxsplit=1", "keepends=True", "encoding='utf-8'", "errors='replace'"),
    *("[1, 2], start=1", "[1], [2], strict=True", "2.5, ndigits=1", "{'a': 1}, indent=2", "{'a': 1}, sort_keys=True"),
    *("{'a': 'é'}, ensure_ascii=False", "[1], separators=(',', ':')", "[1], [2, 3], fillvalue=0", "[1, 2], repeat=2"),
    *("[1], maxlen=2", "'a', 'ba', flags=0", "'a', 'b', 'aa', count=1", "days=1", "hours=1, minutes=2", "year=2025"),
    *(
        "[1, 2], k=1",
        "[1, 2], weights=[1, 2], k=1",
        "[1, 2], 1, lo=0",
        "1.0, 1.1, rel_tol=0.2",
        "['a,b'], delimiter=','",
    ),
    *("a=1, b=2", "'NFC', 'a'", "timespec='seconds'", "b'ab', validate=True"),
)
"""What functions are called with. Most of it fits few of them, and what a worker refuses is of no interest."""
ONE_TEXT = ("", "'a'")
"""An exception of anything else ends a worker's program for good."""
VALUES = {
    **{"str": "'a b'", "bytes": "b'ab'", "list": "[1, 2]", "dict": "{'a': 1}", "set": "{1, 2}", "tuple": "(1, 2)"},
    **{"frozenset": "frozenset([1])", "int": "(5)", "float": "(2.5)"},
}
NOT_CALLED = ("time.sleep", "asyncio.sleep", "open")
"""Some would take their time, and of the other it is told that there are no files."""
AT_ONCE = 1_500


def public(owner: object, spoken: str = "") -> Iterator[str]:
    """Its members, by themselves and called."""
    for name in dir(owner):
        if not name.startswith("_") and (said := spoken + name) not in NOT_CALLED:
            member = getattr(owner, name)
            is_raised = isinstance(member, type) and issubclass(member, BaseException)
            # Of what is not awaited there it is told so.
            called = f"await {said}" if spoken == "asyncio." else said
            yield from (said, *(f"{called}({given})" for given in (ONE_TEXT if is_raised else GIVEN)))


def everything() -> Iterator[str]:
    yield from public(builtins)
    for kind, value in VALUES.items():
        yield from public(getattr(builtins, kind), f"{value}.")
        yield from public(getattr(builtins, kind), f"{kind}.")
    for module in MODULES:
        yield from public(importlib.import_module(module), f"{module}.")


IMPORTS = f"import {', '.join(MODULES)}\n"
SAID = [*everything()]


async def those_that_run(sandbox: MontySandbox, lines: Sequence[str]) -> list[str]:
    tried = "".join(
        f"try:\n    {line}\n    ran.append({at})\nexcept Exception:\n    pass\n" for at, line in enumerate(lines)
    )
    limits = SandboxLimits(code=len(tried) + 1_000, result=1 << 20)
    ran = await ended(sandbox, f"{IMPORTS}ran = []\n{tried}ran", limits=limits)
    assert ran.error is None
    assert isinstance(ran.result, list)
    return [lines[int(str(at))] for at in ran.result]


@pytest.mark.behaviour("code.checked_python")
async def test_what_a_worker_runs_is_not_refused_by_the_check() -> None:
    refused: list[str] = []
    count = 0
    async with opened() as sandbox:
        for first in range(0, len(SAID), AT_ONCE):
            lines = await those_that_run(sandbox, SAID[first : first + AT_ONCE])
            count += len(lines)
            # Complaints come ten at a time.
            while lines:
                code = IMPORTS + "\n".join(lines)
                complaints = await sandbox.check(Program(code), SandboxLimits(code=len(code.encode())))
                if not complaints:
                    break
                wrong = {each.line - 2: each.message for each in complaints}
                refused += (f"{lines[at]}: {message}" for at, message in wrong.items())
                lines = [line for at, line in enumerate(lines) if at not in wrong]
    assert refused == []
    assert count > 2_000


@pytest.mark.behaviour("code.checked_python")
async def test_what_the_check_has_not_heard_of_is_there() -> None:
    async with opened() as sandbox:
        assert set(await those_that_run(sandbox, sorted(BUILTINS_UNKNOWN_TO_CHECKER))) == BUILTINS_UNKNOWN_TO_CHECKER


@pytest.mark.behaviour("code.checked_python")
@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("list(map(str, [1, 2]))", ["1", "2"]),
        ("list(filter(None, [1, 0]))", [1]),
        ("class P:\n    x = 1\np = P()\nsetattr(p, 'y', 2)\ngetattr(p, 'x') + p.y", 3),
        ("hasattr(1, 'x'), format(2.5, '.2f')", [False, "2.50"]),
        ("try:\n    raise PermissionError('no')\nexcept PermissionError as error:\n    said = str(error)\nsaid", "no"),
    ],
)
async def test_what_models_write_every_day_passes_the_check_and_runs(code: str, result: object) -> None:
    async with opened() as sandbox:
        assert await sandbox.check(Program(code), DEFAULT_LIMITS) == ()
        assert (await ended(sandbox, code)).result == result
