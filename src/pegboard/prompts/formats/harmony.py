"""Harmony (gpt-oss): messages on channels; one to functions.NAME holds the arguments as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.engines.messages import HarmonyScanner, MessageSigns
from pegboard.prompts.events import Called
from pegboard.prompts.shapes import ToolShape

from .format import Fed, Message
from .framing import NAMED, framed, told
from .marked import compact
from .wording import taught

SIGNS: Final = MessageSigns(
    begins=("<|start|>", "<|channel|>"),
    closers=("<|call|>", "<|end|>", "<|return|>"),
    thinking=(("<|channel|>analysis<|message|>", "<|end|>"),),
)


@dataclass(frozen=True)
class Harmony:
    name: str = "harmony"
    aliases: tuple[str, ...] = ("gpt_oss",)

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return SIGNS.thinking

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return taught(
            "the name of the tool behind functions. and a JSON object of its arguments",
            self.calls_text,
            "Think on the analysis channel, call on the commentary channel and answer on the final channel.",
            told(NAMED),
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """One line of comment and one of type for each tool, as the model saw its tools in training."""
        lines = ["# Tools", "", "## functions", "", "namespace functions {", ""]
        for tool in tools:
            lines += [f"// {line}" for line in tool.description.splitlines()]
            lines += [f"type {tool.name} = (_: {compact(dict(tool.parameters))}) => any;", ""]
        return "\n".join([*lines, "} // namespace functions"])

    def calls_text(self, calls: Sequence[Called]) -> str:
        return "".join(
            f"<|start|>assistant<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
            f"{json.dumps(dict(call.arguments), ensure_ascii=False)}<|call|>"
            for call in calls
        )

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        return tuple(Message("tool", framed(fed, NAMED)) for fed in results)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> HarmonyScanner:
        return HarmonyScanner(SIGNS, tools, in_thinking=in_thinking)


FORMAT: Final = Harmony()
