"""Cohere Command R7B and A: an array with `tool_name` and `parameters` between <|START_ACTION|> and <|END_ACTION|>."""

from collections.abc import Sequence
from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall

from .marked import JsonFormat, compact_json


class CohereFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        if not calls:
            return ""
        told = [
            {"tool_call_id": str(place), "tool_name": call.name, "parameters": dict(call.arguments)}
            for place, call in enumerate(calls)
        ]
        return compact_json(told).join(self.around)


FORMAT: Final = CohereFormat(
    name="cohere",
    syntax=JsonSyntax(
        openers=("<|START_ACTION|>",),
        closers=("<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
        thinking_markers=(("<|START_THINKING|>", "<|END_THINKING|>"),),
        stray_markers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    around=("<|START_ACTION|>", "<|END_ACTION|>"),
    as_list=True,
)
