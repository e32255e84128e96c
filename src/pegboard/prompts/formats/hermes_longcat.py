"""LongCat: Hermes in tags of its own."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="hermes_longcat",
    syntax=JsonSyntax(
        openers=("<longcat_tool_call>",),
        closers=("</longcat_tool_call>",),
        thinking_markers=(("<longcat_think>", "</longcat_think>"), ("<think>", "</think>")),
    ),
    around_each=("<longcat_tool_call>\n", "\n</longcat_tool_call>"),
    result_role="user",
    result_around=("<longcat_tool_response>\n", "\n</longcat_tool_response>"),
)
