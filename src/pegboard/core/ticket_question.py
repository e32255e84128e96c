"""What a person is asked in their own client about one call, and what their answer is worth."""

from collections.abc import Mapping
from typing import Final

from .call import Call, NotConfirmed, Unconfirmed
from .redact import Bounds, Redaction, is_cut, one_line
from .ticket import plainly, short
from .tool import Json, JsonObject, Tool
from .whose import Whose

_ASKED: Final = Bounds(text=2_000, whole=8_000, members=100)
"""Of a question in a client: there is no other place to read the rest."""
_NOT_ALL: Final = (
    "Careful: this call is so long that not all of it is shown here. Each gap says how much is left out. "
    "Say no to what you cannot judge.\n\n"
)


def question(tool: Tool, call: Call, redaction: Redaction, whose: Whose | None = None) -> str:
    """What a person is asked through their own client. Without the tool's own words, which may be written for this."""
    client = f" The call comes from {short(call.client)}." if call.client else ""
    runs = "" if whose is None else f" It runs at {short(whose.told)}."
    told = redaction.arguments(call.arguments, _ASKED, plainly(tool.id))
    warning = _NOT_ALL if is_cut(told) else ""
    how = "to the letter" if plainly(tool.id) else "without secrets"
    return (
        f"{warning}May the tool {short(tool.id.name)} of {short(str(tool.id.source))} run now?{client}{runs}\n\n"
        f"Its arguments, {how}: {one_line(told)}"
    )


ANSWER: Final = "answer"
YES: Final = "yes"
FORM: Final[JsonObject] = {
    "type": "object",
    "properties": {
        ANSWER: {
            "type": "string",
            "title": "Run it?",
            "description": "yes runs this one call; no refuses it.",
            "enum": ["no", YES],
        }
    },
    "required": [ANSWER],
}


def is_yes(answer: Mapping[str, Json]) -> bool:
    """Only what was asked for, in so many words. Whatever else a client answers is no approval."""
    content = answer.get("content")
    return answer.get("action") == "accept" and isinstance(content, dict) and content.get(ANSWER) == YES


def answered_no(tool: Tool, answer: Mapping[str, Json] | None) -> NotConfirmed:
    """`None` when nobody answered in time."""
    what = f"this call of {short(tool.id.name)}"
    if answer is None:
        why = f"Nobody answered whether {what} may run, so it did not. Ask the user before you try again."
        return NotConfirmed(tool.id, Unconfirmed.UNANSWERED, why)
    content = answer.get("content")
    no = isinstance(content, dict) and content.get(ANSWER) == "no"
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
    return NotConfirmed(tool.id, Unconfirmed.DENIED, why)
