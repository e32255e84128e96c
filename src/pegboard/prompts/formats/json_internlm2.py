"""InternLM 2: an object between <|action_start|><|plugin|> and <|action_end|>."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
    name="json_internlm2",
    signs=JsonSigns(
        openers=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
        closers=("<|action_end|>",),
    ),
    around_each=("<|action_start|><|plugin|>", "<|action_end|>"),
    keys=("name", "parameters"),
    result_role="environment",
)
