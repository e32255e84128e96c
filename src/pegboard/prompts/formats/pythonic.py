"""Formats that write calls as Python: a list (Llama 3.2 and 4, ToolACE, Gemma 3), between markers (LFM 2, OLMo 3), on
lines, in code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import (
    JSON_RESULT_RULE,
    FormatMessage,
    FormattedResult,
    as_function,
    compact_json,
    example_instructions,
    result_as_json,
)
from pegboard.prompts.python_literals import format_call
from pegboard.prompts.scanners.json_calls import FENCE
from pegboard.prompts.scanners.python_calls import PythonScanner, PythonSyntax
from pegboard.prompts.tool_shape import ToolShape


@dataclass(frozen=True)
class PythonicFormat:
    name: str
    syntax: PythonSyntax
    around: tuple[str, str] = ("[", "]")
    between: str = ", "
    result_role: str = "tool"

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return self.syntax.thinking_markers

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return example_instructions(
            "the name of the tool and its arguments by name",
            self.calls_text,
            "Every value is a plain Python literal: no variables, no expressions, no calls inside calls. "
            "Write nothing but the calls.",
            JSON_RESULT_RULE,
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        return "\n".join(compact_json(as_function(tool)) for tool in tools)

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        return self.between.join(format_call(call.name, call.arguments) for call in calls).join(self.around)

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        texts = [result_as_json(fed) for fed in results]
        if self.result_role == "user" and texts:
            return (FormatMessage("user", "\n".join(texts)),)
        return tuple(FormatMessage(self.result_role, text) for text in texts)

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> PythonScanner:
        return PythonScanner(self.syntax, tools, in_thinking=in_thinking)


FORMATS: Final[Mapping[str, PythonicFormat]] = {
    "pythonic": PythonicFormat(
        name="pythonic",
        syntax=PythonSyntax(
            openers=("<|python_start|>", "<|python_tag|>"),
            closers=("<|python_end|>", "<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>"),
            bare_openers="[",
            allows_inline=True,
        ),
    ),
    "pythonic_lfm2": PythonicFormat(
        name="pythonic_lfm2",
        syntax=PythonSyntax(
            openers=("<|tool_call_start|>",), closers=("<|tool_call_end|>",), stray_markers=("<|im_end|>",)
        ),
        around=("<|tool_call_start|>[", "]<|tool_call_end|>"),
    ),
    "pythonic_olmo3": PythonicFormat(
        name="pythonic_olmo3",
        syntax=PythonSyntax(
            openers=("<function_calls>",), closers=("</function_calls>",), stray_markers=("<|im_end|>",)
        ),
        around=("<function_calls>", "</function_calls>"),
        between="\n",
    ),
    "pythonic_bare": PythonicFormat(
        name="pythonic_bare",
        syntax=PythonSyntax(allows_lines=True),
        around=("", ""),
        between="\n",
        result_role="user",
    ),
    "pythonic_block": PythonicFormat(
        name="pythonic_block",
        syntax=PythonSyntax(openers=(FENCE,), closers=(FENCE,), opener_is_fence=True),
        around=(f"{FENCE}python\n", f"\n{FENCE}"),
        between="\n",
        result_role="user",
    ),
}
