"""Llama 3 in JSON: `{"name": …, "parameters": {…}}`, several divided by semicolons, with or without <|python_tag|>."""

import re
from typing import Final

from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.scanner import HEADER_MOST

from .format import Fed
from .framing import NO_ORDER, as_json
from .marked import Marked

_PYTHON: Final = re.compile(r"([\w\-]+)(?:\.call)?\(").match
_PYTHON_BEGUN: Final = re.compile(r"[\w.\-]+\Z").match


class LlamaScanner(JsonScanner):
    """A known tool that is called as Python behind the marker, as Llama 3.1 calls those it was trained with, is told as
    a call that is none: other Python behind the marker is meant for an interpreter, and is text."""

    def opened(self, text: str, place: int, end: int) -> int:
        if self.is_bare or self.in_list:
            return super().opened(text, place, end)
        found = _PYTHON(text, place)
        if found is None and not self.final and end - place < HEADER_MOST and _PYTHON_BEGUN(text, place):
            return ~place
        if found is not None and self.known_tools and self.known(found.group(1)):
            self.begin_unread()
            return place
        return super().opened(text, place, end)


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
    scanner_type=LlamaScanner,
)
