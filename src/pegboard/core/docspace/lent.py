"""What a caller's own request says of the DocSpace it means, and as whom: read the same way wherever it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from .base_url import base_url_problems, normalize_base_url
from .connection import CallerCredentialRules
from .credential import AccessToken, ApiKey, Credential, DocSpaceAccess, Password, RawAuthorization, explain_unsendable

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
