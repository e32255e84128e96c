"""A record looked at later: where its time went, what it called in its turn, and what would be decided now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.activity import CALL, REFUSAL
from pegboard.core.ids import PrincipalId, ToolId, tool_id
from pegboard.core.removal import removal_remedy, removal_sentence
from pegboard.core.resolve import Absent, Locked, Open
from pegboard.core.status import remedy, sentence
from pegboard.core.view import View
from pegboard.ports import AuditQuery, AuditRow

from .gateway import Gateway

MOST_CHILDREN: Final = 100
_AS_IT_IS: Final = "The gateway passes a result on as it is; a page renders it when it shows it."
_NOT_APART: Final = "Of this call, the time at the gate was not measured by itself."


@dataclass(frozen=True, slots=True)
class Lap:
    """One part of a call's time."""

    part: str
    microseconds: int | None
    """`None` where it was not measured, or there is nothing to measure."""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Now:
    """What would become of the same call, as far as that hangs on the tool and on who calls."""

    verdict: str
    """`open`, `locked`, `absent`, or `gone`: then there is no such tool any more."""
    policy_version: int
    status: str | None = None
    sentence: str = ""
    remedy: str = ""


def timeline(row: AuditRow) -> tuple[Lap, ...]:
    """Of a call that reached its provider; nothing of anything else."""
    if row.kind != CALL:
        return ()
    if row.gate_us is None:
        return Lap("gate", None, _NOT_APART), Lap("provider", row.took_us), Lap("render", None, _AS_IT_IS)
    gate = min(row.gate_us, row.took_us)
    return Lap("gate", gate), Lap("provider", row.took_us - gate), Lap("render", None, _AS_IT_IS)


async def children(gateway: Gateway, row: AuditRow) -> Sequence[AuditRow]:
    """What a program called, the first call first. They end before it does, so they are recorded before it is."""
    if row.kind != CALL or row.parent_id is not None:
        return ()
    told = await gateway.audit.back(AuditQuery(parent=row.call_id, before=row.number, limit=MOST_CHILDREN))
    return tuple(reversed(told.rows))


def resolved_now(gateway: Gateway, row: AuditRow) -> Now | None:
    """By the same resolver, for the same caller; what narrowed its request is not recorded, so it is not asked."""
    if row.kind not in (CALL, REFUSAL) or row.tool is None:
        return None
    board, principal = gateway.board, PrincipalId(row.principal)
    version = board.policy.version
    id = tool_id(row.tool)
    resolution = board.resolution(View(principal))
    verdict = resolution.verdicts.get(id) if isinstance(id, ToolId) else None
    if not board.policy.knows(principal):
        return Now("absent", version, sentence=f"There is no caller {row.principal!r} any more.")
    match verdict:
        case None:
            return Now("gone", version, sentence=f"There is no tool {row.tool} on the board now.")
        case Open():
            return Now("open", version)
        case Locked(_, reason):
            return Now("locked", version, verdict.status.value, sentence(reason), remedy(reason))
        case Absent(_, removed):
            return Now(
                "absent", version, sentence=removal_sentence(removed), remedy=removal_remedy(removed, verdict.tool.id)
            )
