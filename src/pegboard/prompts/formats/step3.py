"""Step 3: <steptml:invoke name="…"> with a <steptml:parameter name="…"> for each argument, among empty markers."""

from typing import Final

from pegboard.prompts.engines.tag_signs import TagSyntax

from .tagged import NAMED_ARGUMENT, NAMED_CALL, TaggedFormat

BAR: Final = "\uff5c"

FORMAT: Final = TaggedFormat(
    name="step3",
    syntax=TagSyntax(
        openers=("<steptml:invoke",),
        closers=("</steptml:invoke>", f"<{BAR}tool_call_end{BAR}>", f"<{BAR}tool_calls_end{BAR}>"),
        stray_markers=(
            f"<{BAR}tool_calls_begin{BAR}>",
            f"<{BAR}tool_call_begin{BAR}>",
            f"function<{BAR}tool_sep{BAR}>",
        ),
        call_start="<steptml:invoke",
        call="<steptml:invoke" + NAMED_CALL,
        call_close="</steptml:invoke>",
        block_close=f"<{BAR}tool_call_end{BAR}>",
        key_start="<steptml:parameter",
        key="<steptml:parameter" + NAMED_ARGUMENT,
        value_close="</steptml:parameter>",
        guesses_json=False,
    ),
    block=(f"<{BAR}tool_calls_begin{BAR}>", f"<{BAR}tool_calls_end{BAR}>"),
    call=(
        f'<{BAR}tool_call_begin{BAR}>function<{BAR}tool_sep{BAR}><steptml:invoke name="{{name}}">',
        f"</steptml:invoke><{BAR}tool_call_end{BAR}>",
    ),
    argument=('<steptml:parameter name="{key}">', "</steptml:parameter>"),
    between="\n",
)
