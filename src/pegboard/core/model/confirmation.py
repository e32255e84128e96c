"""How a call that a person must confirm is confirmed: in the caller's own client, or by a ticket.

The law: no answer of a client that is not marked interactive confirms a call (ADR 17).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from pegboard.core.model.ids import PrincipalId
from pegboard.core.model.server import DeclaredAt, InstalledBy, Origin


class ConfirmationMode(StrEnum):
    IN_CLIENT = "in_client"
    TICKET = "ticket"


class ConfirmationLevel(StrEnum):
    """What a `confirmation` setting is about."""

    BOARD = "board"
    PRINCIPAL = "principal"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ConfirmationSetting:
    """A `confirmation` that somebody set. An unset one does not exist."""

    level: ConfirmationLevel
    name: str
    """The principal, the tool or pattern; empty for the board."""
    mode: ConfirmationMode
    at: Origin | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PrincipalConfirmation:
    """What is set for one principal; `None` is unset."""

    interactive: bool | None = None
    mode: ConfirmationMode | None = None
    interactive_at: Origin | None = field(default=None, compare=False)
    mode_at: Origin | None = field(default=None, compare=False)


UNSET_CONFIRMATION: Final = PrincipalConfirmation()


@dataclass(frozen=True, slots=True)
class InteractiveMark:
    """Whether a person reads what the clients of this principal are asked. `at` is `None` where that is the default."""

    principal: PrincipalId
    is_marked: bool
    at: Origin | None = field(default=None, compare=False)


TicketReason: TypeAlias = ConfirmationSetting | InteractiveMark
"""A setting that demands a ticket, or a principal that is not interactive."""


@dataclass(frozen=True, slots=True)
class ConfirmInClient:
    """The user is asked in the client, where that client can ask."""

    interactive: InteractiveMark


@dataclass(frozen=True, slots=True)
class ConfirmByTicket:
    """A person decides about a ticket, whatever the client can do."""

    reasons: tuple[TicketReason, ...]
    """One or more. Each of them is enough."""


ConfirmationRoute: TypeAlias = ConfirmInClient | ConfirmByTicket


def choose_route(interactive: InteractiveMark, settings: Sequence[ConfirmationSetting]) -> ConfirmationRoute:
    """The strictest setting wins. Where none demands a ticket, an interactive principal is asked in its client."""
    reasons: list[TicketReason] = [each for each in settings if each.mode is ConfirmationMode.TICKET]
    if not interactive.is_marked:
        reasons.append(interactive)
    return ConfirmByTicket(tuple(reasons)) if reasons else ConfirmInClient(interactive)


def explain_ticket(route: ConfirmByTicket) -> str:
    """Why the client was not asked. For the caller, so it names no file of the operator's."""
    match route.reasons[0]:
        case ConfirmationSetting(level):
            return (
                f"This client was not asked, because confirmation: {ConfirmationMode.TICKET} is set for the "
                f"{level.value}."
            )
        case InteractiveMark(principal):
            return (
                f"This client was not asked, because its principal {principal!r} is not marked interactive: an answer "
                "of the client does not confirm a call. If a person reads what this client asks, an operator may mark "
                "the principal interactive."
            )
        case never:
            assert_never(never)


def describe_route(route: ConfirmationRoute) -> str:
    """For an operator: how calls are confirmed, and which setting decided that, with its place."""
    match route:
        case ConfirmInClient(interactive):
            why = _interactive_text(interactive)
            return f"in the client, where it can ask its user; otherwise by a ticket ({why})"
        case ConfirmByTicket(reasons):
            return f"by a ticket ({'; '.join(map(_reason_text, reasons))})"
        case never:
            assert_never(never)


def _reason_text(reason: TicketReason) -> str:
    if isinstance(reason, InteractiveMark):
        return _interactive_text(reason)
    named = f" {reason.name}" if reason.name else ""
    return f"confirmation: {reason.mode.value} of the {reason.level.value}{named}{_place_text(reason.at)}"


def _interactive_text(interactive: InteractiveMark) -> str:
    word = "interactive" if interactive.is_marked else "not interactive"
    default = ""
    if interactive.at is None:
        default = (
            ", the default of a board without tokens on its own machine"
            if interactive.is_marked
            else ", which is the default"
        )
    return f"{interactive.principal} is {word}{default}{_place_text(interactive.at)}"


def _place_text(at: Origin | None) -> str:
    match at:
        case None:
            return ""
        case DeclaredAt():
            return f", {at}"
        case InstalledBy(by, when):
            return f", set by {by} on {when:%Y-%m-%d}"
        case never:
            assert_never(never)
