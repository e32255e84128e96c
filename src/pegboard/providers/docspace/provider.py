"""The provider of a DocSpace toolset. It keeps no connection open."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from secrets import token_bytes
from typing import Final, TypeAlias

import anyio

from pegboard.core.calls.call import AdmittedCall, Outcome, ProviderFailure, ToolFailure, ToolSuccess
from pegboard.core.calls.caller_credentials import (
    CREDENTIAL_HEADERS,
    ApiAccess,
    BadCredential,
    credential_identity,
    read_caller_credentials,
)
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Health, Listing, ProviderDown, ProviderOff, ProviderStart, ProviderUp
from pegboard.core.model.ids import ToolId, ToolsetKey
from pegboard.core.model.tool import Tool
from pegboard.core.model.web_api import ApiMisconfiguration, CallerCredentialRules
from pegboard.core.policy.policy import CredentialIdentity
from pegboard.ports.providers import ChangeCallback, ClientPeer, Clock, Progress, ignore
from pegboard.processes.output import SecretFilter
from pegboard.providers.docspace import javascript
from pegboard.providers.docspace.api import DocSpaceAnswer, DocSpaceApi
from pegboard.providers.docspace.client import USER_AGENT, CallerAddressPolicy, DocSpaceClient, secrets_of
from pegboard.providers.docspace.files import FILE_TOOLS
from pegboard.providers.docspace.folders import FOLDER_TOOLS
from pegboard.providers.docspace.limits import DocSpaceError, DocSpaceLimits, run_off_loop
from pegboard.providers.docspace.models import DocSpaceTool
from pegboard.providers.docspace.rooms import PEOPLE_TOOLS, ROOM_TOOLS
from pegboard.providers.docspace.validation import validate_arguments

# What the four toolsets of one DocSpace share: the pool of connections, and who may be asked as whom.

OperatorAccessSource: TypeAlias = Callable[[], ApiAccess | ApiMisconfiguration | None]
"""What the operator set, read anew whenever a toolset starts; `None` where callers bring everything themselves."""


AllowedOriginsSource: TypeAlias = Callable[[], Iterable[str]]
"""The addresses of the operator's own that callers may lead to although they are inside, read anew as well."""


@dataclass(frozen=True, slots=True)
class MissingCredentials:
    """Nobody said who asks: neither an operator nor the caller."""

    why: str = (
        "Unauthorized. Send your own DocSpace credentials: X-Mcp-Base-Url with X-Mcp-Api-Key, X-Mcp-Auth-Token, or "
        "X-Mcp-Username and X-Mcp-Password"
    )


class DocSpaceContext:
    def __init__(
        self,
        operator: OperatorAccessSource,
        now: Clock,
        *,
        lends: CallerCredentialRules | None = None,
        limits: DocSpaceLimits | None = None,
        agent: str | None = None,
        named: AllowedOriginsSource = lambda: (),
        key: Callable[[], bytes] = token_bytes,
    ) -> None:
        """`lends` is what a caller's own request may bring; `agent` is our own name where it is `None`; `key` makes the
        tags of credentials, and is asked for once."""
        self._operator = operator
        self._accepted_credentials = lends
        self._limits = limits or DocSpaceLimits()
        self._now = now
        self._allowed_origins = named
        self._address_policy = CallerAddressPolicy()
        self._client = DocSpaceClient(self._limits, now, USER_AGENT if agent is None else agent, self._address_policy)
        self._user_count = 0
        self._tag_key = cache(key)

    def operator_access(self) -> ApiAccess | ApiMisconfiguration | None:
        self._address_policy.allow(self._allowed_origins())
        known = self._operator()
        if known is None and self._accepted_credentials is None:
            return ApiMisconfiguration("No authentication method")
        return known

    def call_access(
        self, operator: ApiAccess | ApiMisconfiguration | None, headers: Mapping[bytes, bytes]
    ) -> ApiAccess | ApiMisconfiguration | BadCredential | MissingCredentials:
        """Whom one call is made as. What a caller brings takes the place of all that the operator set."""
        own = (
            read_caller_credentials(headers, self._accepted_credentials)
            if self._accepted_credentials is not None and _has_docspace_credentials(headers)
            else None
        )
        if own is not None:
            return own
        return MissingCredentials() if operator is None else operator

    def credential_identity(self, access: ApiAccess) -> CredentialIdentity:
        """Bound to the place and the credential, of which nothing can be read in it."""
        return credential_identity(access, self._tag_key())

    def api(self, access: ApiAccess, progress: Progress | None) -> DocSpaceApi:
        return DocSpaceApi(self._client, access, self._limits, self._now, progress)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While one of the toolsets runs. The last that ends closes the connections."""
        self._user_count += 1
        try:
            yield
        finally:
            self._user_count -= 1
            if not self._user_count:
                with anyio.CancelScope(shield=True):
                    await self._client.close()


def _has_docspace_credentials(headers: Mapping[bytes, bytes]) -> bool:
    """`Authorization` alone may be for anybody on the way, such as a model's server; where it could be for DocSpace, it
    is refused at the door."""
    return any(name in headers for name in CREDENTIAL_HEADERS)


TOOLSETS: Final[Mapping[str, Sequence[DocSpaceTool]]] = {
    "files": FILE_TOOLS,
    "folders": FOLDER_TOOLS,
    "rooms": ROOM_TOOLS,
    "people": PEOPLE_TOOLS,
}


_SETTINGS_FIX: Final = "correct the settings of DocSpace; this says how: pegboard docspace check"


class DocSpaceProvider:
    resources = None

    def __init__(self, key: ToolsetKey, tools: Sequence[DocSpaceTool], hall: DocSpaceContext, now: Clock) -> None:
        self.source = key
        self._tools = {tool.name: tool for tool in tools}
        self._context = hall
        self._now = now
        self._notify: ChangeCallback = ignore
        self._operator: ApiAccess | ApiMisconfiguration | None = None
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
                        case ApiMisconfiguration() as wrong:
                            self._set_health(ProviderDown(self._now(), wrong.outage("DocSpace"), fix=_SETTINGS_FIX))
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
        if not isinstance(access, ApiAccess):
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
        return self._context.credential_identity(access) if isinstance(access, ApiAccess) else None

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
