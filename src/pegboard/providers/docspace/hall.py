"""What the four toolsets of one DocSpace share: the pool of connections, and who may be asked as whom."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from secrets import token_bytes
from typing import TypeAlias

import anyio

from pegboard.core.docspace import (
    CREDENTIAL_HEADERS,
    BadCredential,
    CallerCredentialRules,
    DocSpaceAccess,
    DocSpaceMisconfiguration,
    read_caller_credentials,
)
from pegboard.core.docspace.credential import credential_identity
from pegboard.core.whose import CredentialIdentity
from pegboard.ports import Clock, Progress

from .api import DocSpaceApi
from .bounds import CallerAddressPolicy
from .client import USER_AGENT, DocSpaceClient
from .limits import DocSpaceLimits

OperatorAccessSource: TypeAlias = Callable[[], DocSpaceAccess | DocSpaceMisconfiguration | None]
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

    def operator_access(self) -> DocSpaceAccess | DocSpaceMisconfiguration | None:
        self._address_policy.allow(self._allowed_origins())
        known = self._operator()
        if known is None and self._accepted_credentials is None:
            return DocSpaceMisconfiguration("No authentication method")
        return known

    def call_access(
        self, operator: DocSpaceAccess | DocSpaceMisconfiguration | None, headers: Mapping[bytes, bytes]
    ) -> DocSpaceAccess | DocSpaceMisconfiguration | BadCredential | MissingCredentials:
        """Whom one call is made as. What a caller brings takes the place of all that the operator set."""
        own = (
            read_caller_credentials(headers, self._accepted_credentials)
            if self._accepted_credentials is not None and _has_docspace_credentials(headers)
            else None
        )
        if own is not None:
            return own
        return MissingCredentials() if operator is None else operator

    def credential_identity(self, access: DocSpaceAccess) -> CredentialIdentity:
        """Bound to the place and the credential, of which nothing can be read in it."""
        return credential_identity(access, self._tag_key())

    def api(self, access: DocSpaceAccess, progress: Progress | None) -> DocSpaceApi:
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
