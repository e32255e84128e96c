"""Hermes: a JSON object between <tool_call> tags. Hermes 2 and 3, Qwen 2.5 and 3, Granite 4 and others write it."""

from typing import Final

from pegboard.prompts.engines.foreign import ForeignScanner
from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.thinking import THINK_MARKERS

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="hermes",
    syntax=JsonSyntax(
        openers=("<tool_call>", "<TOOL_CALL>", "<toolcall>", "<tool_call ", "```json", "```"),
        closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>", "<|im_end|>"),
        text_closers=("</tool_call>", "</TOOL_CALL>", "</toolcall>"),
        weak_openers=("```json", "```"),
        tails=("```",),
        thinking_markers=(*THINK_MARKERS, ("<scratch_pad>", "</scratch_pad>")),
        bare_openers="{[",
        allows_inline=True,
    ),
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
    scanner_type=ForeignScanner,
)
