"""dots: <invoke name="…"> with a <parameter name="…"> for each argument, in <dots_function_call>."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import NAMED_ARGUMENT, NAMED_CALL, TaggedFormat

FORMAT: Final = TaggedFormat(
    name="dots",
    syntax=TagSyntax(
        openers=("<dots_function_call>", "<invoke"),
        closers=("</invoke>", "</dots_function_call>"),
        call_start="<invoke",
        call="<invoke" + NAMED_CALL,
        call_close="</invoke>",
        block_close="</dots_function_call>",
        key_start="<parameter",
        key="<parameter" + NAMED_ARGUMENT,
        value_close="</parameter>",
        trim=True,
    ),
    block=("<dots_function_call>", "</dots_function_call>"),
    call=('<invoke name="{name}">', "</invoke>"),
    argument=('<parameter name="{key}">', "</parameter>"),
    between="",
)
