"""Where a DocSpace is, and as whom it is asked. What is secret is in no representation."""

import base64
import hmac
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from pegboard.core.tool import canonical_json
from pegboard.core.whose import CredentialIdentity

_MAX_SECRET_CHARS: Final = 300
_UNSENDABLE: Final = re.compile(r"[^\x20-\x7e\x80-\xff\t]")


@dataclass(frozen=True, slots=True)
class ApiKey:
    key: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A personal access token. DocSpace reads it bare, or as the cookie of a signed-in browser; it is sent as both."""

    token: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": self.token, "cookie": f"asc_auth_key={self.token}"}


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        pair = f"{self.username}:{self.password}".encode("utf-8", "replace")
        return {"authorization": f"Basic {base64.b64encode(pair).decode()}"}


@dataclass(frozen=True, slots=True)
class RawAuthorization:
    """The whole value of `Authorization`, as somebody else made it."""

    authorization: str = field(repr=False)

    def headers(self) -> dict[str, str]:
        return {"authorization": self.authorization}


Credential: TypeAlias = ApiKey | AccessToken | Password | RawAuthorization


def secrets_of(credential: Credential) -> frozenset[str]:
    """What must not be told to anybody: the secret itself, and all that is sent of it."""
    sent = {part for value in credential.headers().values() for part in (value, *value.split()[1:])}
    return frozenset(sent | {credential.password} if isinstance(credential, Password) else sent)


_PORTS: Final = {"http": 80, "https": 443}
_NAMES: Final = {
    ApiKey: "API key",
    AccessToken: "access token",
    RawAuthorization: "authorization",
    Password: "password",
}


@dataclass(frozen=True, slots=True)
class DocSpaceAccess:
    """One DocSpace, and who asks it."""

    base_url: str
    """With a scheme of `http` or `https`, and a slash at its end."""
    credential: Credential
    is_from_caller: bool = False
    """Whether a caller's own request named it, and not the operator."""

    @property
    def origin(self) -> str:
        return url_origin(self.base_url)


def credential_identity(access: DocSpaceAccess, key: bytes) -> CredentialIdentity:
    """Which DocSpace, and as whom: a hash with this key, and words in which nothing is secret."""
    credential = access.credential
    kind = _NAMES[type(credential)]
    bound = canonical_json([access.base_url, kind, credential.headers()])
    named = f" of {credential.username}" if isinstance(credential, Password) else ""
    told = f"{access.base_url} with the {'caller' if access.is_from_caller else 'gateway'}'s own {kind}{named}"
    return CredentialIdentity(hmac.digest(key, bound, "sha256").hex(), " ".join(told.split())[:_MAX_SECRET_CHARS])


def url_origin(url: str) -> str:
    """Scheme, host and port: what credentials are kept within. A port that goes without saying is said."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = parts.port or _PORTS.get(scheme, 0)
    return f"{scheme}://{(parts.hostname or '').lower()}:{port}"


def explain_unsendable(credential: Credential) -> str | None:
    """Why no request can carry it; nothing for one that any can."""
    if any(_UNSENDABLE.search(value) for value in credential.headers().values()):
        named = _NAMES[type(credential)]
        return f"The {named} has a line break or a character that no HTTP header can hold. Correct it"
    return None
