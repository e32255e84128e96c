"""xLAM: a JSON array alone, in a fence, in <tool_call> tags or behind [TOOL_CALLS], as its trainers left it open."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="json_xlam",
    syntax=JsonSyntax(
        openers=("<tool_call>", "[TOOL_CALLS]", "```json", "```"),
        closers=("</tool_call>",),
        weak_openers=("```json", "```"),
        tails=("```",),
        bare_openers="{[",
    ),
    as_list=True,
)
