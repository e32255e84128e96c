"""GLM 4.5 to 4.7, Ling 3 and Poolside: the name behind <tool_call>, then <arg_key> and <arg_value> in pairs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pegboard.prompts.engines.tag_signs import Tags

from .tagged import GAP, Tagged

KEY_TAG: Final = rf"<arg_key>(?P<key>[^<]*)</arg_key>{GAP}<arg_value>"

SIGNS: Final = Tags(
    openers=("<tool_call>",),
    closers=("</tool_call>",),
    strays=("<|user|>", "<|observation|>", "<|endoftext|>"),
    call_close="</tool_call>",
    key_start="<arg_key>",
    key=KEY_TAG,
    key_close="</arg_key>",
    value_start="<arg_value>",
    value_close="</arg_value>",
)


def _glm(name: str, line: str, *aliases: str, signs: Tags = SIGNS) -> Tagged:
    """They differ by the line breaks that their templates write between tags."""
    return Tagged(
        name=name,
        aliases=aliases,
        signs=signs,
        call=(f"<tool_call>{{name}}{line}", "</tool_call>"),
        argument=(f"<arg_key>{{key}}</arg_key>{line}<arg_value>", f"</arg_value>{line}"),
        between=line,
        result_around=("<tool_response>\n", "\n</tool_response>"),
    )


FORMATS: Final[Mapping[str, Tagged]] = {
    "glm45": _glm("glm45", "\n", "glm46", "glm4_moe"),
    "glm47": _glm("glm47", "", "glm47_moe"),
    "ling3": _glm("ling3", "\n"),
    "poolside_v1": _glm("poolside_v1", "\n", signs=replace(SIGNS, trim=True)),
}
