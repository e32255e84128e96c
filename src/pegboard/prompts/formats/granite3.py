"""Granite 3: a JSON array behind <|tool_call|>, which servers may swallow."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
    name="granite3",
    signs=JsonSigns(
        openers=("<|tool_call|>", "<tool_call>"),
        closers=("</tool_call>", "<|end_of_text|>"),
        bare="{[",
    ),
    around=("<|tool_call|>", ""),
    listed=True,
    result_role="tool_response",
)
