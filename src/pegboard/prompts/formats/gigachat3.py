"""GigaChat 3: an object behind <|function_call|>, or as a message of its own with the role `function call`."""

from typing import Final

from pegboard.prompts.engines.json_signs import JsonSyntax

from .marked import JsonFormat

FORMAT: Final = JsonFormat(
    name="gigachat3",
    syntax=JsonSyntax(
        openers=("<|function_call|>", "<|message_sep|>\n\nfunction call<|role_sep|>", "function call<|role_sep|>"),
        closers=("</s>",),
        stray_markers=("<|message_sep|>",),
    ),
    around_each=("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""),
    between="",
    result_role="function result",
)
