"""Phi-4 mini and FireFunction 2: an array behind the word `functools`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

SIGNS: Final = JsonSigns(
    openers=("functools", "<|tool_call|>"), closers=("<|/tool_call|>",), strays=("<|end|>", "<|eot_id|>")
)

FORMATS: Final = {
    name: Marked(name=name, signs=SIGNS, around=("functools", ""), listed=True)
    for name in ("json_phi4mini", "firefunction")
}
