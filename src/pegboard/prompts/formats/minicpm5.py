"""MiniCPM 5: <function name="…"> with a <param name="…"> for each argument, whose text may stand in CDATA."""

from typing import Final

from pegboard.prompts.engines.tag_signs import Tags

from .tagged import KEY, NAME, Tagged

# Its tokenizer's mark for a space comes through now and then, and so do tags without any.
SPACES: Final = "[\\s\u0120]*"

FORMAT: Final = Tagged(
    name="minicpm5",
    signs=Tags(
        openers=("<function",),
        closers=("</function>",),
        call_start="<function",
        call=f"<function{SPACES}name" + NAME,
        call_close="</function>",
        key_start="<param",
        key=f"<param(?:eter)?{SPACES}name" + KEY,
        value_close="</param>",
        cdata=True,
    ),
    call=('<function name="{name}">', "</function>"),
    argument=('<param name="{key}">', "</param>"),
)
