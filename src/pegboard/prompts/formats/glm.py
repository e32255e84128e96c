"""GLM 4.5 to 4.7, Ling 3 and Poolside: the name behind <tool_call>, then <arg_key> and <arg_value> in pairs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import GAP, TaggedFormat

KEY_TAG: Final = rf"<arg_key>(?P<key>[^<]*)</arg_key>{GAP}<arg_value>"

SYNTAX: Final = TagSyntax(
    openers=("<tool_call>",),
    closers=("</tool_call>",),
    stray_markers=("<|user|>", "<|observation|>", "<|endoftext|>"),
    call_close="</tool_call>",
    key_start="<arg_key>",
    key=KEY_TAG,
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)


def _glm_format(name: str, line: str, *aliases: str, signs: TagSyntax = SYNTAX) -> TaggedFormat:
    """They differ by the line breaks that their templates write between tags."""
    return TaggedFormat(
        name=name,
        aliases=aliases,
        syntax=signs,
        call=(f"<tool_call>{{name}}{line}", "</tool_call>"),
        argument=(f"<arg_key>{{key}}</arg_key>{line}<arg_value>", f"</arg_value>{line}"),
        between=line,
        result_around=("<tool_response>\n", "\n</tool_response>"),
    )


FORMATS: Final[Mapping[str, TaggedFormat]] = {
    "glm45": _glm_format("glm45", "\n", "glm46", "glm4_moe"),
    "glm47": _glm_format("glm47", "", "glm47_moe"),
    "ling3": _glm_format("ling3", "\n"),
    "poolside_v1": _glm_format("poolside_v1", "\n", signs=replace(SYNTAX, trim=True)),
}
