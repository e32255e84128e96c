"""Kimi K3: elements between <|open|> and <|close|>, each argument with its type."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import TaggedFormat


def _open(element: str) -> str:
    return f"<|open|>{element}<|sep|>"


def _close(element: str) -> str:
    return f"<|close|>{element}<|sep|>"


FORMAT: Final = TaggedFormat(
    name="kimi_k3",
    syntax=TagSyntax(
        openers=(_open("tools"), "<|open|>call"),
        closers=(_close("call"), _close("tools"), _close("message")),
        stray_markers=(_open("response"), _close("response"), _open('message role="assistant"'), "<|end_of_msg|>"),
        thinking_markers=((_open("think"), _close("think")),),
        call_start="<|open|>call",
        call=r'<\|open\|>call\s+tool="(?P<name>[^"<>\n]*)"[^<>\n]*<\|sep\|>',
        call_close=_close("call"),
        block_close=_close("tools"),
        key_start="<|open|>argument",
        key=r'<\|open\|>argument\s+key="(?P<key>[^"<>\n]*)"(?:\s+type="(?P<kind>\w+)")?[^<>\n]*<\|sep\|>',
        tag_end="<|sep|>",
        value_close=_close("argument"),
    ),
    block=(_open("tools"), _close("tools")),
    call=(_open('call tool="{name}" index="{index}"'), _close("call")),
    argument=(_open('argument key="{key}" type="{kind}"'), _close("argument")),
    between="",
)
