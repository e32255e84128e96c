"""xLAM: a JSON array alone, in a fence, in <tool_call> tags or behind [TOOL_CALLS], as its trainers left it open."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
    name="json_xlam",
    signs=JsonSigns(
        openers=("<tool_call>", "[TOOL_CALLS]", "```json", "```"),
        closers=("</tool_call>",),
        weak=("```json", "```"),
        tails=("```",),
        bare="{[",
    ),
    listed=True,
)
