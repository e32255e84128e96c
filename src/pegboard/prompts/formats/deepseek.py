"""DeepSeek V3, R1 and V3.1: the name behind a marker, the arguments as JSON, in a fence (V3) or not (V3.1). Each reads
the other's, since servers and models are mixed up often enough."""

from dataclasses import dataclass
from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax
from pegboard.prompts.events import ParsedCall

from .marked import JsonFormat, headed_call


def special_token(words: str) -> str:
    """Its markers stand between wide bars, with low blocks for spaces."""
    return "<\uff5c" + words.replace(" ", "\u2581") + "\uff5c>"


BEGIN, END, SEPARATOR = special_token("tool call begin"), special_token("tool call end"), special_token("tool sep")
ALL_BEGIN, ALL_END = special_token("tool calls begin"), special_token("tool calls end")

SYNTAX: Final = JsonSyntax(
    openers=(BEGIN,),
    closers=(END, ALL_END, special_token("end of sentence")),
    tails=("```",),
    stray_markers=(ALL_BEGIN,),
    header=rf"\s*(?:function\s*{SEPARATOR}\s*)?([\w.\-/]+)\s*(?:{SEPARATOR})?\s*(?:```(?:json)?)?",
)


@dataclass(frozen=True)
class DeepSeekFormat(JsonFormat):
    uses_fence: bool = False

    def call_text(self, call: ParsedCall) -> str:
        if self.uses_fence:
            fence = f"function{SEPARATOR}{call.name}\n```json\n"
            return headed_call("", call.arguments, fence) + "\n```"
        return headed_call(call.name, call.arguments, SEPARATOR)


FORMATS: Final = {
    name: DeepSeekFormat(
        name=name,
        syntax=SYNTAX,
        around=(ALL_BEGIN, ALL_END),
        around_each=(BEGIN, END),
        between="\n" if fenced else "",
        result_around=(special_token("tool output begin"), special_token("tool output end")),
        uses_fence=fenced,
    )
    for name, fenced in (("deepseek_v3", True), ("deepseek_v31", False))
}
