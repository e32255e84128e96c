"""A toolset of DocSpace as a source of tools. It keeps no connection open, so it is up wherever it is set up."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import anyio

from pegboard.children.erasing import Eraser
from pegboard.core.call import Admitted, Outcome, ProviderFailed, Returned, ToolFailed
from pegboard.core.catalogue import Down, Health, Listing, Off, Starting, Up
from pegboard.core.docspace import Access, Misconfigured
from pegboard.core.docspace.credential import secrets_of
from pegboard.core.ids import ToolId, ToolsetKey
from pegboard.core.tool import Json, JsonObject, Tool
from pegboard.core.whose import Whose
from pegboard.ports import Clock, Peer, Progress, Ring

from . import javascript
from .api import Answer
from .checking import accepted
from .files import FILES
from .folders import FOLDERS
from .hall import Hall
from .pace import off_loop
from .people import PEOPLE_TOOLS
from .rooms import ROOMS
from .tool import DocSpaceTool
from .trouble import Trouble

TOOLSETS: Final[Mapping[str, Sequence[DocSpaceTool]]] = {
    "files": FILES,
    "folders": FOLDERS,
    "rooms": ROOMS,
    "people": PEOPLE_TOOLS,
}


class DocSpaceTools:
    library = None

    def __init__(self, key: ToolsetKey, tools: Sequence[DocSpaceTool], hall: Hall, now: Clock) -> None:
        self.source = key
        self._tools = {tool.name: tool for tool in tools}
        self._hall = hall
        self._now = now
        self._ring: Ring = _unheard
        self._operator: Access | Misconfigured | None = None
        self._restarted = anyio.Event()
        specs = tuple(Tool(ToolId(key, tool.name), tool.spec, checked_there=True) for tool in tools)
        self._listing = Listing(key, Starting(1, now()), specs)

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return ()

    def restart(self) -> None:
        self._restarted.set()

    async def run(self, ring: Ring) -> None:
        self._ring = ring
        async with self._hall.open():
            try:
                while True:
                    self._restarted = anyio.Event()
                    self._operator = self._hall.operator()
                    match self._operator:
                        case Misconfigured() as wrong:
                            self._become(Down(self._now(), wrong.outage))
                        case _:
                            self._become(Up(self._now()))
                    await self._restarted.wait()
            finally:
                self._become(Off())

    async def call(self, admitted: Admitted, progress: Progress | None = None, peer: Peer | None = None) -> Outcome:
        tool = self._tools.get(name := admitted.tool.id.name)
        if tool is None:
            return ProviderFailed(f"{self.source} does not have {name!r}. List the tools again", may_have_run=False)
        access = self._hall.access(self._operator, admitted.call.headers)
        if not isinstance(access, Access):
            return ToolFailed(_said(access.why, failed=True))
        try:
            arguments = accepted(tool.arguments, admitted.call.arguments) if tool.checks else {}
            api = self._hall.api(access, progress)
            async with api.seat:
                answer = await tool.act(api, arguments)
                return Returned(await off_loop(_size(answer), _told, answer))
        except Trouble as trouble:
            return ToolFailed(_said(Eraser(secrets_of(access.credential))(str(trouble)), failed=True))
        except RecursionError:
            # Text of so many levels reads well enough, but cannot be written again.
            return ToolFailed(_said("The arguments, or the answer, are nested too deeply.", failed=True))

    def whose(self, headers: Mapping[bytes, bytes]) -> Whose | None:
        """Where callers bring credentials, a yes to one of them is none to another."""
        access = self._hall.access(self._operator, headers)
        return self._hall.whose(access) if isinstance(access, Access) else None

    def _become(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._ring()


def _told(answer: str | Answer | JsonObject) -> bytes:
    """The result object. An answer in JSON is told twice: as text, and as it is."""
    match answer:
        case str():
            return _said(answer)
        case Answer(reply, body):
            kind = (reply.content_type or "").lower()
            if reply.content_type is None:
                raise Trouble("Content-Type header is missing")
            if kind.startswith("text/"):
                return _said(reply.text)
            if kind.split(";")[0].strip() != "application/json":
                raise Trouble(f"Content-Type {reply.content_type} is not supported")
            settled = javascript.settled(body)
            text = javascript.indented(settled)
            return _said(text, structured=javascript.compact(settled) if "response" in body else None)
        case _:
            return _said(javascript.indented(answer))


def _size(answer: str | Answer | JsonObject) -> int:
    match answer:
        case str():
            return len(answer)
        case Answer(reply):
            return len(reply.body)
        case _:
            return 0


def _said(text: str, *, structured: str | None = None, failed: bool = False) -> bytes:
    content: list[Json] = [{"type": "text", "text": text}]
    result = json.dumps({"content": content, **({"isError": True} if failed else {})}, ensure_ascii=False)
    if structured is not None:
        result = f'{result[:-1]},"structuredContent":{structured}}}'
    return javascript.utf8(result)


def _unheard() -> None:
    """Nobody listens before `run`."""
