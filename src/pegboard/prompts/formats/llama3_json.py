"""Llama 3 in JSON: `{"name": …, "parameters": {…}}`, several divided by semicolons, with or without <|python_tag|>."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .format import Fed
from .framing import NO_ORDER, as_json
from .marked import Marked


class Llama(Marked):
    @property
    def result_rule(self) -> str:
        return f"What comes back as a JSON object with a tool and its output {NO_ORDER}"

    def result_text(self, fed: Fed) -> str:
        return as_json(fed)


FORMAT: Final = Llama(
    name="llama3_json",
    signs=JsonSigns(
        openers=("<|python_tag|>", "```json", "```"),
        closers=("<|eom_id|>", "<|eot_id|>"),
        weak=("```json", "```"),
        tails=("```",),
        bare="{[",
        anywhere=True,
    ),
    keys=("name", "parameters"),
    between="; ",
    result_role="ipython",
)
