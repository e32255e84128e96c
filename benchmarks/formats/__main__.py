"""`python -m benchmarks.formats [--json] [--format NAME] [--quick]`: how fast each format reads what it renders, whole
and in chunks of four characters, beside json.loads on the same arguments in the same run."""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks import table
from pegboard.prompts.events import CallDoneEvent, ParsedCall
from pegboard.prompts.formats import FORMATS, Format
from pegboard.prompts.tool_shape import ToolShape

CHUNK = 4
FEWEST, MOST, LONG_ENOUGH = 3, 40, 0.4
"""Runs of a job at least and at most, and the seconds after which no more are needed."""
CODE = 'def f(x):\n    """doc"""\n    return {"a": [x, \'y\']}  # <b> & \\d\n'
TOOL = ToolShape(
    "write",
    "Write a file.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}, "content": {"type": "string"}},
    },
)
SIZES = (1 << 10, 1 << 14, 1 << 16, 1 << 20)
COUNTS = (1, 100, 1000)
USUAL = ("hermes", "mistral", "llama3_json", "kimi_k2", "qwen3_coder", "glm47", "pythonic", "codemode")
PYTHON = frozenset(("pythonic", "pythonic_lfm2", "pythonic_olmo3", "pythonic_bare", "pythonic_block", "codemode"))
TAGGED = frozenset(
    (
        "qwen3_coder",
        "glm45",
        "glm47",
        "deepseek_v32",
        "deepseek_v4",
        "minimax_m2",
        "minimax_m3",
        "seed_oss",
        "step3",
        "kimi_k3",
        "hunyuan",
        "hy_v3",
        "poolside_v1",
        "minicpm5",
        "muse_glimmer",
        "dots",
        "ling3",
    )
)


@dataclass(frozen=True)
class Row:
    format: str
    job: str
    characters: int
    floor: float
    """Millions of characters a second by json.loads."""
    complete: float
    streamed: float
    """In chunks of four characters."""
    goal_complete: float | None
    goal_streamed: float | None

    @property
    def met(self) -> bool:
        return self.complete >= (self.goal_complete or 0) and self.streamed >= (self.goal_streamed or 0)


def spent(act: Callable[[], object]) -> float:
    """The least CPU time of several runs: the others met other work on the machine."""
    runs: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(runs) < FEWEST or (len(runs) < MOST and sum(runs) < LONG_ENOUGH):
            began = time.process_time()
            act()
            runs.append(time.process_time() - began)
    finally:
        gc.enable()
    return max(min(runs), 1e-7)


def goals(format: str, size: int, count: int) -> tuple[float | None, float | None]:
    """Millions of characters a second, complete and streamed."""
    if count >= 1000:
        return None, 1.0
    if count > 1 or size < 1 << 14:
        return None, None
    complete = 12.0 if format in PYTHON else 100.0
    return complete, 1.8 if format in TAGGED else 2.0


def calls(format: str, size: int, count: int) -> list[ParsedCall]:
    value = (CODE * (size // len(CODE) + 1))[:size]
    if format == "codemode":
        # Code that is cut within a string would not be Python.
        return [ParsedCall("python_execution", {"code": (CODE * max(1, size // len(CODE))).rstrip("\n")})] * count
    return [ParsedCall("write", {"path": f"a{place}.py", "n": place, "content": value}) for place in range(count)]


def measured(name: str, size: int, count: int) -> Row:
    format = FORMATS[name]
    made = calls(name, size, count)
    text = format.calls_text(made)
    _check(format, text, made)
    parts = [text[place : place + CHUNK] for place in range(0, len(text), CHUNK)]
    raw = json.dumps([dict(call.arguments) for call in made])
    millions = len(text) / 1e6
    complete, streamed = goals(name, size, count)
    job = f"{size >> 10:,} KB argument" if count == 1 and size >= 1 << 10 else f"{count:,} small calls"
    return Row(
        name,
        job,
        len(text),
        len(raw) / 1e6 / spent(lambda: json.loads(raw)),
        millions / spent(lambda: _whole(format, text)),
        millions / spent(lambda: _streamed(format, parts)),
        complete,
        streamed,
    )


def _whole(format: Format, text: str) -> None:
    scanner = format.scanner((TOOL,))
    scanner.feed(text)
    scanner.finish()


def _streamed(format: Format, parts: Sequence[str]) -> None:
    scanner = format.scanner((TOOL,))
    feed = scanner.feed
    for part in parts:
        feed(part)
    scanner.finish()


def _check(format: Format, text: str, made: Sequence[ParsedCall]) -> None:
    scanner = format.scanner((TOOL,))
    got = [event.call for event in (*scanner.feed(text), *scanner.finish()) if isinstance(event, CallDoneEvent)]
    if [(call.name, call.arguments) for call in got] != [(call.name, call.arguments) for call in made]:
        raise SystemExit(f"{format.name} does not read back what it renders; see benchmarks.format_roundtrip")


def rows(names: Sequence[str], quick: bool) -> Iterator[Row]:
    jobs = [(size, 1) for size in SIZES] + [(20, count) for count in COUNTS]
    if quick:
        jobs = [(1 << 14, 1), (20, 100)]
    for name in names:
        for size, count in jobs:
            yield measured(name, size, count)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one size and one number of calls")
    parser.add_argument("--format", action="append", help=f"instead of {', '.join(USUAL)}")
    parser.add_argument("--all", action="store_true", help="every format")
    chosen = parser.parse_args(arguments)
    names = chosen.format or [name for name in (FORMATS if chosen.all else USUAL) if name in FORMATS]
    names = [name for name in names if name != "native"]
    found: list[Row] = []
    for row in rows(names, chosen.quick):
        print(f"{row.format}, {row.job}", file=sys.stderr)
        found.append(row)
    if chosen.json:
        print(json.dumps([{**asdict(row), "met": row.met} for row in found], indent=1))
        return 0
    print(
        table.render(("format", "job", "characters", "json.loads", "complete", "streamed", "goals", ""), _cells(found))
    )
    print("\nMillions of characters a second, CPU time, the best of several runs. Streamed is in chunks of four.")
    return 0


def _cells(found: Sequence[Row]) -> list[list[str]]:
    return [
        [
            row.format,
            row.job,
            f"{row.characters:,}",
            table.number(row.floor, 1),
            table.number(row.complete, 1),
            table.number(row.streamed, 2),
            f"{table.number(row.goal_complete)} / {table.number(row.goal_streamed, 1)}",
            "" if row.goal_streamed is None else "met" if row.met else "missed",
        ]
        for row in found
    ]


if __name__ == "__main__":
    sys.exit(main())
