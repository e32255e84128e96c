"""MiniCPM 5: <function name="…"> with a <param name="…"> for each argument, whose text is XML or CDATA."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import KEY_REST, NAME_REST, TaggedFormat

# Its tokenizer's mark for a space comes through now and then, and so do tags without any.
NAME_ATTRIBUTE: Final = "(?>(?:[\\s\u0120](?:[^<>]*?[\\s\u0120])?)?name\\s*+=)"

FORMAT: Final = TaggedFormat(
    name="minicpm5",
    syntax=TagSyntax(
        openers=("<function",),
        closers=("</function>",),
        call_start="<function",
        call="<function" + NAME_ATTRIBUTE + NAME_REST,
        call_close="</function>",
        key_start="<param",
        key="<param(?:eter)?" + NAME_ATTRIBUTE + KEY_REST,
        value_close="</param>",
        between=("<arguments>", "</arguments>"),
        strip=True,
        cdata=True,
        entities=True,
    ),
    call=('<function name="{name}">', "</function>"),
    argument=('<param name="{key}">', "</param>"),
)
