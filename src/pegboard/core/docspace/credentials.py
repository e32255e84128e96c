"""What a caller's own request says of the DocSpace it means, and as whom: read the same way wherever it is read."""

import base64
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from pegboard.core.model.docspace import (
    CallerCredentialRules,
    DocSpace,
    DocSpaceMisconfiguration,
    base_url_problems,
    normalize_base_url,
)
from pegboard.core.model.ids import ToolsetId, ToolsetKey
from pegboard.core.model.tool import canonical_json
from pegboard.core.policy.policy import CredentialIdentity, Policy

# Where a DocSpace is, and as whom it is asked. What is secret is in no representation.

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


CallerCredentials: TypeAlias = DocSpaceAccess | BadCredential | None
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
        return _bad_credential(f"This gateway asks no other DocSpace than {' or '.join(lends.base_urls)}")
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
            DocSpaceAccess(normalize_base_url(place), methods[0], is_from_caller=True)
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


# From what the settings say, with references followed, to whom the operator speaks for: one method, or why not.


@dataclass(frozen=True, slots=True)
class DocSpaceCredentialValues:
    """Values as they are, around which white space means nothing, and where nothing is as good as not said."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    authorization: str = field(default="", repr=False)
    base_url_written: str = ""
    """The base URL as the file says it, with its references. Messages quote this one: a value may be a secret."""


def resolve_operator_access(
    said: DocSpaceCredentialValues, lends: CallerCredentialRules | None
) -> DocSpaceAccess | DocSpaceMisconfiguration | None:
    """All that is wrong, at once. `None` where the operator has no credentials, and each caller is to lend its own."""
    place = said.base_url.strip()
    methods = tuple(_settled_methods(said))
    faults = base_url_problems(place, said.base_url_written) if place else ()
    if wrong := [*faults, *_problems(said, methods, lends)]:
        return DocSpaceMisconfiguration("\n".join(wrong))
    return DocSpaceAccess(normalize_base_url(place), methods[0]) if methods else None


def _settled_methods(said: DocSpaceCredentialValues) -> Iterator[Credential]:
    if value := said.authorization.strip():
        yield RawAuthorization(value)
    if value := said.api_key.strip():
        yield ApiKey(value)
    if value := said.auth_token.strip():
        yield AccessToken(value)
    if (name := said.username.strip()) and (value := said.password.strip()):
        yield Password(name, value)


def _problems(
    said: DocSpaceCredentialValues, methods: tuple[Credential, ...], lends: CallerCredentialRules | None
) -> Iterator[str]:
    username, password = said.username.strip(), said.password.strip()
    if username and not password:
        yield "No password"
    if password and not username:
        yield "No username"
    if methods and not said.base_url.strip():
        yield "No API base URL"
    lendable = lends is not None and (lends.headers or (lends.authorization and lends.query))
    if not methods and not username and not password and not lendable:
        yield "No authentication method"
    if len(methods) > 1:
        yield "Multiple authentication methods"
    yield from (told for method in methods if (told := explain_unsendable(method)) is not None)


# The DocSpace of a board, if it has one.

_ANY_TOOLSET: Final = ToolsetKey(ToolsetId("files"))
"""All of its toolsets are reached the same way."""


def docspace_of(policy: Policy) -> DocSpace | None:
    server = policy.servers.get(_ANY_TOOLSET)
    return server.connection if server is not None and isinstance(server.connection, DocSpace) else None


def caller_credentials_warning(policy: Policy) -> str | None:
    """What a person should know wherever callers may bring credentials of their own."""
    lends = caller_credential_rules(policy)
    if lends is None:
        return None
    why = ", because it has none here" if lends.is_implied else ""
    if lends.base_urls:
        return (
            f"DocSpace: callers over HTTP may bring credentials of their own{why}, for {' or '.join(lends.base_urls)}."
        )
    return (
        f"DocSpace: callers over HTTP may bring a base URL and credentials of their own{why}, and read what "
        "the gateway finds there. Name the only places under docspace.request_base_urls."
    )


def shared_toolset_warning(toolset: ToolsetId) -> str:
    """Of a server in a toolset that has the name of one of DocSpace's."""
    return (
        f"the toolset {str(toolset)!r} holds this server and tools of DocSpace as well: whoever may use it has both. "
        "Give the server a toolset of another name"
    )


def caller_credential_rules(policy: Policy) -> CallerCredentialRules | None:
    found = docspace_of(policy)
    return None if found is None else found.lends
