"""What a caller's own request says of the web API it means, and as whom: read the same way wherever it is read."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from pegboard.core.model.ids import ToolsetId
from pegboard.core.model.tool import canonical_json
from pegboard.core.model.web_api import CallerCredentialRules, WebApi, base_url_problems, normalize_base_url
from pegboard.core.policy.policy import CredentialIdentity, Policy

# As whom an API is asked. What is secret is in no representation.

_MAX_SECRET_CHARS: Final = 300
_UNSENDABLE: Final = re.compile(r"[^\x20-\x7e\x80-\xff\t]")


@dataclass(frozen=True, slots=True)
class ApiKey:
    key: str = field(repr=False)

    @property
    def values(self) -> tuple[str, ...]:
        return (self.key,)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A personal access token."""

    token: str = field(repr=False)

    @property
    def values(self) -> tuple[str, ...]:
        return (self.token,)


@dataclass(frozen=True, slots=True)
class Password:
    username: str
    password: str = field(repr=False)

    @property
    def values(self) -> tuple[str, ...]:
        return self.username, self.password


@dataclass(frozen=True, slots=True)
class RawAuthorization:
    """The whole value of `Authorization`, as somebody else made it."""

    authorization: str = field(repr=False)

    @property
    def values(self) -> tuple[str, ...]:
        return (self.authorization,)


Credential: TypeAlias = ApiKey | AccessToken | Password | RawAuthorization

_PORTS: Final = {"http": 80, "https": 443}
_NAMES: Final = {
    ApiKey: "API key",
    AccessToken: "access token",
    RawAuthorization: "authorization",
    Password: "password",
}


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """One web API, and who asks it."""

    base_url: str
    """With a scheme of `http` or `https`, and a slash at its end."""
    credential: Credential
    is_from_caller: bool = False
    """Whether a caller's own request named it, and not the operator."""

    @property
    def origin(self) -> str:
        return url_origin(self.base_url)


def credential_identity(access: ApiAccess, key: bytes) -> CredentialIdentity:
    """Which API, and as whom: a hash with this key, and words in which nothing is secret."""
    credential = access.credential
    kind = _NAMES[type(credential)]
    bound = canonical_json([access.base_url, kind, [*credential.values]])
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
    # A user name and a password are sent in an encoding that any header can hold.
    if not isinstance(credential, Password) and any(map(_UNSENDABLE.search, credential.values)):
        named = _NAMES[type(credential)]
        return f"The {named} has a line break or a character that no HTTP header can hold. Correct it"
    return None


AUTHORIZATION: Final = b"authorization"
BASE_URL: Final = b"x-mcp-base-url"
API_KEY: Final = b"x-mcp-api-key"
AUTH_TOKEN: Final = b"x-mcp-auth-token"
USERNAME: Final = b"x-mcp-username"
PASSWORD: Final = b"x-mcp-password"
CREDENTIAL_HEADERS: Final = (BASE_URL, API_KEY, AUTH_TOKEN, USERNAME, PASSWORD)
BASE_URL_PARAMETER: Final = "base_url"

_PARSING_PREFIX: Final = "Parsing credential"
_UNREADABLE: Final = "Expected text in UTF-8"


@dataclass(frozen=True, slots=True)
class BadCredential:
    """A request that cannot be served: whom it is for is not clear. No value of a credential is in it."""

    why: str


CallerCredentials: TypeAlias = ApiAccess | BadCredential | None
"""`None`: the request lends nothing, and the operator's own credentials are meant."""


def read_caller_credentials(
    headers: Mapping[bytes, bytes], lends: CallerCredentialRules, in_query: str = ""
) -> CallerCredentials:
    """Names of headers in lower case; `in_query` is the base_url among the query parameters."""
    read = _read_headers(headers, lends)
    if isinstance(read, BadCredential):
        return read
    asked = in_query.strip() if lends.query else ""
    place = read[BASE_URL]
    if asked and place:
        return _bad_credential("Both query and header specify base URL")
    where, written = ("query", BASE_URL_PARAMETER) if asked else ("header", BASE_URL.decode())
    place = asked or place
    if place and (faults := base_url_problems(place)):
        return _bad_credential(f"Parsing {where}", *(f"\t\t{written}: custom {fault}" for fault in faults))
    if place and lends.base_urls and normalize_base_url(place) not in lends.base_urls:
        return _bad_credential(f"This gateway asks no other {lends.api_title} than {' or '.join(lends.base_urls)}")
    methods = _methods(read)
    if len(methods) > 1:
        return _bad_credential("Expected only one of API key, PAT, or (username and password) to be set")
    if methods and not place:
        return _bad_credential("Base URL is required with API key, PAT, or (username and password)")
    half = read[USERNAME] or read[PASSWORD]
    if lends.authorization and read[AUTHORIZATION]:
        if not place or methods or half:
            return BadCredential("Authorization header with credentials")
        methods = (RawAuthorization(read[AUTHORIZATION]),)
    if methods:
        told = explain_unsendable(methods[0])
        return (
            ApiAccess(normalize_base_url(place), methods[0], is_from_caller=True)
            if told is None
            else _bad_credential(told)
        )
    if half:
        missing = "password" if read[USERNAME] else "username"
        return _bad_credential(f"No {missing}: a username and a password go together")
    return BadCredential("Base URL without credentials") if place else None


def _read_headers(headers: Mapping[bytes, bytes], lends: CallerCredentialRules) -> Mapping[bytes, str] | BadCredential:
    wanted = (*(CREDENTIAL_HEADERS if lends.headers else ()), *((AUTHORIZATION,) if lends.authorization else ()))
    found = dict.fromkeys((*CREDENTIAL_HEADERS, AUTHORIZATION), "")
    for name in wanted:
        try:
            found[name] = headers.get(name, b"").decode("utf-8").strip()
        except UnicodeDecodeError:
            return _bad_credential("Parsing header", f"\t\t{name.decode()}: custom {_UNREADABLE}")
    return found


def _methods(read: Mapping[bytes, str]) -> tuple[Credential, ...]:
    found: list[Credential] = []
    if read[API_KEY]:
        found.append(ApiKey(read[API_KEY]))
    if read[AUTH_TOKEN]:
        found.append(AccessToken(read[AUTH_TOKEN]))
    if read[USERNAME] and read[PASSWORD]:
        found.append(Password(read[USERNAME], read[PASSWORD]))
    return tuple(found)


def _bad_credential(*lines: str) -> BadCredential:
    return BadCredential("\n\t".join((_PARSING_PREFIX, *lines)))


# Where callers of a board may bring credentials of their own.


def caller_credential_rules(policy: Policy) -> CallerCredentialRules | None:
    return None if policy.web_api is None else policy.web_api.lends


def caller_credentials_warning(api: WebApi | None) -> str | None:
    """What a person should know wherever callers may bring credentials of their own."""
    if api is None or (lends := api.lends) is None:
        return None
    why = ", because it has none here" if lends.is_implied else ""
    own = f"{api.title}: callers over HTTP may bring"
    if lends.base_urls:
        return f"{own} credentials of their own{why}, for {' or '.join(lends.base_urls)}."
    return (
        f"{own} a base URL and credentials of their own{why}, and read what the gateway finds there. Name the only "
        f"places under {api.kind}.request_base_urls."
    )


def shared_toolset_warning(toolset: ToolsetId, title: str) -> str:
    """Of a server in a toolset that has the name of one of a web API's."""
    return (
        f"the toolset {str(toolset)!r} holds this server and tools of {title} as well: whoever may use it has both. "
        "Give the server a toolset of another name"
    )
