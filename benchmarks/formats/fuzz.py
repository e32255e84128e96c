"""`python -m benchmarks.formats.fuzz FILE [--texts N] [--seed N] [--limit SECONDS]`: recorded outputs, cut, spliced and
spoilt, read by every format; what must hold for every text is checked for each."""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parser_cases.cases import Case, read
from benchmarks.parser_cases.invariants import chunks, cut_call, faults, streamed, whole
from pegboard.prompts.events import join_events
from pegboard.prompts.formats import FORMATS, Format, find_format
from pegboard.prompts.tool_shape import ToolShape

SINGLE = list("{}[]()\"'\\,:;<>=\n\t /|`#-")
MARKERS = (
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "</parameter>",
    "<parameter=",
    "</function>",
    "<function=",
    "<invoke name=",
    "<arg_key>",
    "</arg_value>",
    "<|tool_call_begin|>",
    "<|channel|>",
    "<|python_tag|>",
    "```json\n",
    "```python\n",
    "```",
    ">>>",
    '"""',
    "'''",
    "\\u12",
    "\\ud83d",
    "é",
    "\u201c",
    "\u2028",
    "\x00",
    '{"name": "',
    '"arguments": {',
    "[{",
    "}]",
)


@dataclass(frozen=True)
class Text:
    format: str
    text: str
    tools: tuple[ToolShape, ...]
    in_thinking: bool


@dataclass(frozen=True)
class Bad:
    text: Text
    why: str


def spoilt(cases: Sequence[Case], formats: Sequence[str], chance: random.Random) -> Text:
    """A recorded output, or two, with a few accidents; mostly in its own format."""
    case = chance.choice(cases)
    text = case.text + (chance.choice(cases).text if chance.random() < 0.3 else "")
    for _ in range(chance.randint(0, 6)):
        start, end = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        accident = chance.randrange(5)
        if accident == 0:
            text = text[:start] + chance.choice((*SINGLE, *MARKERS)) + text[start:]
        elif accident == 1:
            text = text[:start] + text[min(end, start + 5) :]
        elif accident == 2:
            text = text[:end]
        elif accident == 3:
            text = text[:end] + text[start:]
        else:
            text = text[:start] + chance.choice(MARKERS) * chance.randint(1, 3) + text[end:]
    format = case.format if case.format in formats and chance.random() < 0.8 else chance.choice(formats)
    return Text(format, text[:20_000], case.tools if chance.random() < 0.7 else (), chance.random() < 0.2)


def fault(format: Format, text: Text, chance: random.Random) -> str | None:
    """What must hold and does not."""
    events = join_events(whole(format, text.text, text.tools, text.in_thinking))
    if wrong := faults(events, text.text):
        return wrong
    parts = list(chunks(text.text, chance))
    cut = join_events(streamed(format, parts, text.tools, text.in_thinking))
    size = chance.randint(0, len(text.text))
    if wrong := cut_call(format, whole(format, text.text[:size], text.tools, text.in_thinking), events):
        return f"cut after {size} characters: {wrong}"
    return None if cut == events else f"in chunks {parts!r} it gives {cut!r}, in one piece {events!r}"


def fuzzed(
    cases: Sequence[Case],
    formats: Sequence[str],
    count: int,
    seed: int,
    limit: float,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[Counter[str], list[Bad], float]:
    """How many texts by format, those that broke a rule, and the longest time that one took."""
    chance = random.Random(seed)
    read: Counter[str] = Counter()
    bad: list[Bad] = []
    longest = 0.0
    for done in range(count):
        text = spoilt(cases, formats, chance)
        format = find_format(text.format)
        assert format is not None
        read[text.format] += 1
        began = time.process_time()
        try:
            why = fault(format, text, chance)
        except Exception as error:  # noqa: BLE001  # that nothing is ever raised is what is measured
            why = f"raised {error!r}"
        spent = time.process_time() - began
        longest = max(longest, spent)
        if why is None and spent > limit:
            why = f"took {spent:.1f} seconds"
        if why is not None:
            bad.append(Bad(text, why))
        progress(done)
    return read, bad, longest


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats.fuzz", description=__doc__)
    parser.add_argument("file", type=Path, help="recorded cases: a JSON array")
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of CPU time that one text may take")
    parser.add_argument("--format", action="append", help="only these")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    formats = chosen.format or list(FORMATS)
    cases = read(chosen.file)

    def progress(done: int) -> None:
        if done % 5_000 == 4_999:
            print(f"{done + 1:,} texts", file=sys.stderr)

    texts, bad, longest = fuzzed(cases, formats, chosen.texts, chosen.seed, chosen.limit, progress)
    if chosen.json:
        told = [{"format": one.text.format, "text": one.text.text, "why": one.why} for one in bad]
        print(json.dumps({"texts": dict(texts), "bad": told, "longest_seconds": longest}, ensure_ascii=False))
        return 1 if bad else 0
    print(f"{sum(texts.values()):,} texts in {len(texts)} formats, {len(bad)} broke a rule, longest {longest:.3f} s")
    for one in bad[:20]:
        print(f"\n{one.text.format}: {one.why[:900]}\n  {one.text.text[:600]!r}")
        print(f"  tools {[tool.name for tool in one.text.tools]}, in_thinking {one.text.in_thinking}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
