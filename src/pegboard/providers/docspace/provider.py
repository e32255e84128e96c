"""A toolset of DocSpace as a source of tools. It keeps no connection open, so it is up wherever it is set up."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import anyio

from pegboard.children.erasing import SecretFilter
from pegboard.core.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.catalogue import Health, Listing, ProviderDown, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.docspace import DocSpaceAccess, DocSpaceMisconfiguration
from pegboard.core.docspace.credential import secrets_of
from pegboard.core.ids import ToolId, ToolsetKey
from pegboard.core.tool import Json, JsonObject, Tool
from pegboard.core.whose import CredentialIdentity
from pegboard.ports import ChangeCallback, ClientPeer, Clock, Progress

from . import javascript
from .api import DocSpaceAnswer
from .checking import validate_arguments
from .files import FILE_TOOLS
from .folders import FOLDER_TOOLS
from .hall import DocSpaceContext
from .pace import run_off_loop
from .people import PEOPLE_TOOLS
from .rooms import ROOM_TOOLS
from .tool import DocSpaceTool
from .trouble import DocSpaceError

TOOLSETS: Final[Mapping[str, Sequence[DocSpaceTool]]] = {
    "files": FILE_TOOLS,
    "folders": FOLDER_TOOLS,
    "rooms": ROOM_TOOLS,
    "people": PEOPLE_TOOLS,
}


class DocSpaceProvider:
    resources = None

    def __init__(self, key: ToolsetKey, tools: Sequence[DocSpaceTool], hall: DocSpaceContext, now: Clock) -> None:
        self.source = key
        self._tools = {tool.name: tool for tool in tools}
        self._context = hall
        self._now = now
        self._notify: ChangeCallback = _ignore_change
        self._operator: DocSpaceAccess | DocSpaceMisconfiguration | None = None
        self._restart_requested = anyio.Event()
        specs = tuple(Tool(ToolId(key, tool.name), tool.spec, is_checked_by_provider=True) for tool in tools)
        self._listing = Listing(key, ProviderStart(1, now()), specs)

    def listing(self) -> Listing:
        return self._listing

    def log(self) -> Sequence[str]:
        return ()

    def restart(self) -> None:
        self._restart_requested.set()

    async def run(self, ring: ChangeCallback) -> None:
        self._notify = ring
        async with self._context.open():
            try:
                while True:
                    self._restart_requested = anyio.Event()
                    self._operator = self._context.operator_access()
                    match self._operator:
                        case DocSpaceMisconfiguration() as wrong:
                            self._set_health(ProviderDown(self._now(), wrong.outage))
                        case _:
                            self._set_health(ProviderUp(self._now()))
                    await self._restart_requested.wait()
            finally:
                self._set_health(ProviderOff())

    async def call(
        self, admitted: AdmittedCall, progress: Progress | None = None, peer: ClientPeer | None = None
    ) -> Outcome:
        tool = self._tools.get(name := admitted.tool.id.name)
        if tool is None:
            return ProviderFailure(f"{self.source} does not have {name!r}. List the tools again", may_have_run=False)
        access = self._context.call_access(self._operator, admitted.call.headers)
        if not isinstance(access, DocSpaceAccess):
            return ToolFailure(_text_result(access.why, failed=True))
        try:
            arguments = validate_arguments(tool.arguments, admitted.call.arguments) if tool.checks_arguments else {}
            api = self._context.api(access, progress)
            async with api.large_answer_slot:
                answer = await tool.function(api, arguments)
                return ToolSuccess(await run_off_loop(_answer_size(answer), _encode_result, answer))
        except DocSpaceError as trouble:
            return ToolFailure(_text_result(SecretFilter(secrets_of(access.credential))(str(trouble)), failed=True))
        except RecursionError:
            # Text of so many levels reads well enough, but cannot be written again.
            return ToolFailure(_text_result("The arguments, or the answer, are nested too deeply.", failed=True))

    def credential_identity(self, headers: Mapping[bytes, bytes]) -> CredentialIdentity | None:
        """Where callers bring credentials, a yes to one of them is none to another."""
        access = self._context.call_access(self._operator, headers)
        return self._context.credential_identity(access) if isinstance(access, DocSpaceAccess) else None

    def _set_health(self, health: Health) -> None:
        self._listing = Listing(self.source, health, self._listing.tools)
        self._notify()


def _encode_result(answer: str | DocSpaceAnswer | JsonObject) -> bytes:
    """The result object. An answer in JSON is told twice: as text, and as it is."""
    match answer:
        case str():
            return _text_result(answer)
        case DocSpaceAnswer(reply, body):
            kind = (reply.content_type or "").lower()
            if reply.content_type is None:
                raise DocSpaceError("Content-Type header is missing")
            if kind.startswith("text/"):
                return _text_result(reply.text)
            if kind.split(";")[0].strip() != "application/json":
                raise DocSpaceError(f"Content-Type {reply.content_type} is not supported")
            settled = javascript.normalize(body)
            text = javascript.to_indented_json(settled)
            return _text_result(text, structured=javascript.to_compact_json(settled) if "response" in body else None)
        case _:
            return _text_result(javascript.to_indented_json(answer))


def _answer_size(answer: str | DocSpaceAnswer | JsonObject) -> int:
    match answer:
        case str():
            return len(answer)
        case DocSpaceAnswer(reply):
            return len(reply.body)
        case _:
            return 0


def _text_result(text: str, *, structured: str | None = None, failed: bool = False) -> bytes:
    content: list[Json] = [{"type": "text", "text": text}]
    result = json.dumps({"content": content, **({"isError": True} if failed else {})}, ensure_ascii=False)
    if structured is not None:
        result = f'{result[:-1]},"structuredContent":{structured}}}'
    return javascript.encode_utf8(result)


def _ignore_change() -> None:
    """Nobody listens before `run`."""
