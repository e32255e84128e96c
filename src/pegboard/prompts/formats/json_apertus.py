"""Apertus: an array of objects of one key each, which is the name of the tool: `[{"name": {…}}]`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall

from .marked import JsonFormat, compact_json


class ApertusFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return compact_json({call.name: dict(call.arguments)})


FORMAT: Final = ApertusFormat(
    name="json_apertus",
    syntax=JsonSyntax(
        openers=("<|tools_prefix|>",),
        closers=("<|tools_suffix|>", "<|assistant_end|>"),
        thinking_markers=(("<|inner_prefix|>", "<|inner_suffix|>"), ("<think>", "</think>")),
        name_is_key=True,
    ),
    around=("<|tools_prefix|>", "<|tools_suffix|>"),
    as_list=True,
)
