"""Formats that write all calls of a turn as one JSON array between two markers: Jamba, Apriel, Nemotron Nano 2."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMATS: Final = {
    "json_jamba": JsonFormat(
        name="json_jamba",
        syntax=JsonSyntax(openers=("<tool_calls>",), closers=("</tool_calls>",)),
        around=("<tool_calls>", "</tool_calls>"),
        as_list=True,
    ),
    "apriel": JsonFormat(
        name="apriel",
        syntax=JsonSyntax(
            openers=("<tool_calls>",),
            closers=("</tool_calls>", "<|end|>"),
            thinking_markers=(
                ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"),
                ("<thinking>", "</thinking>"),
            ),
            stray_markers=("[END FINAL RESPONSE]",),
        ),
        around=("<tool_calls>", "</tool_calls>"),
        as_list=True,
    ),
    "nemotron_v2": JsonFormat(
        name="nemotron_v2",
        syntax=JsonSyntax(openers=("<TOOLCALL>",), closers=("</TOOLCALL>",)),
        around=("<TOOLCALL>", "</TOOLCALL>"),
        tools_around=("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
        tools_as_list=True,
        as_list=True,
        result_around=("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),
    ),
}
