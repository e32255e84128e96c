"""MiniMax M2: <invoke name="…"> with a <parameter name="…"> for each argument, in <minimax:tool_call>."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import NAMED_ARGUMENT, NAMED_CALL, TaggedFormat

FORMAT: Final = TaggedFormat(
    name="minimax_m2",
    syntax=TagSyntax(
        openers=("<minimax:tool_call>", "<invoke"),
        closers=("</invoke>", "</minimax:tool_call>"),
        stray_markers=("[e~[",),
        call_start="<invoke",
        call="<invoke" + NAMED_CALL,
        call_close="</invoke>",
        block_close="</minimax:tool_call>",
        key_start="<parameter",
        key="<parameter" + NAMED_ARGUMENT,
        value_close="</parameter>",
    ),
    block=("<minimax:tool_call>\n", "\n</minimax:tool_call>"),
    call=('<invoke name="{name}">\n', "</invoke>"),
    argument=('<parameter name="{key}">', "</parameter>\n"),
    result_around=("<response>", "</response>"),
)
