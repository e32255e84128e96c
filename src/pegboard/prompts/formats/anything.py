"""Any call in JSON by whatever marker: for models of which nobody knows what they write."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat
from .mistral import FORMAT as MISTRAL
from .mistral import MistralScanner

SYNTAX: Final = JsonSyntax(
    openers=(
        "<tool_call>",
        "<TOOL_CALL>",
        "<toolcall>",
        "<|tool_call|>",
        "<function_call>",
        "<tool_calls>",
        "<TOOLCALL>",
        "<|python_tag|>",
        "[TOOL_CALLS]",
        "```json",
        "```tool_call",
        "```",
    ),
    closers=(
        "</tool_call>",
        "</TOOL_CALL>",
        "</toolcall>",
        "</function_call>",
        "</tool_calls>",
        "</TOOLCALL>",
        "<|im_end|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "</s>",
    ),
    weak_openers=("```json", "```tool_call", "```"),
    tails=("```",),
    thinking_markers=(("<think>", "</think>"), ("[THINK]", "[/THINK]")),
    bare_openers="{[",
    header=MISTRAL.syntax.header,
)

FORMAT: Final = JsonFormat(
    name="pipeline_default",
    aliases=("any",),
    syntax=SYNTAX,
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
    scanner_type=MistralScanner,
)
