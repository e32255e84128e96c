"""What each check of a program gains: `python -m benchmarks.snippets.mistakes [--programs N] [--json]`.

One mistake at a time is made in programs that work, as models make them. Each is checked with every check, and with one
of them switched off, and then run. The table counts the programs with another outcome that only one check stops, and
what becomes of them without it.
"""

import argparse
import ast
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

import anyio
import jsonschema_rs
import msgspec
from tests.providers.sandbox.library import Library, program

from benchmarks import table
from pegboard.core.json.values import Json
from pegboard.ports.sandbox import CallFailure, HostReply, RunResult, SandboxFunction, SandboxLimits
from pegboard.providers.sandbox.monty.sandbox import MontySandbox

LIMITS: Final = SandboxLimits(cpu=5, wall=20)
WORKING: Final = Path(__file__).parents[2] / "tests/providers/sandbox/working.yaml"
_CHECKS: Final = "pegboard.providers.sandbox.checks.type_errors"
SWITCHES: Final[Mapping[str, tuple[str, Callable[..., object]]]] = {
    "type checker's findings": (f"{_CHECKS}._DiagnosticFormatter.format_diagnostic", lambda *_: iter(())),
    "whose function is called": (f"{_CHECKS}.HostCallIndex.is_called", lambda *_: False),
    "missing keys": (f"{_CHECKS}.MissingKeys.is_surely_wrong", lambda *_: False),
    "values written out": (f"{_CHECKS}.find_literal_mismatches", lambda *_, **__: ()),
    "unsupported features": (f"{_CHECKS}.find_unsupported_features", lambda *_: ()),
}


@dataclass(frozen=True)
class Outcome:
    mistake: str
    program: str
    stopped: bool
    only_by: tuple[str, ...]
    """The checks without each of which it would have run."""
    calls: int
    """Made until it ended."""
    error: str | None
    same: bool
    """Whether the mistake changed nothing."""


class Counting(Library):
    """Refuses arguments that do not fit, as a gateway does, and counts the calls that it makes."""

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, ordinal: int, function: SandboxFunction, arguments: Mapping[str, Json]) -> HostReply:
        validator = jsonschema_rs.validator_for(dict(function.input_schema or {}))
        if problems := [error.message for error in validator.iter_errors(dict(arguments))]:
            return CallFailure("ValueError", f"The arguments do not fit: {'; '.join(problems)}")
        self.calls += 1
        return await super().call(ordinal, function, arguments)


def is_call_of_tool(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="library"))):
            return True
        case _:
            return False


def swapped(text: str) -> str:
    """With its last two letters in the other order."""
    return f"{text[:-2]}{text[-1]}{text[-2]}" if len(text) > 1 and text[-1] != text[-2] else f"{text}s"


def mistakes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The kind of each mistake, and the program with it. The tree is as before after each."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            for place, node in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(node, ast.AST):
                    for kind, other in slips(node):
                        changed: object = other
                        if isinstance(value, list):
                            changed = [*value[:place], other, *value[place + 1 :]]
                        setattr(parent, name, changed)
                        yield kind, ast.unparse(ast.fix_missing_locations(tree))
                        setattr(parent, name, value)


def slips(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Await(value=value):
            yield "await left out", value
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key), ctx=ast.Load()):
            yield "key misspelled", ast.Subscript(value, ast.Constant(swapped(key)), ast.Load())
            if key.isidentifier():
                yield "attribute for a key", ast.Attribute(value, key, ast.Load())
        case ast.Call(func=func, args=args, keywords=[first, *others]) if is_call_of_tool(node):
            yield "argument left out", ast.Call(func, args, others)
            if first.arg is not None:
                yield "argument misspelled", ast.Call(func, args, [ast.keyword(f"{first.arg}s", first.value), *others])
            if isinstance(first.value, ast.Constant):
                wrong = ast.Constant(7 if isinstance(first.value.value, str) else "many")
                yield "argument of another kind", ast.Call(func, args, [ast.keyword(first.arg, wrong), *others])
        case ast.Attribute(value=ast.Name(id="library") as module, attr=name):
            yield "function misspelled", ast.Attribute(module, f"{name}s", ast.Load())
        case _:
            pass


def programs() -> Iterator[tuple[str, str, str, object]]:
    for each in msgspec.yaml.decode(WORKING.read_bytes()):
        # Some are of a newer Python than this one may be.
        with suppress(SyntaxError):
            for kind, code in mistakes(ast.parse(each["code"])):
                yield kind, each["name"], code, each["result"]


async def judged(sandbox: MontySandbox, kind: str, name: str, code: str, result: object) -> Outcome:
    made = program(code)
    stopped = bool(await sandbox.check(made))
    only_by = []
    for label, (target, instead) in SWITCHES.items() if stopped else ():
        with ExitStack() as stack:
            stack.enter_context(patch(target, instead))
            if not await sandbox.check(made):
                only_by.append(label)
    host = Counting()
    ran = await sandbox.run(made, host, LIMITS)
    assert isinstance(ran, RunResult)  # the tools here ask nobody
    error = None if ran.error is None else ran.error.message
    return Outcome(kind, name, stopped, tuple(only_by), host.calls, error, error is None and ran.result == result)


async def judge(chosen: Iterable[tuple[str, str, str, object]]) -> list[Outcome]:
    sandbox = MontySandbox()
    try:
        return [await judged(sandbox, *each) for each in chosen]
    finally:
        await sandbox.aclose()


def rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    wrong = [one for one in outcomes if not one.same]
    told = []
    for label in SWITCHES:
        only = [one for one in wrong if label in one.only_by]
        after = sum(one.error is not None and one.calls > 0 for one in only)
        before = sum(one.error is not None and not one.calls for one in only)
        told.append([label, *map(str, (len(only), after, before, len(only) - after - before))])
    stopped = sum(one.stopped for one in wrong)
    failed = sum(not one.stopped and one.error is not None for one in wrong)
    told.append(["(stopped by none)", str(len(wrong) - stopped), str(failed), "", str(len(wrong) - stopped - failed)])
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.snippets.mistakes", description=__doc__)
    parser.add_argument("--programs", type=int, help="so many, drawn by lot; all of them take some minutes")
    parser.add_argument("--seed", type=int, default=7, help="of the lot")
    parser.add_argument("--json", action="store_true", help="every program's outcome as JSON")
    chosen = parser.parse_args(arguments)
    every = [*programs()]
    random.Random(chosen.seed).shuffle(every)
    outcomes = anyio.run(judge, every[: chosen.programs])
    if chosen.json:
        print(json.dumps({"benchmark": "snippets.mistakes", "cases": [asdict(one) for one in outcomes]}, indent=1))
        return 0
    print(table.render(("check", "only by it", "fails after calls", "before any", "wrong in silence"), rows(outcomes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
