"""ERNIE 4.5: Hermes, with its answer between <response> tags."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
    name="ernie45",
    signs=JsonSigns(
        openers=("<tool_call>",), closers=("</tool_call>",), strays=("<response>", "</response>", "</think>")
    ),
    around_each=("<tool_call>\n", "\n</tool_call>"),
    result_around=("<tool_output>\n", "\n</tool_output>"),
)
