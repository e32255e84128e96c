"""GigaChat 3: an object behind <|function_call|>, or as a message of its own with the role `function call`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSigns

from .marked import Marked

FORMAT: Final = Marked(
    name="gigachat3",
    signs=JsonSigns(
        openers=("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>"),
        closers=("</s>",),
        strays=("<|message_sep|>",),
    ),
    around_each=("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
    between="",
    result_role="function result",
)
