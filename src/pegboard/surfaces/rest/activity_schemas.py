"""Schemas of the activity routes."""

from typing_extensions import TypedDict

from pegboard.core.calls.activity import CALL, REFUSAL
from pegboard.core.explain.states import ToolState, outcome_state
from pegboard.core.presentations.costs import FORMULA, TotalSavings
from pegboard.gateway.record_details import CurrentVerdict, TimelineEntry
from pegboard.ports.audit import ActivityShare, ActivityTotals, AuditRow
from pegboard.surfaces.rest.schemas import iso_time

TRIAL_PRESENTATION = "trial"
"""Where a record tells its presentation: an operator tried the tool."""


class ActivityRecord(TypedDict):
    id: int
    at: str | None
    kind: str
    principal: str
    client: str | None
    name: str | None
    subject: str | None
    outcome: str
    state: ToolState
    """What the outcome is from afar, as on the wall."""
    message: str
    policyVersion: int | None
    durationMs: float | None
    argumentBytes: int | None
    resultBytes: int | None
    argumentTokens: int | None
    resultTokens: int | None
    arguments: str | None
    result: str | None
    callId: str
    parentId: str | None
    presentation: str | None
    trial: bool


class TimelinePart(TypedDict):
    part: str
    durationMs: float | None
    message: str


class CurrentVerdictInfo(TypedDict):
    verdict: str
    status: str | None
    message: str
    remedy: str
    policyVersion: int
    samePolicy: bool


class ActivityRecordDetail(ActivityRecord):
    timeline: list[TimelinePart]
    children: list[ActivityRecord]
    currentVerdict: CurrentVerdictInfo | None


class CallSumsInfo(TypedDict):
    calls: int
    refusals: int
    errors: int
    outcomes: dict[str, int]
    p50Ms: float | None
    p95Ms: float | None
    argumentBytes: int
    resultBytes: int
    argumentTokens: int
    resultTokens: int


class CallSumsBucketInfo(CallSumsInfo):
    at: str | None


class PresentationSavingsInfo(TypedDict):
    presentation: str
    turns: int
    shownTokens: int
    foundTokens: int
    savedTokens: int


class TokenSavingsInfo(TypedDict):
    tokens: int
    allToolsTokens: int
    parts: list[PresentationSavingsInfo]
    formula: str


class ActivitySummaryResponse(TypedDict):
    since: str | None
    until: str | None
    bucketSeconds: float
    buckets: list[CallSumsBucketInfo]
    total: CallSumsInfo
    savings: TokenSavingsInfo
    outcomeStates: dict[str, ToolState]
    complete: bool
    policyVersion: int


class LastErrorInfo(TypedDict):
    id: int
    at: str | None
    outcome: str
    message: str


class ActivityShareInfo(CallSumsInfo):
    id: str
    lastAt: str | None
    lastError: LastErrorInfo | None


class ActivitySharesResponse(TypedDict):
    shares: list[ActivityShareInfo]
    next: int | None
    complete: bool


def activity_record(row: AuditRow) -> ActivityRecord:
    is_call = row.kind in (CALL, REFUSAL)
    return {
        "id": row.number,
        "at": iso_time(row.at),
        "kind": row.kind,
        "principal": row.principal,
        "client": row.client or None,
        "name": row.name or None,
        "subject": row.tool,
        "outcome": row.outcome,
        "state": outcome_state(row.outcome),
        "message": row.message,
        "policyVersion": row.policy_version,
        "durationMs": _ms(row.duration_us) if is_call else None,
        "argumentBytes": row.argument_bytes if is_call else None,
        "resultBytes": row.result_bytes if is_call else None,
        "argumentTokens": row.argument_tokens,
        "resultTokens": row.result_tokens,
        "arguments": row.arguments,
        "result": row.result,
        "callId": row.call_id,
        "parentId": row.parent_id,
        "presentation": None if row.presentation == TRIAL_PRESENTATION else row.presentation,
        "trial": row.presentation == TRIAL_PRESENTATION,
    }


def timeline_part(lap: TimelineEntry) -> TimelinePart:
    return {"part": lap.part, "durationMs": _ms(lap.microseconds), "message": lap.note}


def current_verdict_info(now: CurrentVerdict | None, then: int | None) -> CurrentVerdictInfo | None:
    if now is None:
        return None
    return {
        "verdict": now.verdict,
        "status": now.status,
        "message": now.sentence,
        "remedy": now.remedy,
        "policyVersion": now.policy_version,
        "samePolicy": now.policy_version == then,
    }


def call_sums_info(sums: ActivityTotals) -> CallSumsInfo:
    return {
        "calls": sums.calls,
        "refusals": sums.refusals,
        "errors": sums.errors,
        "outcomes": dict(sums.outcomes),
        "p50Ms": _ms(sums.p50_us),
        "p95Ms": _ms(sums.p95_us),
        "argumentBytes": sums.argument_bytes,
        "resultBytes": sums.result_bytes,
        "argumentTokens": sums.argument_tokens,
        "resultTokens": sums.result_tokens,
    }


def token_savings_info(found: TotalSavings) -> TokenSavingsInfo:
    return {
        "tokens": found.saved_tokens,
        "allToolsTokens": found.baseline,
        "parts": [
            {
                "presentation": part.presentation,
                "turns": part.turns,
                "shownTokens": part.shown_tokens,
                "foundTokens": part.found_tokens,
                "savedTokens": part.saved_tokens,
            }
            for part in found.parts
        ],
        "formula": FORMULA,
    }


def activity_share_info(share: ActivityShare) -> ActivityShareInfo:
    last = share.last_error
    return {
        "id": share.name,
        **call_sums_info(share.totals),
        "lastAt": iso_time(share.last_at),
        "lastError": None
        if last is None
        else {"id": last.number, "at": iso_time(last.at), "outcome": last.outcome, "message": last.message},
    }


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else round(microseconds / 1000, 3)
