"""Formats of a shape of their own: Harmony, Gemma and MiniMax M3."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.json.values import MAX_JSON_DEPTH, Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    DEFAULT_FRAME,
    Format,
    FormatMessage,
    FormattedResult,
    as_function,
    compact_json,
    escape_markers,
    example_instructions,
    frame_result,
    frame_rule,
)
from pegboard.prompts.formats.tag_formats import NAME, TaggedFormat
from pegboard.prompts.scanners.braces import BraceScanner, BraceSyntax
from pegboard.prompts.scanners.messages import HarmonyScanner, MessageSyntax
from pegboard.prompts.scanners.tags import TagScanner, TagSyntax
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import BareWord, CoercedValue, parameter_schema, read_typed, resolve_bare_words

# Harmony (gpt-oss): messages on channels; one to functions.NAME holds the arguments as JSON.

HARMONY_SYNTAX: Final = MessageSyntax(
    header_markers=("<|start|>", "<|channel|>"),
    closers=("<|call|>", "<|end|>", "<|return|>"),
    thinking_markers=(("<|channel|>analysis<|message|>", "<|end|>"),),
)


@dataclass(frozen=True)
class HarmonyFormat:
    name: str = "harmony"

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return HARMONY_SYNTAX.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return example_instructions(
            "the name of the tool behind functions. and a JSON object of its arguments",
            self.calls_text,
            "Think on the analysis channel, call on the commentary channel and answer on the final channel.",
            frame_rule(DEFAULT_FRAME),
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """One line of comment and one of type for each tool, as the model saw its tools in training."""
        lines = ["# Tools", "", "## functions", "", "namespace functions {", ""]
        for tool in tools:
            lines += [f"// {line}" for line in tool.description.splitlines()]
            lines += [f"type {tool.name} = (_: {compact_json(dict(tool.parameters))}) => any;", ""]
        return "\n".join([*lines, "} // namespace functions"])

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        return "".join(
            f"<|start|>assistant<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
            f"{json.dumps(dict(call.arguments), ensure_ascii=False)}<|call|>"
            for call in calls
        )

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        return tuple(FormatMessage("tool", frame_result(fed, DEFAULT_FRAME)) for fed in results)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> HarmonyScanner:
        return HarmonyScanner(HARMONY_SYNTAX, tools, in_thinking=in_thinking)


HARMONY_FORMAT: Final = HarmonyFormat()


# Gemma 4 and FunctionGemma: call:name{key:value}, strings between quotes that no text has.


@dataclass(frozen=True)
class GemmaFormat:
    name: str
    syntax: BraceSyntax
    call_around: tuple[str, str]
    result_around: tuple[str, str]

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return self.syntax.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        quote = self.syntax.quote
        return example_instructions(
            "the name of the tool and its arguments",
            self.calls_text,
            f"Put every text between {quote} and {quote}, and nothing else.",
            frame_rule(self.result_around),
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        return "\n".join(compact_json(as_function(tool)) for tool in tools)

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        return "".join(
            f"call:{call.name}{self.value_text(dict(call.arguments))}".join(self.call_around) for call in calls
        )

    def value_text(self, value: Json) -> str:
        match value:
            case str():
                return self.quote_text(value)
            case dict():
                return (
                    "{" + ",".join(f"{self.key_text(key)}:{self.value_text(one)}" for key, one in value.items()) + "}"
                )
            case list():
                return "[" + ",".join(map(self.value_text, value)) + "]"
            case _:
                return json.dumps(value)

    def key_text(self, key: str) -> str:
        return key if key.replace("_", "").replace("-", "").replace(".", "").isalnum() else self.quote_text(key)

    def quote_text(self, said: str) -> str:
        quote = self.syntax.quote
        # A text that holds the quote itself goes between plain ones, whose escapes are read.
        return json.dumps(said, ensure_ascii=False) if quote in said else said.join((quote, quote))

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        before, behind = self.result_around
        return tuple(
            FormatMessage(
                "tool", f"{before}response:{self.key_text(fed.name)}{self.value_text({'result': said})}{behind}"
            )
            for fed in results
            for said in (escape_markers(fed.text, before, behind, self.syntax.quote),)
        )

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> BraceScanner:
        return BraceScanner(self.syntax, tools, in_thinking=in_thinking)


GEMMA_FORMATS: Final[Mapping[str, GemmaFormat]] = {
    "gemma4": GemmaFormat(
        name="gemma4",
        syntax=BraceSyntax(
            openers=("<|tool_call>",),
            closers=("<tool_call|>",),
            stray_markers=("<turn|>", "<eos>", "<|tool_response>"),
            thinking_markers=(("<|channel>thought\n", "<channel|>"),),
            quote='<|"|>',
        ),
        call_around=("<|tool_call>", "<tool_call|>"),
        result_around=("<|tool_response>", "<tool_response|>"),
    ),
    "functiongemma": GemmaFormat(
        name="functiongemma",
        syntax=BraceSyntax(
            openers=("<start_function_call>",),
            closers=("<end_function_call>",),
            stray_markers=("<end_of_turn>", "<start_function_response>"),
            quote="<escape>",
        ),
        call_around=("<start_function_call>", "<end_function_call>"),
        result_around=("<start_function_response>", "<end_function_response>"),
    ),
}


# MiniMax M3: tags behind a prefix of their own, an argument's name as its tag, objects and lists as tags in tags.

PREFIX: Final = "]<]minimax[>["
ITEM: Final = "item"
"""The tag of each element of a list."""

_escaped_prefix: Final = re.escape(PREFIX)
_tag: Final = re.compile(_escaped_prefix + r"<(/?)([^<>/\s]+)>")
_safe: Final = re.compile(r"[^<>/\s\"'=]+\Z").match


class TreeScanner(TagScanner):
    """A tag inside a value may have the name of the argument, so the open ones are counted."""

    counted_parts, open_tags = 0, 0

    def begin_raw(self) -> None:
        super().begin_raw()
        self.counted_parts, self.open_tags = 0, 0

    def closes_inner_tag(self) -> bool:
        self.open_tags += "".join(self.raw_parts[self.counted_parts :]).count(f"{PREFIX}<{self.key}>")
        self.counted_parts = len(self.raw_parts)
        if not self.open_tags:
            return False
        self.open_tags -= 1
        return True

    def read_value(self, raw: str) -> CoercedValue | str:
        if PREFIX not in raw:
            return super().read_value(raw)
        value = parse_tree(raw)
        if value is None:
            return "has tags that are not closed in order"
        schema = parameter_schema(self.tool, self.key)
        return resolve_bare_words(value, schema, self.tool.parameters if self.tool else {}), ()


def parse_tree(raw: str) -> Json:
    """The object or list that tags in a value are; None where they do not close as they opened."""
    open_tags: list[tuple[str, list[tuple[str, Json]]]] = [("", [])]
    place = 0
    said = ""
    for found in _tag.finditer(raw):
        said = raw[place : found.start()]
        place = found.end()
        closing, name = found.groups()
        if not closing:
            if said.strip() or len(open_tags) > MAX_JSON_DEPTH:
                return None
            open_tags.append((name, []))
            continue
        opened, members = open_tags.pop()
        if opened != name or not open_tags or (members and said.strip()):
            return None
        open_tags[-1][1].append((name, _tree_value(members) if members else BareWord(said)))
    if len(open_tags) != 1 or raw[place:].strip() or PREFIX in said:
        return None
    return _tree_value(open_tags[0][1])


def _tree_value(members: list[tuple[str, Json]]) -> Json:
    names = {name for name, _ in members}
    if names == {ITEM} or len(names) < len(members):
        return [value for _, value in members] if len(names) == 1 else None
    return dict(members)


class TreeFormat(TaggedFormat):
    def value_text(self, value: Json) -> str:
        if isinstance(value, dict | list) and value and _reads_back(value):
            members = value.items() if isinstance(value, dict) else ((ITEM, one) for one in value)
            return "".join(f"{PREFIX}<{key}>{self.value_text(one)}{PREFIX}</{key}>" for key, one in members)
        return super().value_text(value)


def _reads_back(value: Json) -> bool:
    """Whether it reads back from tags alone: JSON does where a key is no tag, or a text looks like a number."""
    match value:
        case str():
            return read_typed(value, None)[0] == value and PREFIX not in value
        case dict():
            return (
                bool(value) and ITEM not in value and all(_safe(key) and _reads_back(one) for key, one in value.items())
            )
        case list():
            return bool(value) and all(map(_reads_back, value))
        case _:
            return True


MINIMAX_M3_FORMAT: Final = TreeFormat(
    name="minimax_m3",
    syntax=TagSyntax(
        openers=(f"{PREFIX}<tool_call>", f"{PREFIX}<invoke"),
        closers=(f"{PREFIX}</invoke>", f"{PREFIX}</tool_call>"),
        stray_markers=("[e~[",),
        thinking_markers=(("<mm:think>", "</mm:think>"), ("<think>", "</think>")),
        call_start=f"{PREFIX}<invoke",
        call=_escaped_prefix + "<invoke\\s+name" + NAME,
        call_close=f"{PREFIX}</invoke>",
        block_close=f"{PREFIX}</tool_call>",
        key_start=f"{PREFIX}<",
        key=_escaped_prefix + r"<(?P<key>[^<>/\s]+)>",
        tag_end=">",
        value_close=PREFIX + "</{key}>",
    ),
    block=(f"{PREFIX}<tool_call>\n", f"\n{PREFIX}</tool_call>"),
    call=(PREFIX + '<invoke name="{name}">', f"{PREFIX}</invoke>"),
    argument=(PREFIX + "<{key}>", PREFIX + "</{key}>"),
    scanner_type=TreeScanner,
)


FORMATS: Final[Mapping[str, Format]] = {
    **GEMMA_FORMATS,
    "harmony": HARMONY_FORMAT,
    "minimax_m3": MINIMAX_M3_FORMAT,
}
