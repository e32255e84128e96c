"""DeepSeek V3.2 and V4: tags with the prefix DSML, each argument with a note whether it is text or JSON."""

from collections.abc import Mapping
from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import TaggedFormat

BAR: Final = "\uff5c"
OPEN: Final = f"<{BAR}DSML{BAR}"
CLOSE: Final = f"</{BAR}DSML{BAR}"


def _dsml_format(name: str, block: str, *aliases: str) -> TaggedFormat:
    """They differ by the word for the block."""
    return TaggedFormat(
        name=name,
        aliases=aliases,
        syntax=TagSyntax(
            openers=(f"{OPEN}{block}>", f"{OPEN}invoke"),
            closers=(f"{CLOSE}invoke>", f"{CLOSE}{block}>"),
            stray_markers=(f"<{BAR}end▁of▁sentence{BAR}>",),
            call_start=f"{OPEN}invoke",
            call=OPEN + r'invoke\s+name\s*=\s*"(?P<name>[^"<>\n]*)"\s*>',
            call_close=f"{CLOSE}invoke>",
            block_close=f"{CLOSE}{block}>",
            key_start=f"{OPEN}parameter",
            key=OPEN + r'parameter\s+name\s*=\s*"(?P<key>[^"<>\n]*)"(?:\s+string\s*=\s*"(?P<text>true|false)")?\s*>',
            value_close=f"{CLOSE}parameter>",
        ),
        block=(f"{OPEN}{block}>\n", f"\n{CLOSE}{block}>"),
        call=(OPEN + 'invoke name="{name}">\n', f"{CLOSE}invoke>"),
        argument=(OPEN + 'parameter name="{key}" string="{string}">', f"{CLOSE}parameter>\n"),
        result_role="user",
        result_around=("<result>", "</result>"),
        results_around=("<function_results>\n", "\n</function_results>"),
    )


FORMATS: Final[Mapping[str, TaggedFormat]] = {
    "deepseek_v32": _dsml_format("deepseek_v32", "function_calls"),
    "deepseek_v4": _dsml_format("deepseek_v4", "tool_calls"),
}
