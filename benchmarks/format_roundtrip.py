"""`python -m benchmarks.format_roundtrip FILE`: calls written in every format and read back, whole and in chunks."""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import table
from benchmarks.parser_cases.invariants import chunks
from benchmarks.parser_cases.judging import same
from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats import FORMATS, Format, parse
from pegboard.prompts.scanner import collect_output
from pegboard.prompts.tool_shape import ToolShape

UNWRITTEN: Final = frozenset(("native", "codemode"))
"""They write no text that holds calls: one has an array in the request, the other a program."""
SEED: Final = 8


class BadFileError(ValueError):
    """The file is not of the shape; the message says where."""


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    tools: tuple[ToolShape, ...]
    calls: tuple[ParsedCall, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    id: str
    way: str
    written: str
    expected: Json
    got: Json
    broken: tuple[str, ...]


@dataclass(slots=True)
class Score:
    items: int = 0
    complete: int = 0
    streamed: int = 0
    failures: list[Failure] = field(default_factory=list)


def read(path: Path) -> list[Item]:
    """The items that hold calls."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFileError(f"{path}: {error}") from None
    if not isinstance(entries, list):
        raise BadFileError(f"{path}: expected a list of items with 'functions' and 'ground_truth'")
    items = [_item(f"{path}: item {place}", entry) for place, entry in enumerate(entries)]
    return [item for item in items if item.calls]


def _item(where: str, entry: object) -> Item:
    match entry:
        case {"functions": list(functions), "ground_truth": list(truth), **rest}:
            name = rest.get("id", where)
            return Item(
                str(name), tuple(_tool(where, one) for one in functions), tuple(_call(where, one) for one in truth)
            )
        case _:
            raise BadFileError(f"{where}: expected an object with the lists 'functions' and 'ground_truth'")


def _tool(where: str, entry: object) -> ToolShape:
    match entry:
        case {"function": dict(inner)}:
            return _tool(where, inner)
        case {"name": str(name), **rest}:
            parameters = rest.get("parameters")
            return ToolShape(
                name, str(rest.get("description") or ""), parameters if isinstance(parameters, dict) else {}
            )
        case _:
            raise BadFileError(f"{where}: expected a function with a 'name'")


def _call(where: str, entry: object) -> ParsedCall:
    match entry:
        case {"name": str(name), "arguments": dict(arguments)}:
            return ParsedCall(name, arguments)
        case _:
            raise BadFileError(f"{where}: expected a call with 'name' and an object 'arguments'")


def score(format: Format, items: Sequence[Item]) -> Score:
    chance = random.Random(SEED)
    found = Score(items=len(items))
    for item in items:
        written = format.calls_text(item.calls)
        scanner = format.scanner(item.tools)
        events = [event for chunk in chunks(written, chance) for event in scanner.feed(chunk)]
        readings = {
            "complete": parse(format, written, item.tools),
            "streamed": collect_output([*events, *scanner.finish()]),
        }
        for way, reading in readings.items():
            expected, got = _shown(item.calls), _shown(reading.calls)
            if same(expected, got):
                setattr(found, way, getattr(found, way) + 1)
            else:
                why = tuple(broken.why for broken in reading.broken_calls)
                found.failures.append(Failure(item.id, way, written, expected, got, why))
    return found


def _shown(calls: Sequence[ParsedCall]) -> Json:
    return [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]


def report(scores: Mapping[str, Score]) -> str:
    rows = [
        [
            name,
            table.number(found.items),
            table.number(found.complete),
            table.number(found.streamed),
            table.number(100 * min(found.complete, found.streamed) / (found.items or 1), 1, " %"),
        ]
        for name, found in scores.items()
    ]
    lines = [table.render(["format", "items", "complete", "streamed", "share"], rows)]
    lines += [_told(name, failure) for name, found in scores.items() for failure in found.failures]
    return "\n".join(lines)


def _told(name: str, failure: Failure) -> str:
    return (
        f"\n{name} {failure.id} ({failure.way}): {', '.join(failure.broken) or 'other calls'}\n"
        f"  written  {failure.written!r}\n"
        f"  expected {json.dumps(failure.expected, ensure_ascii=False)}\n"
        f"  got      {json.dumps(failure.got, ensure_ascii=False)}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.format_roundtrip", description=__doc__)
    parser.add_argument("file", type=Path, help="a list of items with 'functions' and 'ground_truth'")
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), help="only these formats")
    parser.add_argument("--json", action="store_true", help="as JSON")
    asked = parser.parse_args(arguments)
    try:
        items = read(asked.file)
    except BadFileError as error:
        print(error, file=sys.stderr)
        return 2
    names = asked.format or [name for name in FORMATS if name not in UNWRITTEN]
    scores = {name: score(FORMATS[name], items) for name in sorted(names)}
    if asked.json:
        print(json.dumps({name: asdict(found) for name, found in scores.items()}, ensure_ascii=False, indent=1))
    else:
        print(report(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
