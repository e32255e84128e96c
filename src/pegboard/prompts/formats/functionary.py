"""Functionary and Llama's own recipe: `<function=NAME>{…}</function>`; Functionary 3.2 writes `>>>NAME`, a line break
and the arguments, and `>>>all` before text. The prompt ends in `>>>`, so an output begins as if it stood there."""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.scanner import MAX_HEADER_LENGTH
from pegboard.prompts.shapes import ToolShape

from .marked import JsonFormat, headed_call

ARROWS, TAG, ALL = ">>>", "<function=", "all\n"
_NAME: Final = re.compile(r"([\w.\-]+)\n\s*\Z")
_PART: Final = re.compile(r"[\w.\-]+(?:\n\s*)?\Z")


class FunctionaryScanner(JsonScanner):
    def __init__(self, signs: JsonSyntax, tools: Sequence[ToolShape] = (), *, in_thinking: bool = False) -> None:
        super().__init__(signs, tools, in_thinking=in_thinking)
        if not in_thinking:
            self.state = self.at_name

    def open(self, word: str) -> bool:
        super().open(word)
        if word == ARROWS:
            self.state = self.at_name
        return False

    def at_name(self, text: str, place: int, end: int) -> int:
        """Behind the arrows, and at the beginning: a name and a line break, then an object; or `all` and text."""
        if text.startswith(ALL, place):
            self.emit_markup(self.take_source() + ALL)
            self.state = self.in_text
            return place + len(ALL)
        at = text.find("{", place, place + MAX_HEADER_LENGTH)
        head = text[place : at if at >= 0 else place + MAX_HEADER_LENGTH]
        found = _NAME.match(head) if at >= 0 else None
        if found is not None and self.is_known_tool(found.group(1)):
            self.source.append(head)
            self.in_list = self.is_bare = False
            self.begin_headed(found.group(1))
            return at
        if at < 0 and len(head) < MAX_HEADER_LENGTH and not self.is_final and _PART.match(head):
            return ~place
        self.treat_as_text()
        self._opening_forbidden = False
        return place


class FunctionaryFormat(JsonFormat):
    def call_text(self, call: ParsedCall) -> str:
        return headed_call(call.name, call.arguments, ">")


SYNTAX: Final = JsonSyntax(openers=(TAG,), closers=("</function>", "<|eom_id|>", "<|eot_id|>"), header=r"([\w.\-]+)>")

FORMATS: Final = {
    "functionary": FunctionaryFormat(
        name="functionary",
        syntax=JsonSyntax(openers=(TAG, ARROWS), closers=SYNTAX.closers, header=SYNTAX.header),
        around_each=(TAG, "</function>"),
        scanner_type=FunctionaryScanner,
    ),
    "llama_function_tag": FunctionaryFormat(
        name="llama_function_tag", syntax=SYNTAX, around_each=(TAG, "</function>"), result_role="ipython"
    ),
}
