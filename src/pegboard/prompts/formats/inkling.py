"""Inkling: messages by kind of content; one that invokes a tool holds an object with its name and its arguments."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.engines.messages import InklingScanner

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="inkling",
    syntax=JsonSyntax(
        openers=("<|content_invoke_tool_json|>", InklingScanner.AUTHOR_MARKER),
        closers=("<|end_message|>", "<|content_model_end_sampling|>"),
        stray_markers=("<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>"),
        thinking_markers=(("<|content_thinking|>", "<|end_message|>"),),
    ),
    around_each=("<|message_model|><|content_invoke_tool_json|>", "<|end_message|>"),
    between="",
    keys=("name", "args"),
    scanner_type=InklingScanner,
)
