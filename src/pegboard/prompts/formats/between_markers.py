"""Formats that write all calls of a turn as one JSON array between two markers: Jamba, Apriel, Nemotron Nano 2."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMATS: Final = {
    "json_jamba": Marked(
        name="json_jamba",
        signs=JsonSigns(openers=("<tool_calls>",), closers=("</tool_calls>",)),
        around=("<tool_calls>", "</tool_calls>"),
        listed=True,
    ),
    "apriel": Marked(
        name="apriel",
        signs=JsonSigns(
            openers=("<tool_calls>",),
            closers=("</tool_calls>", "<|end|>"),
            thinking=(("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"), ("<thinking>", "</thinking>")),
            strays=("[END FINAL RESPONSE]",),
        ),
        around=("<tool_calls>", "</tool_calls>"),
        listed=True,
    ),
    "nemotron_v2": Marked(
        name="nemotron_v2",
        signs=JsonSigns(openers=("<TOOLCALL>",), closers=("</TOOLCALL>",)),
        around=("<TOOLCALL>", "</TOOLCALL>"),
        tools_around=("<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>"),
        tools_listed=True,
        listed=True,
        result_around=("<TOOL_RESPONSE>", "</TOOL_RESPONSE>"),
    ),
}
