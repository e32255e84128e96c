"""What a server may ask of a client while a tool runs, and which client may be asked it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .tool import Json

ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"

UNKNOWN_METHOD: Final = -32601
BAD_PARAMETERS: Final = -32602
"""The protocol's codes: a client without the capability would answer with the first, one that has only a part of it
with the second."""


@dataclass(frozen=True)
class QuestionRefusal:
    """Why a client must not be asked this: it did not say that it knows such questions."""

    code: int
    why: str


def refuse_question(can: Mapping[str, Json], method: str, params: Mapping[str, Json]) -> QuestionRefusal | None:
    """`None` when a client with these capabilities may be asked."""
    match method:
        case "elicitation/create":
            return _refuse_elicitation(can.get("elicitation"), params.get("mode", "form"))
        case "sampling/createMessage":
            offered = can.get("sampling")
            if not isinstance(offered, dict):
                return _refuse_undeclared("sampling")
            if ("tools" in params or "toolChoice" in params) and "tools" not in offered:
                return QuestionRefusal(BAD_PARAMETERS, "The client knows sampling, but not with tools.")
            return None
        case "roots/list":
            return None if isinstance(can.get("roots"), dict) else _refuse_undeclared("roots")
        case _:
            return QuestionRefusal(UNKNOWN_METHOD, f"{method[:128]!r} is nothing that a client can be asked.")


def _refuse_elicitation(offered: Json, mode: Json) -> QuestionRefusal | None:
    if not isinstance(offered, dict):
        return _refuse_undeclared("elicitation")
    # A client that names no mode means forms: that was all there was when it was written.
    if mode == "form" and not offered.keys() & {"form", "url"}:
        return None
    if isinstance(mode, str) and mode in offered:
        return None
    return QuestionRefusal(BAD_PARAMETERS, f"The client knows elicitation, but not in the mode {str(mode)[:128]!r}.")


def _refuse_undeclared(capability: str) -> QuestionRefusal:
    return QuestionRefusal(
        UNKNOWN_METHOD, f"The client that made the call did not declare the capability {capability!r}."
    )
