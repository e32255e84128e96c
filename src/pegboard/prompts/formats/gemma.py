"""Gemma 4 and FunctionGemma: call:name{key:value}, strings between quotes that no text has."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.engines.braces import BraceScanner, BraceSyntax
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.shapes import ToolShape

from .format import FormatMessage, FormattedResult
from .framing import escape_markers, frame_rule
from .marked import as_function, compact_json
from .wording import example_instructions


@dataclass(frozen=True)
class GemmaFormat:
    name: str
    syntax: BraceSyntax
    call_around: tuple[str, str]
    result_around: tuple[str, str]
    aliases: tuple[str, ...] = ()

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


FORMATS: Final[Mapping[str, GemmaFormat]] = {
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
