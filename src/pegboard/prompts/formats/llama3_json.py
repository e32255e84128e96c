"""Llama 3 in JSON: `{"name": …, "parameters": {…}}`, several divided by semicolons, with or without <|python_tag|>."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
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
