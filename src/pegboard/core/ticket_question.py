"""What a person is asked in their own client about one call, and what their answer is worth."""

from collections.abc import Mapping
from typing import Final

from .call import ConfirmationRefusal, MissingConfirmation, ToolCall
from .redact import NO_DISPLAY_LIMITS, to_json_line
from .secret_marks import ArgumentDisplay, describe_masking
from .shaping import FilledArguments
from .ticket import quote_short
from .tool import Json, JsonObject, Tool
from .whose import CredentialIdentity

MAX_ARGUMENT_CHARACTERS: Final = 16_000
"""Of a question in a client, which is read in a small dialog and cannot be scrolled back to."""


def confirmation_question(
    tool: Tool,
    call: ToolCall,
    display: ArgumentDisplay,
    whose: CredentialIdentity | None = None,
    filled: FilledArguments | None = None,
) -> str | None:
    """What a person is asked through their own client. Without the tool's own words, which may be written for this.

    `None` where not all of the call fits into a question, or a part of it is masked: nobody is asked about what they
    cannot read, and only at a ticket can a value be revealed.
    """
    client = f" The call comes from {quote_short(call.client)}." if call.client else ""
    runs = "" if whose is None else f" It runs at {quote_short(whose.description)}."
    displayed = display.display(tool.spec.input_schema, call.arguments, NO_DISPLAY_LIMITS)
    arguments = to_json_line(displayed.arguments) + _filled_text(filled)
    if len(arguments) > MAX_ARGUMENT_CHARACTERS or displayed.masked_paths:
        return None
    return (
        f"May the tool {quote_short(tool.id.name)} of {quote_short(str(tool.id.source))} run now?{client}{runs}\n\n"
        f"Its arguments, {describe_masking(0)}: {arguments}"
    )


def _filled_text(filled: FilledArguments | None) -> str:
    """What the call has beside the arguments that its caller sent."""
    if filled is None:
        return ""
    defaults = f"\n\n{DEFAULTS_TEXT}: {to_json_line(dict(filled.defaults))}" if filled.defaults else ""
    pinned = f"\n\n{PINNED_TEXT}: {', '.join(map(quote_short, filled.pinned_names))}" if filled.pinned_names else ""
    return f"{defaults}{pinned}"


DEFAULTS_TEXT: Final = "Filled in by the operator's override"
PINNED_TEXT: Final = "Pinned by the operator, values not shown"
NOT_READABLE_IN_CLIENT: Final = (
    "This client was not asked, because its question cannot show the whole call: the arguments are too long, or a part "
    "of them is masked as secret."
)
ANSWER_FIELD: Final = "answer"
YES_VALUE: Final = "yes"
ANSWER_FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {
        ANSWER_FIELD: {
            "type": "string",
            "title": "Run it?",
            "description": "yes runs this one call; no refuses it.",
            "enum": ["no", YES_VALUE],
        }
    },
    "required": [ANSWER_FIELD],
}


def is_yes(answer: Mapping[str, Json]) -> bool:
    """Only what was asked for, in so many words. Whatever else a client answers is no approval."""
    content = answer.get("content")
    return answer.get("action") == "accept" and isinstance(content, dict) and content.get(ANSWER_FIELD) == YES_VALUE


def refuse_by_answer(tool: Tool, answer: Mapping[str, Json] | None) -> ConfirmationRefusal:
    """`None` when nobody answered in time."""
    what = f"this call of {quote_short(tool.id.name)}"
    if answer is None:
        why = f"Nobody answered whether {what} may run, so it did not. Ask the user before you try again."
        return ConfirmationRefusal(tool.id, MissingConfirmation.UNANSWERED, why)
    content = answer.get("content")
    no = isinstance(content, dict) and content.get(ANSWER_FIELD) == "no"
    match answer.get("action"):
        case "decline":
            said = f"The user declined {what}"
        case "accept" if no:
            said = f"The user said no to {what}"
        case "cancel":
            said = f"The user was asked about {what} and did not decide"
        case _:
            said = f"The answer to whether {what} may run was not a plain yes"
    why = f"{said}, so it did not run. Do not try it again or in another way, unless the user asks you to."
    return ConfirmationRefusal(tool.id, MissingConfirmation.DENIED, why)
