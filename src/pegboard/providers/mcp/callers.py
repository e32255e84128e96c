"""What a server asks of each caller: headers of the caller's own request, and the key that keeps callers apart."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pegboard.config.references import header_references
from pegboard.core.server import Connection, Http
from pegboard.ports import ExpandForCaller, UnresolvedReference

_SALT: Final = secrets.token_bytes(32)
"""Of this process alone, so that a key says nothing of the credential it was made from."""


@dataclass(frozen=True)
class CallerHeaders:
    """Of one caller: the headers it lends us, and nothing else of its request."""

    key: bytes
    headers: Mapping[bytes, bytes]


@dataclass(frozen=True)
class HeaderRequirements:
    """What one server's connection asks of its callers."""

    connection: Http
    names: tuple[bytes, ...]
    """In lower case, as requests have them."""

    def credentials_of(
        self, headers: Mapping[bytes, bytes], expand_for: ExpandForCaller
    ) -> CallerHeaders | UnresolvedReference:
        """A caller's credentials, or what it should send instead."""
        own = self.headers_of(headers)
        expand = expand_for(own)
        for text in self.connection.headers.values():
            if header_references(text) and isinstance(missing := expand(text), UnresolvedReference):
                return missing
        return CallerHeaders(self._caller_key(own), own)

    def headers_of(self, headers: Mapping[bytes, bytes]) -> Mapping[bytes, bytes]:
        return {name: headers[name] for name in self.names if name in headers}

    def anonymous_connection(self) -> Http:
        """The connection as nobody in particular makes it: what only a caller can say is left out."""
        kept = {
            name: text
            for name, text in self.connection.headers.items()
            if all(part.default for part in header_references(text))
        }
        return replace(self.connection, headers=kept)

    def _caller_key(self, own: Mapping[bytes, bytes]) -> bytes:
        return hashlib.blake2b(self.identity_bytes(own), key=_SALT, digest_size=32).digest()

    def identity_bytes(self, own: Mapping[bytes, bytes]) -> bytes:
        """With its length before it, no value can be taken for parts of two."""
        values = (own.get(name) for name in self.names)
        return b"".join(b"-" if value is None else b"%d:%b" % (len(value), value) for value in values)


def header_requirements(connection: Connection) -> HeaderRequirements | None:
    """`None` for a server that is the same to every caller."""
    if not isinstance(connection, Http):
        return None
    names = {part.header.lower().encode() for text in connection.headers.values() for part in header_references(text)}
    return HeaderRequirements(connection, tuple(sorted(names))) if names else None
