"""Hunyuan: the pairs of GLM behind <tool_sep>, all calls in one <tool_calls>. Older ones write a JSON array there."""

from collections.abc import Mapping
from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .glm import KEY_TAG
from .tagged import TaggedFormat

SYNTAX: Final = TagSyntax(
    openers=("<tool_calls>", "<tool_call>"),
    closers=("</tool_call>", "</tool_calls>"),
    stray_markers=("<answer>", "</answer>"),
    call_start="<tool_call>",
    call=r"<tool_call>\s*(?P<name>[^<>\s]*)\s*<tool_sep>",
    tag_end="<tool_sep>",
    call_close="</tool_call>",
    block_close="</tool_calls>",
    key_start="<arg_key>",
    key=KEY_TAG,
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)


def _hunyuan_format(name: str) -> TaggedFormat:
    return TaggedFormat(
        name=name,
        syntax=SYNTAX,
        block=("<tool_calls>\n", "\n</tool_calls>"),
        call=("<tool_call>{name}<tool_sep>\n", "</tool_call>"),
        argument=("<arg_key>{key}</arg_key>\n<arg_value>", "</arg_value>\n"),
        result_around=("<tool_response>\n", "\n</tool_response>"),
    )


FORMATS: Final[Mapping[str, TaggedFormat]] = {"hunyuan": _hunyuan_format("hunyuan"), "hy_v3": _hunyuan_format("hy_v3")}
