"""InternLM 2: an object between <|action_start|><|plugin|> and <|action_end|>."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="json_internlm2",
    syntax=JsonSyntax(
        openers=("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
        closers=("<|action_end|>",),
    ),
    around_each=("<|action_start|><|plugin|>", "<|action_end|>"),
    keys=("name", "parameters"),
    result_role="environment",
)
