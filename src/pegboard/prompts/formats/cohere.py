"""Cohere Command R7B and A: an array with `tool_name` and `parameters` between <|START_ACTION|> and <|END_ACTION|>."""

from collections.abc import Sequence
from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.events import Called

from .marked import Marked, compact


class Cohere(Marked):
    def calls_text(self, calls: Sequence[Called]) -> str:
        if not calls:
            return ""
        told = [
            {"tool_call_id": str(place), "tool_name": call.name, "parameters": dict(call.arguments)}
            for place, call in enumerate(calls)
        ]
        return compact(told).join(self.around)


FORMAT: Final = Cohere(
    name="cohere",
    signs=JsonSigns(
        openers=("<|START_ACTION|>",),
        closers=("<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
        thinking=(("<|START_THINKING|>", "<|END_THINKING|>"),),
        strays=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    around=("<|START_ACTION|>", "<|END_ACTION|>"),
    listed=True,
)
