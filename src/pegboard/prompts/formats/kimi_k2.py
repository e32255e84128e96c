"""Kimi K2: the id of the call, which holds the name, between markers, then the arguments as JSON."""

import re
from collections.abc import Sequence
from typing import Final

from pegboard.prompts.engines.json_calls import JsonScanner
from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall

from .marked import JsonFormat, headed_call

BEGIN, END, ARGUMENTS = "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"
ALL_BEGIN, ALL_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"


class KimiScanner(JsonScanner):
    def header_name(self, header: re.Match[str]) -> str | None:
        """`functions.NAME:INDEX` is an id. Without an index it is one only if there is such a tool."""
        name: str = header.group(1)
        numbered = header.group(2) is not None and not name.isdigit()
        return name if numbered or self.names.match(name).tool is not None else None


class KimiFormat(JsonFormat):
    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        texts = [
            headed_call(f"functions.{call.name}:{place}", call.arguments, ARGUMENTS).join((BEGIN, END))
            for place, call in enumerate(calls)
        ]
        return "".join(texts).join(self.around) if texts else ""


FORMAT: Final = KimiFormat(
    name="kimi_k2",
    syntax=JsonSyntax(
        openers=(BEGIN,),
        closers=(END, ALL_END, "<|tool_call_section_end|>", "<|im_end|>"),
        stray_markers=(ALL_BEGIN, "<|tool_call_section_begin|>", ARGUMENTS),
        header=rf"\s*(?:functions\.)?([\w.\-/]+?)(:\d+)?\s*{re.escape(ARGUMENTS)}",
    ),
    around=(ALL_BEGIN, ALL_END),
    scanner_type=KimiScanner,
)
