"""Which tools a conversation has called: the client's messages name those that it ran, memory those that ran here."""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from anyio import to_thread

from pegboard.core.ids import PrincipalId
from pegboard.core.tool import JsonObject, canonical_json

from .asked import ChatInput, message_text
from .report import ChatReport

MAX_ANSWERS: Final = 5_000
MAX_TOOLS: Final = 20
"""Of one answer, and in all for the next."""


class CalledTools:
    """Of this process alone. A conversation that comes to another one is searched by what its user said, as any is.

    An answer is found by its caller and by what the user had said up to it. Clients send that back unchanged, and may
    cut or reword what the model said.
    """

    def __init__(self) -> None:
        self._by_answer: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()

    def remember(self, keys: Sequence[bytes], report: ChatReport) -> None:
        """After an answer, or as much as there was of it."""
        latest_first = dict.fromkeys(str(made.tool) for made in reversed(report.calls) if made.tool is not None)
        if not latest_first or not keys:
            return
        self._by_answer[keys[-1]] = tuple(latest_first)[:MAX_TOOLS]
        self._by_answer.move_to_end(keys[-1])
        if len(self._by_answer) > MAX_ANSWERS:
            self._by_answer.popitem(last=False)

    def called_before(self, keys: Sequence[bytes], asked: ChatInput) -> tuple[str, ...]:
        """The tools that were called before the user's latest message, by id or by name, the latest first.

        What an earlier try to answer that same message called is left out: equal requests show equal tools.
        """
        names: dict[str, None] = {}
        for name in self._names(asked, [*keys]):
            names[name] = None
            if len(names) == MAX_TOOLS:
                break
        return tuple(names)

    def _names(self, asked: ChatInput, keys: list[bytes]) -> Iterator[str]:
        own = {tool.name for tool in asked.tools}
        is_latest = True
        for message in reversed(asked.messages):
            if message.get("role") == "assistant":
                yield from _tools_called_in(message, own)
            elif message.get("role") == "user":
                key = keys.pop()
                yield from () if is_latest else self._by_answer.get(key, ())
                is_latest = False


async def conversation_keys(principal: PrincipalId, asked: ChatInput) -> list[bytes]:
    """One for each of the user's messages, the first first. Beside the loop, because a conversation may be long."""
    return await to_thread.run_sync(_keys, principal, asked)


def _tools_called_in(message: JsonObject, own: Collection[str]) -> Iterable[str]:
    calls = message.get("tool_calls")
    listed = reversed(calls) if isinstance(calls, list) else ()
    functions = (call.get("function") for call in listed if isinstance(call, dict))
    names = (function.get("name") for function in functions if isinstance(function, dict))
    return (name for name in names if isinstance(name, str) and name not in own)


def _keys(principal: PrincipalId, asked: ChatInput) -> list[bytes]:
    so_far, keys = hashlib.sha256(canonical_json([principal])), list[bytes]()
    for message in asked.messages:
        if message.get("role") == "user":
            so_far.update(canonical_json([message_text(message)]))
            keys.append(so_far.digest())
    return keys
