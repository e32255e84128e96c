"""Qwen3-Coder, Qwen 3.5 and 3.6, Nemotron 3 and Step 3.5: <function=name> with a <parameter=key> for each argument."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import KEY, NAME, TaggedFormat

FORMAT: Final = TaggedFormat(
    name="qwen3_coder",
    aliases=("qwen3_xml", "nemotron_v3", "step3p5"),
    syntax=TagSyntax(
        openers=("<tool_call>", "<function"),
        closers=("</function>", "</tool_call>"),
        stray_markers=("<|im_end|>",),
        call_start="<function",
        call="<function(?:\\s+name)?" + NAME,
        call_close="</function>",
        block_close="</tool_call>",
        key_start="<parameter",
        key="<parameter(?:\\s+name)?" + KEY,
        value_close="</parameter>",
        trim=True,
    ),
    block=("<tool_call>\n", "\n</tool_call>"),
    block_each=True,
    call=("<function={name}>\n", "</function>"),
    argument=("<parameter={key}>\n", "\n</parameter>\n"),
    result_role="user",
    result_around=("<tool_response>\n", "\n</tool_response>"),
)
