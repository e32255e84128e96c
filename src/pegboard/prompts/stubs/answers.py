"""What a tool answered as a program gets it: what its output schema describes, or else a text."""

import json
from dataclasses import dataclass
from typing import Final

from pegboard.core.tool import Json, JsonObject
from pegboard.prompts.parts import describe_part

NOT_AS_DESCRIBED: Final = "The tool's answer is not what its output schema says: it has no structured content."


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    why: str


def program_answer(result: JsonObject, *, described: bool) -> Json | UnreadableAnswer:
    """Of a result of the protocol. `described`: the tool has an output schema, so its stub tells of that and no other.

    A tool without one gives a text, always, and also where the text is JSON: a program that reads it says so.
    """
    structured = result.get("structuredContent")
    if described:
        if structured is not None:
            return structured
        try:
            value: Json = json.loads(result_text(result))
        except (ValueError, RecursionError):
            return UnreadableAnswer(NOT_AS_DESCRIBED)
        return value
    text = result_text(result)
    if text or structured is None:
        return text
    return json.dumps(structured, ensure_ascii=False)


def result_text(result: JsonObject) -> str:
    """Its parts, a line between."""
    content = result.get("content")
    return (
        "\n".join(describe_part(each) for each in content if isinstance(each, dict))
        if isinstance(content, list)
        else ""
    )
