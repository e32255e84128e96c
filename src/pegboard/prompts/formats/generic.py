"""JSON as servers ask it of models that know no format: the calls wrapped in an object, or in a fence of Markdown."""

from collections.abc import Sequence
from typing import Final

from pegboard.prompts.events import Called

from .marked import Marked, compact
from .pure_json import SIGNS


class Generic(Marked):
    def calls_text(self, calls: Sequence[Called]) -> str:
        told = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
        return compact({"tool_calls": told}) if told else ""


class Gemini(Marked):
    def call_text(self, call: Called) -> str:
        return compact({"functionCall": {"name": call.name, "args": dict(call.arguments)}})


FORMATS: Final = {
    "json_generic": Generic(name="json_generic", signs=SIGNS),
    "json_fenced": Marked(name="json_fenced", signs=SIGNS, around_each=("```json\n", "\n```")),
    "gemini_json": Gemini(name="gemini_json", signs=SIGNS),
}
