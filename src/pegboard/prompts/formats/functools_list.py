"""Phi-4 mini and FireFunction 2: an array behind the word `functools`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

SYNTAX: Final = JsonSyntax(
    openers=("functools", "<|tool_call|>"), closers=("<|/tool_call|>",), stray_markers=("<|end|>", "<|eot_id|>")
)

FORMATS: Final = {
    name: JsonFormat(name=name, syntax=SYNTAX, around=("functools", ""), as_list=True)
    for name in ("json_phi4mini", "firefunction")
}
