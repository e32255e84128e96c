"""Granite 3: a JSON array behind <|tool_call|>, which servers may swallow."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="granite3",
    syntax=JsonSyntax(
        openers=("<|tool_call|>", "<tool_call>"),
        closers=("</tool_call>", "<|end_of_text|>"),
        bare_openers="{[",
    ),
    around=("<|tool_call|>", ""),
    as_list=True,
    result_role="tool_response",
)
