"""What is stored of a sign-in: client registration, tokens, and where to renew them."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import httpx2
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ValidationError

from pegboard.core.model.ids import ServerKey
from pegboard.ports.stores import SecretStore, UnreadableSecret


@dataclass(frozen=True)
class SignInRecord:
    url: str
    """The server that all of this is for. At another address it is worth nothing."""
    client: OAuthClientInformationFull | None = field(default=None, repr=False)
    tokens: OAuthToken | None = field(default=None, repr=False)
    signed_in_at: datetime | None = None
    expires_at: datetime | None = None
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None

    @property
    def access_token(self) -> str | None:
        return None if self.tokens is None else self.tokens.access_token


class SignInRecordStore:
    """One server's record among the secrets."""

    def __init__(self, secrets: SecretStore, server: ServerKey) -> None:
        self._secrets = secrets
        self.name = f"sign-in to {server}"

    async def load(self, url: str) -> SignInRecord | UnreadableSecret:
        """Raises `SecretsUnavailable`."""
        found = await self._secrets.load(self.name)
        if isinstance(found, UnreadableSecret):
            return found
        record = SignInRecord(url) if found is None else _decode_record(found)
        return record if record is not None and record.url == url else SignInRecord(url)

    async def save(self, record: SignInRecord) -> None:
        """Raises `SecretsUnavailable`."""
        await self._secrets.save(self.name, _encode_record(record))

    async def forget(self) -> None:
        """Raises `SecretsUnavailable`."""
        await self._secrets.delete(self.name)


def expiry_of(tokens: OAuthToken, now: datetime) -> datetime | None:
    return None if tokens.expires_in is None else now + timedelta(seconds=max(0, min(tokens.expires_in, 10**9)))


def _encode_record(record: SignInRecord) -> bytes:
    def plain(model: BaseModel | None) -> object:
        return None if model is None else model.model_dump(mode="json", exclude_none=True)

    return json.dumps(
        {
            "url": record.url,
            "client": plain(record.client),
            "tokens": plain(record.tokens),
            "since": None if record.signed_in_at is None else record.signed_in_at.isoformat(),
            "expires": None if record.expires_at is None else record.expires_at.isoformat(),
            "metadata": plain(record.metadata),
            "resource": plain(record.resource),
        }
    ).encode()


def _decode_record(text: bytes) -> SignInRecord | None:
    """None for what another version of the program wrote: then a person signs in again."""
    try:
        said: dict[str, Any] = json.loads(text)
        client, tokens, metadata, resource = (said[name] for name in ("client", "tokens", "metadata", "resource"))
        return SignInRecord(
            str(said["url"]),
            client=None if client is None else OAuthClientInformationFull.model_validate(client),
            tokens=None if tokens is None else OAuthToken.model_validate(tokens),
            signed_in_at=None if said["since"] is None else datetime.fromisoformat(said["since"]),
            expires_at=None if said["expires"] is None else datetime.fromisoformat(said["expires"]),
            metadata=None if metadata is None else OAuthMetadata.model_validate(metadata),
            resource=None if resource is None else ProtectedResourceMetadata.model_validate(resource),
        )
    except (ValueError, KeyError, TypeError, ValidationError):
        return None


# Why a server turned a request away, as it said it itself: what the SDK's flow starts from.

_MAX_HEADER_CHARS: Final = 4_096
"""Characters of the header that are looked at."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """`text` is the `WWW-Authenticate` of an answer, empty if it had none."""

    text: str = ""

    def response(self, asked: httpx2.Request, scopes: tuple[str, ...]) -> httpx2.Response:
        """The answer again, for the flow to read. What people configured stands in place of the server's own scopes."""
        said = httpx2.Response(
            HTTPStatus.UNAUTHORIZED, headers={"www-authenticate": self.text[:_MAX_HEADER_CHARS]}, request=asked
        )
        step_up = extract_field_from_www_auth(said, "error") == "insufficient_scope"
        fields = {
            "error": "insufficient_scope" if step_up else None,
            "resource_metadata": extract_resource_metadata_from_www_auth(said),
            "scope": " ".join(scopes) or extract_scope_from_www_auth(said),
        }
        told = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        status = HTTPStatus.FORBIDDEN if step_up else HTTPStatus.UNAUTHORIZED
        return httpx2.Response(status, headers={"www-authenticate": f"Bearer {told}"}, request=asked)


def is_insufficient_scope(challenge: str) -> bool:
    """Whether the sign-in was good, but not for this."""
    said = httpx2.Response(HTTPStatus.FORBIDDEN, headers={"www-authenticate": challenge[:_MAX_HEADER_CHARS]})
    return extract_field_from_www_auth(said, "error") == "insufficient_scope"
