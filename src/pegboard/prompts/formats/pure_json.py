"""JSON alone: an object with a name and arguments, several of them in an array, under whatever keys models use. It
counts only for a known tool, since an answer may be JSON too."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

SIGNS: Final = JsonSigns(
    openers=("```json", "```tool_call", "```tool_code", "```"),
    weak=("```json", "```tool_call", "```tool_code", "```"),
    tails=("```",),
    bare="{[",
)

FORMAT: Final = Marked(name="json", aliases=("pure_json", "purejson"), signs=SIGNS)
