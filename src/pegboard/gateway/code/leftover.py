"""Programs that were under way when their gateway was killed: each gets the record that nobody could write then."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from pegboard.core.begun import Begun
from pegboard.core.call import Call, CallRecord, ProviderFailed
from pegboard.core.code import PYTHON_ID
from pegboard.core.ids import WireName
from pegboard.ports import Audit, AuditQuery

ENDED_WITH_US: Final = ProviderFailed(
    "the gateway ended while the program ran: what it had done by then is done, and nobody got its answer",
    may_have_run=True,
)
_PAGE: Final = 1_000


async def account(audit: Audit, left: Sequence[Begun]) -> int:
    """How many had no record. They are in the store when this returns. Raises `StoreAway`."""
    if not left:
        return 0
    known = await _recorded(audit, left)
    lost = [each for each in left if each.id not in known]
    for begun in lost:
        call = Call(
            begun.id,
            WireName(PYTHON_ID.name),
            {},
            begun.principal,
            begun.at,
            client=begun.client,
            parent=begun.parent,
            presentation=begun.presentation,
        )
        audit.record(CallRecord(call, PYTHON_ID, ENDED_WITH_US, timedelta(), begun.policy_version))
    # Whoever asks for this waits until it is written.
    await audit.latest()
    return len(lost)


async def _recorded(audit: Audit, left: Sequence[Begun]) -> set[str]:
    since = min(each.at for each in left)
    found: set[str] = set()
    before: int | None = None
    while True:
        query = AuditQuery(tool=str(PYTHON_ID), since=since, before=before, limit=_PAGE)
        back = await audit.back(query)
        found.update(row.call_id for row in back.rows)
        if back.before is None:
            return found
        before = back.before
