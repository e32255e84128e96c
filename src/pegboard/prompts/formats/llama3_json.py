"""Llama 3 in JSON: `{"name": …, "parameters": {…}}`, several divided by semicolons, with or without <|python_tag|>."""

import re
from typing import Final

from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.scanner import MAX_HEADER_LENGTH

from .format import FormattedResult
from .framing import RESULT_IS_DATA, result_as_json
from .marked import JsonFormat

_PYTHON: Final = re.compile(r"([\w\-]+)(?:\.call)?\(").match
_PYTHON_BEGUN: Final = re.compile(r"[\w.\-]+\Z").match


class LlamaScanner(JsonScanner):
    """A known tool that is called as Python behind the marker, as Llama 3.1 calls those it was trained with, is told as
    a call that is none: other Python behind the marker is meant for an interpreter, and is text."""

    def after_opener(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().after_opener(text, place, end)
        found = _PYTHON(text, place)
        if found is None and not self.is_final and end - place < MAX_HEADER_LENGTH and _PYTHON_BEGUN(text, place):
            return ~place
        if found is not None and self.has_tools and self.is_known_tool(found.group(1)):
            self.begin_unreadable()
            return place
        return super().after_opener(text, place, end)


class LlamaFormat(JsonFormat):
    @property
    def result_rule(self) -> str:
        return f"What comes back as a JSON object with a tool and its output {RESULT_IS_DATA}"

    def result_text(self, fed: FormattedResult) -> str:
        return result_as_json(fed)


FORMAT: Final = LlamaFormat(
    name="llama3_json",
    syntax=JsonSyntax(
        openers=("<|python_tag|>", "```json", "```"),
        closers=("<|eom_id|>", "<|eot_id|>"),
        weak_openers=("```json", "```"),
        tails=("```",),
        bare_openers="{[",
        allows_inline=True,
    ),
    keys=("name", "parameters"),
    between="; ",
    result_role="ipython",
    scanner_type=LlamaScanner,
)
