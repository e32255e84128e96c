"""What a client does not get to see of a conversation that it goes on with: calls made here beside its own.

A client sends all of a conversation each time, and knows nothing of the tools that were called for it. Between handing
it calls of its own tools and its coming back with their results, those are kept, so that nothing is called twice.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from anyio import to_thread

from pegboard.core.ids import PrincipalId
from pegboard.core.tool import JsonObject, canonical_json

MAX_CONVERSATIONS: Final = 500
MAX_BYTES: Final = 64_000_000
LIFETIME_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class _HiddenMessages:
    messages: tuple[JsonObject, ...]
    size: int
    until: float


@dataclass
class HiddenCallMemory:
    """Of this process alone. Who comes back to another one, or too late, is answered without."""

    _by_key: OrderedDict[bytes, _HiddenMessages] = field(default_factory=OrderedDict[bytes, _HiddenMessages])
    _size: int = 0

    async def keep(
        self,
        principal: PrincipalId,
        before: Sequence[JsonObject],
        ids: Iterable[str],
        messages: Sequence[JsonObject],
        now: float,
    ) -> None:
        size, key = await to_thread.run_sync(_size_and_key, principal, before, tuple(ids), messages)
        if size > MAX_BYTES // 4:
            return
        self._forget(key)
        self._by_key[key] = _HiddenMessages(tuple(messages), size, now + LIFETIME_S)
        self._size += size
        while self._by_key and (len(self._by_key) > MAX_CONVERSATIONS or self._size > MAX_BYTES):
            self._forget(next(iter(self._by_key)))

    async def restore(self, principal: PrincipalId, messages: Sequence[JsonObject], now: float) -> list[JsonObject]:
        """The conversation with what was kept in its places."""
        for key in [key for key, kept in self._by_key.items() if kept.until < now]:
            self._forget(key)
        if not self._by_key or not any(_calls_of(message) for message in messages):
            return [*messages]
        keys = await to_thread.run_sync(_keys, principal, messages)
        found: list[JsonObject] = []
        for message, here in zip(messages, keys, strict=True):
            kept = None if here is None else self._by_key.get(here)
            found += [message] if kept is None else kept.messages
        return found

    def _forget(self, key: bytes) -> None:
        if (kept := self._by_key.pop(key, None)) is not None:
            self._size -= kept.size


def _size_and_key(
    principal: PrincipalId, before: Sequence[JsonObject], ids: Sequence[str], messages: Sequence[JsonObject]
) -> tuple[int, bytes]:
    read = _ConversationHash(principal)
    for message in before:
        read.add(message)
    return len(canonical_json([*messages])), read.key(ids)


def _keys(principal: PrincipalId, messages: Sequence[JsonObject]) -> list[bytes | None]:
    """Of each message with calls. In one pass: a conversation may be long, and have many of them."""
    read, keys = _ConversationHash(principal), list[bytes | None]()
    for message in messages:
        ids = _calls_of(message)
        keys.append(read.key(ids) if ids else None)
        read.add(message)
    return keys


class _ConversationHash:
    """Only whoever sends the same conversation as the same caller finds what was kept for it."""

    def __init__(self, principal: PrincipalId) -> None:
        self._hash = hashlib.sha256(canonical_json([principal]))

    def add(self, message: JsonObject) -> None:
        self._hash.update(canonical_json(message) + b"\n")

    def key(self, ids: Iterable[str]) -> bytes:
        here = self._hash.copy()
        here.update(canonical_json(sorted(ids)))
        return here.digest()


def _calls_of(message: JsonObject) -> list[str]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    ids = (call.get("id") for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
    return [id for id in ids if isinstance(id, str)]
