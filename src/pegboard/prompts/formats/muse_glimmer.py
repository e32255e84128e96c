"""Muse Glimmer: messages with a recipient; one to a tool holds <atem:invoke name="…"> with its parameters."""

from typing import Final

from pegboard.prompts.engines.messages import FramedTagScanner, FramedTagSyntax

from .tagged import NAMED_ARGUMENT, NAMED_CALL, TaggedFormat

FORMAT: Final = TaggedFormat(
    name="muse_glimmer",
    syntax=FramedTagSyntax(
        openers=("<atem:function_calls>", "<atem:invoke", "<|eom|>", "<|eot|>"),
        closers=("</atem:invoke>", "</atem:function_calls>"),
        thinking_markers=(),
        call_start="<atem:invoke",
        call="<atem:invoke" + NAMED_CALL,
        call_close="</atem:invoke>",
        block_close="</atem:function_calls>",
        key_start="<atem:parameter",
        key="<atem:parameter" + NAMED_ARGUMENT,
        value_close="</atem:parameter>",
        header=r"(?:<\|start\|>\s*assistant)?\s*to=([^\s<]+)\s*<\|message\|>",
        header_start="<|start|>",
        message_ends=("<|eom|>", "<|eot|>"),
    ),
    block=("<|start|>assistant to=tools<|message|><atem:function_calls>\n", "\n</atem:function_calls><|eom|>"),
    call=('<atem:invoke name="{name}">\n', "</atem:invoke>"),
    argument=('<atem:parameter name="{key}">', "</atem:parameter>\n"),
    scanner_type=FramedTagScanner,
)
