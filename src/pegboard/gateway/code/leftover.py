"""Programs that were under way when their gateway was killed: each gets the record that nobody could write then."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from pegboard.core.begun import StartedRun
from pegboard.core.call import CallRecord, ProviderFailure, ToolCall
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import WireName
from pegboard.ports import Audit, AuditQuery

GATEWAY_ENDED: Final = ProviderFailure(
    "the gateway ended while the program ran: what it had done by then is done, and nobody got its answer",
    may_have_run=True,
)
_PAGE_SIZE: Final = 1_000


async def record_interrupted_runs(audit: Audit, left: Sequence[StartedRun]) -> int:
    """How many had no record. They are in the store when this returns. Raises `StoreAway`."""
    if not left:
        return 0
    known = await _recorded_calls(audit, left)
    lost = [each for each in left if each.id not in known]
    for begun in lost:
        call = ToolCall(
            begun.id,
            WireName(PYTHON_ID.name),
            {},
            begun.principal,
            begun.at,
            client=begun.client,
            parent=begun.parent,
            presentation=begun.presentation,
        )
        audit.record(CallRecord(call, PYTHON_ID, GATEWAY_ENDED, timedelta(), begun.policy_version))
    # Whoever asks for this waits until it is written.
    await audit.latest_number()
    return len(lost)


async def _recorded_calls(audit: Audit, left: Sequence[StartedRun]) -> set[str]:
    since = min(each.at for each in left)
    found: set[str] = set()
    before: int | None = None
    while True:
        query = AuditQuery(tool=str(PYTHON_ID), since=since, before=before, limit=_PAGE_SIZE)
        back = await audit.page_before(query)
        found.update(row.call_id for row in back.rows)
        if back.before is None:
            return found
        before = back.before
