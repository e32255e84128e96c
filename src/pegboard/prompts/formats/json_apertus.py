"""Apertus: an array of objects of one key each, which is the name of the tool: `[{"name": {…}}]`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.events import Called

from .marked import Marked, compact


class Apertus(Marked):
    def call_text(self, call: Called) -> str:
        return compact({call.name: dict(call.arguments)})


FORMAT: Final = Apertus(
    name="json_apertus",
    signs=JsonSigns(
        openers=("<|tools_prefix|>",),
        closers=("<|tools_suffix|>", "<|assistant_end|>"),
        thinking=(("<|inner_prefix|>", "<|inner_suffix|>"), ("<think>", "</think>")),
        keyed=True,
    ),
    around=("<|tools_prefix|>", "<|tools_suffix|>"),
    listed=True,
)
