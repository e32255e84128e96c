"""The operator at a desk: a board, a store and nothing that runs."""

from tests.support.doubles import MemoryAudit, MemoryStore
from tests.support.house import Ticking

from pegboard.core.decision.resolve import LockedTool
from pegboard.core.model.catalogue import Listing
from pegboard.core.model.selection import View
from pegboard.core.policy.policy import DeclaredSettings, Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator


class Desk:
    """A board, a store and the operator between them."""

    def __init__(self, declared: DeclaredSettings, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.board = BoardState(Policy(declared, self.store.decided))
        self.clock = Ticking()
        self.audit = MemoryAudit()
        self.operator = Operator(self.board, self.store, self.clock, self.audit.record_decision)

    def locked(self) -> dict[str, str]:
        verdicts = self.board.resolution(View()).verdicts
        return {id.name: v.status.value for id, v in verdicts.items() if isinstance(v, LockedTool)}

    async def sees(self, listing: Listing) -> None:
        await self.operator.record_first_sight(lambda: listing)
