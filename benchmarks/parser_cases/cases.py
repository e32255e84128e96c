"""Recorded outputs of models and what is known of each: the calls in it, the tools there were, the prompt before it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegboard.prompts.formats import Format
from pegboard.prompts.tool_shape import ToolShape

EDGES = re.compile(r"<(?:bos|eos)>")
"""Tokens around an output that no server passes on."""
ANY_END = re.compile(r"end(?!.*think)", re.IGNORECASE)
"""A marker that ends messages of every kind tells nothing of thinking."""


TUNING, HELD_OUT = HALVES = ("tuning", "held-out")
"""Rules are made by the misses of the one half and measured on the other, whose misses nobody looks at."""


@dataclass(frozen=True)
class Expected:
    calls: tuple[tuple[str, Any], ...]
    content: str | None
    """None: the record says nothing of it."""
    thinking: str | None


@dataclass(frozen=True)
class Case:
    number: int
    format: str
    text: str
    expected: Expected
    tools: tuple[ToolShape, ...]
    chunks: tuple[str, ...]
    """As they were recorded, empty where they were not or do not add up to the text."""
    reader: str
    """What it was recorded from."""
    source: str
    note: str
    probe: bool
    """What was seen that a parser does, and nobody says that it is right."""
    prompt: str | None
    splits_thinking: bool | None
    """Whether the reader was told to; None where it was not asked."""
    forced: bool
    repaired: bool = False
    """Whether a call in it needs a repair, which has to be told."""

    @property
    def half(self) -> str:
        """By format and text, so that two records of one output are never divided."""
        said = " ".join((self.format, *self.text.split()))
        return HALVES[hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[0] % 2]

    def in_thinking(self, format: Format) -> bool:
        """Whether the prompt has opened the thinking; where no prompt is recorded, whether the text closes what it
        never opened."""
        for start, end in format.thinking_markers:
            prompt = self.prompt or ""
            if start in prompt and end not in prompt[prompt.rfind(start) :]:
                return self.splits_thinking is not False
            at = -1 if ANY_END.search(end) else self.text.find(end)
            if at >= 0 and start not in self.text[:at] and self.splits_thinking is None:
                return True
        return False


class BadFileError(ValueError):
    """The file is not of the shape; the message says where."""


def read(path: Path) -> list[Case]:
    """Raises `BadFileError`."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFileError(f"{path}: {error}") from None
    if isinstance(records, dict) and isinstance(records.get("records"), list):
        # A file of ours: the tools that it begins with are those of every record that has none of its own.
        records = [{"tools": records.get("tools"), **record} for record in records["records"]]
    if not isinstance(records, list) or not records:
        raise BadFileError(f"{path}: expected a list of records, each with 'format', 'text' and 'expected'")
    return [_read(f"{path}: record {number}", number, record) for number, record in enumerate(records)]


def _read(where: str, number: int, record: Any) -> Case:
    match record:
        case {"format": str(), "text": str(), "expected": {"calls": list()} | {"code_blocks": list()}}:
            try:
                return case(number, record)
            except (KeyError, TypeError, AttributeError) as error:
                raise BadFileError(f"{where}: it cannot be read: {type(error).__name__}: {error}") from None
        case _:
            raise BadFileError(f"{where}: expected an object with 'format', 'text' and in 'expected' a list of 'calls'")


def case(number: int, record: Mapping[str, Any]) -> Case:
    expected = record["expected"]
    text = EDGES.sub("", record["text"])
    chunks = tuple(record.get("stream_chunks") or ())
    said_nothing = record.get("content_not_asserted") or expected.get("content") is None
    reasoning_format = record.get("reasoning_format")
    return Case(
        number=number,
        format=record["format"],
        text=text,
        expected=Expected(calls_of(expected), None if said_nothing else expected["content"], expected.get("reasoning")),
        tools=tuple(shape(tool) for tool in record.get("tools") or ()),
        chunks=chunks if "".join(chunks) == text else (),
        reader=record.get("impl", ""),
        source=record.get("source", ""),
        note=record.get("note") or "",
        probe=record.get("strength", "").startswith("probe"),
        prompt=record.get("generation_prompt"),
        splits_thinking=None if reasoning_format is None else reasoning_format != "none",
        forced=record.get("tool_choice") == "required",
        repaired=bool(record.get("repaired")),
    )


def calls_of(expected: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    blocks: Sequence[str] | None = expected.get("code_blocks")
    if blocks is not None:
        return tuple(("python_execution", {"code": block}) for block in blocks)
    return tuple((call["name"], call["arguments"]) for call in expected["calls"])


def shape(tool: Mapping[str, Any]) -> ToolShape:
    function = tool.get("function") or tool
    return ToolShape(function.get("name", ""), function.get("description") or "", function.get("parameters") or {})
