"""JSON alone: an object with a name and arguments, several of them in an array, under whatever keys models use. It
counts only for a known tool, since an answer may be JSON too."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

SYNTAX: Final = JsonSyntax(
    openers=("```json", "```tool_call", "```tool_code", "```"),
    weak_openers=("```json", "```tool_call", "```tool_code", "```"),
    tails=("```",),
    bare_openers="{[",
)

FORMAT: Final = JsonFormat(name="json", aliases=("pure_json", "purejson"), syntax=SYNTAX)
