"""A client that can be asked, in the hands of a test: our own port in memory."""

from collections.abc import Callable, Hashable, Mapping

import anyio

from pegboard.core.json.values import Json
from pegboard.ports.providers import ClientPeer

EVERYTHING: Mapping[str, Json] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}


class AskedClient:
    """Answers what it was given to answer with; without that, it leaves the question open."""

    def __init__(
        self,
        answer: Mapping[str, Json] | Exception | None = None,
        *,
        connection_key: Hashable = "the client",
        capabilities: Mapping[str, Json] = EVERYTHING,
    ) -> None:
        self.answer = answer
        self.connection_key = connection_key
        self.capabilities = capabilities
        self.asked: list[tuple[str, Mapping[str, Json]]] = []
        self.noted: list[tuple[str, Mapping[str, Json]]] = []
        self.was_asked = anyio.Event()
        self.given_up = anyio.Event()
        """Set when a question was taken back."""
        self.last: ClientPeer | None = None
        """In whose call."""

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self.noted.append((method, params))

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        self.asked.append((method, params))
        self.was_asked.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            try:
                await anyio.sleep_forever()
            finally:
                self.last = None if last is None else last()
                self.given_up.set()
        assert self.answer is not None
        return self.answer
