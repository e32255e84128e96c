"""What an override does to one tool where that is not plain from what it says."""

from collections.abc import Mapping
from typing import Final

from .policy import Policy
from .rules import shape_of
from .tool import Tool

SENT: Final = "sent, although the tool does not name it; callers cannot send it"
NOT_SENT: Final = "not sent, because the tool takes no such argument; callers cannot send it either"
HIDDEN: Final = "the tool does not name it; callers cannot send it"


def effects(tool: Tool, policy: Policy) -> Mapping[str, str]:
    """By the places of an appearance: `arguments.NAME.pin` and the like."""
    shape = shape_of(tool, policy)
    if shape is None:
        return {}
    told: dict[str, str] = {}
    for name in shape.unlisted:
        told[f"arguments.{name}.pin"] = SENT if name in shape.pins else NOT_SENT
        told[f"arguments.{name}.hide"] = HIDDEN
    for unfit in shape.unfit:
        closes = ", which closes the tool" if unfit.grave else ""
        for aspect in ("pin", "hide", "default", "description"):
            told[f"arguments.{unfit.parameter}.{aspect}"] = f"cannot be applied{closes}: {unfit.why}"
    return told
