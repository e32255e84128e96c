"""Harmony (gpt-oss): messages on channels; one to functions.NAME holds the arguments as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.engines.messages import HarmonyScanner, MessageSyntax
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.shapes import ToolShape

from .format import FormatMessage, FormattedResult
from .framing import DEFAULT_FRAME, frame_result, frame_rule
from .marked import compact_json
from .wording import example_instructions

SYNTAX: Final = MessageSyntax(
    header_markers=("<|start|>", "<|channel|>"),
    closers=("<|call|>", "<|end|>", "<|return|>"),
    thinking_markers=(("<|channel|>analysis<|message|>", "<|end|>"),),
)


@dataclass(frozen=True)
class HarmonyFormat:
    name: str = "harmony"
    aliases: tuple[str, ...] = ("gpt_oss",)

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return SYNTAX.thinking_markers

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
        return HarmonyScanner(SYNTAX, tools, in_thinking=in_thinking)


FORMAT: Final = HarmonyFormat()
