"""ERNIE 4.5: Hermes, with its answer between <response> tags."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="ernie45",
    syntax=JsonSyntax(
        openers=("<tool_call>",), closers=("</tool_call>",), stray_markers=("<response>", "</response>", "</think>")
    ),
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_around=("<tool_output>\n", "\n</tool_output>"),
)
