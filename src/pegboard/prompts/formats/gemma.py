"""Gemma 4 and FunctionGemma: call:name{key:value}, strings between quotes that no text has."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.engines.braces import BraceScanner, BraceSigns
from pegboard.prompts.events import Called
from pegboard.prompts.shapes import ToolShape

from .format import Fed, Message
from .framing import harmless, told
from .marked import as_function, compact
from .wording import taught


@dataclass(frozen=True)
class Gemma:
    name: str
    signs: BraceSigns
    call_around: tuple[str, str]
    result_around: tuple[str, str]
    aliases: tuple[str, ...] = ()

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return self.signs.thinking

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        quote = self.signs.quote
        return taught(
            "the name of the tool and its arguments",
            self.calls_text,
            f"Put every text between {quote} and {quote}, and nothing else.",
            told(self.result_around),
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        return "\n".join(compact(as_function(tool)) for tool in tools)

    def calls_text(self, calls: Sequence[Called]) -> str:
        return "".join(
            f"call:{call.name}{self.value_text(dict(call.arguments))}".join(self.call_around) for call in calls
        )

    def value_text(self, value: Json) -> str:
        match value:
            case str():
                return self.quoted(value)
            case dict():
                return (
                    "{" + ",".join(f"{self.key_text(key)}:{self.value_text(one)}" for key, one in value.items()) + "}"
                )
            case list():
                return "[" + ",".join(map(self.value_text, value)) + "]"
            case _:
                return json.dumps(value)

    def key_text(self, key: str) -> str:
        return key if key.replace("_", "").replace("-", "").replace(".", "").isalnum() else self.quoted(key)

    def quoted(self, said: str) -> str:
        quote = self.signs.quote
        # A text that holds the quote itself goes between plain ones, whose escapes are read.
        return json.dumps(said, ensure_ascii=False) if quote in said else said.join((quote, quote))

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        before, behind = self.result_around
        return tuple(
            Message("tool", f"{before}response:{self.key_text(fed.name)}{self.value_text({'result': said})}{behind}")
            for fed in results
            for said in (harmless(fed.text, before, behind, self.signs.quote),)
        )

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> BraceScanner:
        return BraceScanner(self.signs, tools, in_thinking=in_thinking)


FORMATS: Final[Mapping[str, Gemma]] = {
    "gemma4": Gemma(
        name="gemma4",
        signs=BraceSigns(
            openers=("<|tool_call>",),
            closers=("<tool_call|>",),
            strays=("<turn|>", "<eos>", "<|tool_response>"),
            thinking=(("<|channel>thought\n", "<channel|>"),),
            quote='<|"|>',
        ),
        call_around=("<|tool_call>", "<tool_call|>"),
        result_around=("<|tool_response>", "<tool_response|>"),
    ),
    "functiongemma": Gemma(
        name="functiongemma",
        signs=BraceSigns(
            openers=("<start_function_call>",),
            closers=("<end_function_call>",),
            strays=("<end_of_turn>", "<start_function_response>"),
            quote="<escape>",
        ),
        call_around=("<start_function_call>", "<end_function_call>"),
        result_around=("<start_function_response>", "<end_function_response>"),
    ),
}
