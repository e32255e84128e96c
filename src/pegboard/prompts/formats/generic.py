"""JSON as servers ask it of models that know no format: the calls wrapped in an object, or in a fence of Markdown."""

from collections.abc import Sequence
from typing import Final

from pegboard.prompts.events import ParsedCall

from .marked import JsonFormat, compact_json
from .pure_json import SYNTAX


class GenericFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        told = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
        return compact_json({"tool_calls": told}) if told else ""


class GeminiFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return compact_json({"functionCall": {"name": call.name, "args": dict(call.arguments)}})


FORMATS: Final = {
    "json_generic": GenericFormat(name="json_generic", syntax=SYNTAX),
    "json_fenced": JsonFormat(name="json_fenced", syntax=SYNTAX, around_each=("```json\n", "\n```")),
    "gemini_json": GeminiFormat(name="gemini_json", syntax=SYNTAX),
}
