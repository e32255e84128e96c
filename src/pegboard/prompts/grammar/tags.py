"""Calls as structural tags: text as the model likes, and from a marker on what a call has to be."""

import json
import re
from collections.abc import Sequence
from typing import Final

from pegboard.core.folded import materialize
from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.formats import Format
from pegboard.prompts.shapes import ToolShape

from .frames import find_frame

_MIN_MARKER_LENGTH: Final = 2
"""Characters: a shorter trigger would fire in any text."""


def _common_marker(begins: Sequence[str]) -> str | None:
    """What all calls begin with, as far as it is the format's own and no JSON."""
    shortest = min(begins, key=len)
    same = next((at for at in range(len(shortest)) if any(each[at] != shortest[at] for each in begins)), len(shortest))
    marker = re.split(r"\n|(?<=.)\{", shortest[:same])[0].rstrip()
    return None if len(marker) < _MIN_MARKER_LENGTH or marker.startswith(("{", "[{", '["')) else marker


def structural_tags(format: Format, tools: Sequence[ToolShape], *, must_call: bool = False) -> str | None:
    """In the notation of xgrammar, which vLLM and SGLang take. `None` where the format writes no JSON arguments, or has
    no marker by which a call could be told from text."""
    framed = find_frame(format, tools)
    if framed is None or framed.uses_keywords:
        return None
    trigger = _common_marker([*framed.first.values()])
    if trigger is None:
        return None
    tags: list[Json] = [
        {
            "type": "tag",
            "begin": framed.first[tool.name],
            "content": {"type": "json_schema", "json_schema": {"type": "object", **tool.parameters}},
            "end": framed.last,
        }
        for tool in tools
    ]
    inside: JsonObject = {
        "type": "triggered_tags",
        "triggers": [trigger],
        "tags": tags,
        "at_least_one": must_call,
        "stop_after_first": False,
    }
    return json.dumps({"type": "structural_tag", "format": inside}, ensure_ascii=False, default=materialize)
