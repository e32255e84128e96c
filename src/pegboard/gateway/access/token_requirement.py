"""Remembers, in the data directory and the store, that callers had to show tokens. Only a person can lift this."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread

from pegboard.config import paths
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import Clock

log = logging.getLogger(__name__)

REFUSAL: Final = (
    "This board has required tokens, and there is none now: whoever reaches the gateway could call every open tool. "
    "Make a token first: pegboard tokens make NAME --scope call   Or start it open: pegboard serve --open"
)


class RequirementStore(Protocol):
    async def is_recorded(self) -> bool: ...

    async def record(self) -> None: ...

    async def clear(self) -> None: ...


@dataclass
class TokenRequirement:
    directory: Path
    store: RequirementStore
    clock: Clock
    _recorded: bool | None = None

    async def is_remembered(self) -> bool:
        there = await anyio.to_thread.run_sync(paths.tokens_were_required, self.directory)
        return there or await self.store.is_recorded()

    async def forget(self) -> None:
        await anyio.to_thread.run_sync(paths.forget_required_tokens, self.directory)
        await self.store.clear()

    async def update(self, policy: Policy) -> None:
        """Remembers what holds. That tokens are not required any more counts only after they were: a person said so."""
        required = policy.requires_tokens
        if required == self._recorded:
            return
        try:
            if required:
                await anyio.to_thread.run_sync(paths.remember_required_tokens, self.directory, self.clock())
                await self.store.record()
            elif self._recorded:
                await self.forget()
        except StoreUnavailable as error:
            # Noted with the next change; until then the board itself stays as it is.
            log.warning("It is not noted in the store whether callers must show tokens: %s", error)
            return
        self._recorded = required

    async def run(self, board: BoardState) -> None:
        with board.changes.subscribe() as changed:
            while True:
                await self.update(board.policy)
                await changed.wait()
