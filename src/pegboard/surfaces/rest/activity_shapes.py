"""Records and their numbers as JSON bodies."""

from typing_extensions import TypedDict

from pegboard.core.activity import CALL, REFUSAL
from pegboard.core.addressed import to_you
from pegboard.core.outcomes import outcome_state
from pegboard.core.presentations.saved import FORMULA, Savings
from pegboard.core.unlocking import PegState
from pegboard.gateway.hindsight import Lap, Now
from pegboard.ports import AuditRow
from pegboard.ports.summing import Share, Sums

from .shapes import moment

TRIAL = "trial"
"""Where a record tells its presentation: an operator tried the tool."""


class ActivityRecord(TypedDict):
    id: int
    at: str | None
    kind: str
    principal: str
    client: str | None
    name: str | None
    about: str | None
    outcome: str
    state: PegState
    """What the outcome is from afar, as on the wall."""
    said: str
    policyVersion: int | None
    tookMs: float | None
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
    ms: float | None
    said: str


class ResolvedNow(TypedDict):
    verdict: str
    status: str | None
    sentence: str
    remedy: str
    policyVersion: int
    samePolicy: bool


class RecordInFull(ActivityRecord):
    timeline: list[TimelinePart]
    children: list[ActivityRecord]
    resolvedNow: ResolvedNow | None


class SumsShape(TypedDict):
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


class BucketShape(SumsShape):
    at: str | None


class SavingShape(TypedDict):
    presentation: str
    turns: int
    shownTokens: int
    foundTokens: int
    savedTokens: int


class SavedShape(TypedDict):
    tokens: int
    allToolsTokens: int
    parts: list[SavingShape]
    formula: str


class SummaryShape(TypedDict):
    since: str | None
    until: str | None
    bucketSeconds: float
    buckets: list[BucketShape]
    total: SumsShape
    saved: SavedShape
    outcomeStates: dict[str, PegState]
    complete: bool
    policyVersion: int


class LastError(TypedDict):
    id: int
    at: str | None
    outcome: str
    said: str


class ShareShape(SumsShape):
    id: str
    lastAt: str | None
    lastError: LastError | None


class SharesShape(TypedDict):
    shares: list[ShareShape]
    next: int | None
    complete: bool


def activity_shape(row: AuditRow) -> ActivityRecord:
    is_call = row.kind in (CALL, REFUSAL)
    return {
        "id": row.number,
        "at": moment(row.at),
        "kind": row.kind,
        "principal": row.principal,
        "client": row.client or None,
        "name": row.name or None,
        "about": row.tool,
        "outcome": row.ended,
        "state": outcome_state(row.ended),
        "said": row.said,
        "policyVersion": row.policy_version,
        "tookMs": _ms(row.took_us) if is_call else None,
        "argumentBytes": row.argument_bytes if is_call else None,
        "resultBytes": row.result_bytes if is_call else None,
        "argumentTokens": row.argument_tokens,
        "resultTokens": row.result_tokens,
        "arguments": row.arguments,
        "result": row.result,
        "callId": row.call_id,
        "parentId": row.parent_id,
        "presentation": None if row.presentation == TRIAL else row.presentation,
        "trial": row.presentation == TRIAL,
    }


def lap_shape(lap: Lap) -> TimelinePart:
    return {"part": lap.part, "ms": _ms(lap.microseconds), "said": lap.said}


def now_shape(now: Now | None, then: int | None) -> ResolvedNow | None:
    if now is None:
        return None
    return {
        "verdict": now.verdict,
        "status": now.status,
        "sentence": now.sentence,
        "remedy": to_you(now.remedy),
        "policyVersion": now.policy_version,
        "samePolicy": now.policy_version == then,
    }


def sums_shape(sums: Sums) -> SumsShape:
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


def saved_shape(found: Savings) -> SavedShape:
    return {
        "tokens": found.saved,
        "allToolsTokens": found.baseline,
        "parts": [
            {
                "presentation": part.presentation,
                "turns": part.turns,
                "shownTokens": part.shown,
                "foundTokens": part.found,
                "savedTokens": part.saved,
            }
            for part in found.parts
        ],
        "formula": FORMULA,
    }


def share_shape(share: Share) -> ShareShape:
    last = share.last_error
    return {
        "id": share.name,
        **sums_shape(share.sums),
        "lastAt": moment(share.last_at),
        "lastError": None
        if last is None
        else {"id": last.number, "at": moment(last.at), "outcome": last.ended, "said": last.said},
    }


def _ms(microseconds: int | None) -> float | None:
    return None if microseconds is None else round(microseconds / 1000, 3)
