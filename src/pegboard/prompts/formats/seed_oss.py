"""Seed-OSS: the tags of Qwen3-Coder inside <seed:tool_call>, with values on the line of their tags."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import KEY, NAME, TaggedFormat

FORMAT: Final = TaggedFormat(
    name="seed_oss",
    syntax=TagSyntax(
        openers=("<seed:tool_call>", "<function"),
        closers=("</function>", "</seed:tool_call>"),
        stray_markers=("<seed:eos>",),
        thinking_markers=(("<seed:think>", "</seed:think>"), ("<think>", "</think>")),
        call_start="<function",
        call="<function(?:\\s+name)?" + NAME,
        call_close="</function>",
        block_close="</seed:tool_call>",
        key_start="<parameter",
        key="<parameter(?:\\s+name)?" + KEY,
        value_close="</parameter>",
        trim=True,
    ),
    block=("<seed:tool_call>\n", "\n</seed:tool_call>"),
    block_each=True,
    call=("<function={name}>\n", "</function>"),
    argument=("<parameter={key}>", "</parameter>\n"),
)
