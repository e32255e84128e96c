"""DeepSeek V3, R1 and V3.1: the name behind a marker, the arguments as JSON, in a fence (V3) or not (V3.1). Each reads
the other's, since servers and models are mixed up often enough."""

from dataclasses import dataclass
from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns
from pegboard.prompts.events import Called

from .marked import Marked, headed


def mark(words: str) -> str:
    """Its markers stand between wide bars, with low blocks for spaces."""
    return "<\uff5c" + words.replace(" ", "\u2581") + "\uff5c>"


BEGIN, END, SEPARATOR = mark("tool call begin"), mark("tool call end"), mark("tool sep")
ALL_BEGIN, ALL_END = mark("tool calls begin"), mark("tool calls end")

SIGNS: Final = JsonSigns(
    openers=(BEGIN,),
    closers=(END, ALL_END, mark("end of sentence")),
    tails=("```",),
    strays=(ALL_BEGIN,),
    header=rf"\s*(?:function\s*{SEPARATOR}\s*)?([\w.\-/]+)\s*(?:{SEPARATOR})?\s*(?:```(?:json)?)?",
)


@dataclass(frozen=True)
class DeepSeek(Marked):
    fenced: bool = False

    def call_text(self, call: Called) -> str:
        if self.fenced:
            fence = f"function{SEPARATOR}{call.name}\n```json\n"
            return headed("", call.arguments, fence) + "\n```"
        return headed(call.name, call.arguments, SEPARATOR)


FORMATS: Final = {
    name: DeepSeek(
        name=name,
        signs=SIGNS,
        around=(ALL_BEGIN, ALL_END),
        around_each=(BEGIN, END),
        between="\n" if fenced else "",
        result_around=(mark("tool output begin"), mark("tool output end")),
        fenced=fenced,
    )
    for name, fenced in (("deepseek_v3", True), ("deepseek_v31", False))
}
