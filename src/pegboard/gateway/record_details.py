"""Details of an audit record: its timeline, nested calls, and what would be decided now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pegboard.core.calls.activity import CALL, REFUSAL
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool
from pegboard.core.decision.status import explain_reason, remedy
from pegboard.core.decision.visibility import explain_hidden, hidden_remedy
from pegboard.core.model.ids import PrincipalId, ToolId, parse_tool_id
from pegboard.core.model.selection import View
from pegboard.core.model.text import Audience
from pegboard.gateway.board import BoardState
from pegboard.ports.audit import Audit, AuditQuery, AuditRow

MAX_CHILDREN: Final = 100
_RESULT_PASSED_ON: Final = "The gateway passes a result on as it is; a page renders it when it shows it."
_GATE_TIME_UNKNOWN: Final = "Of this call, the time at the gate was not measured by itself."


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One part of a call's time."""

    part: str
    microseconds: int | None
    """`None` where it was not measured, or there is nothing to measure."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class CurrentVerdict:
    """What would become of the same call, as far as that hangs on the tool and on who calls."""

    verdict: str
    """`open`, `locked`, `absent`, or `gone`: then there is no such tool any more."""
    policy_version: int
    status: str | None = None
    sentence: str = ""
    remedy: str = ""


def timeline(row: AuditRow) -> tuple[TimelineEntry, ...]:
    """Of a call that reached its provider; nothing of anything else."""
    if row.kind != CALL:
        return ()
    if row.gate_us is None:
        return (
            TimelineEntry("gate", None, _GATE_TIME_UNKNOWN),
            TimelineEntry("provider", row.duration_us),
            TimelineEntry("render", None, _RESULT_PASSED_ON),
        )
    gate = min(row.gate_us, row.duration_us)
    return (
        TimelineEntry("gate", gate),
        TimelineEntry("provider", row.duration_us - gate),
        TimelineEntry("render", None, _RESULT_PASSED_ON),
    )


async def child_records(audit: Audit, row: AuditRow) -> Sequence[AuditRow]:
    """What a program called, the first call first. They end before it does, so they are recorded before it is."""
    if row.kind != CALL or row.parent_id is not None:
        return ()
    told = await audit.page_before(AuditQuery(parent=row.call_id, before=row.number, limit=MAX_CHILDREN))
    return tuple(reversed(told.rows))


def current_verdict(board: BoardState, row: AuditRow) -> CurrentVerdict | None:
    """By the same resolver, for the same caller; what narrowed its request is not recorded, so it is not asked."""
    if row.kind not in (CALL, REFUSAL) or row.tool is None:
        return None
    principal = PrincipalId(row.principal)
    version = board.policy.version
    id = parse_tool_id(row.tool)
    resolution = board.resolution(View(principal))
    verdict = resolution.verdicts.get(id) if isinstance(id, ToolId) else None
    if not board.policy.is_known_principal(principal):
        return CurrentVerdict("hidden", version, sentence=f"There is no caller {row.principal!r} any more.")
    match verdict:
        case None:
            return CurrentVerdict("missing", version, sentence=f"There is no tool {row.tool} on the board now.")
        case OpenTool():
            return CurrentVerdict("open", version)
        case LockedTool(_, reason):
            cure = remedy(reason, Audience.OPERATOR)
            return CurrentVerdict("locked", version, verdict.status.value, explain_reason(reason), cure)
        case HiddenTool(_, removed):
            return CurrentVerdict(
                "hidden", version, sentence=explain_hidden(removed), remedy=hidden_remedy(removed, verdict.tool.id)
            )
