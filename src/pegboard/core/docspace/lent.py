"""What a caller's own request says of the DocSpace it means, and as whom: read the same way wherever it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from .base_url import base_url, url_faults
from .connection import Lends
from .credential import Access, AccessToken, ApiKey, Credential, Password, Raw, unsendable

AUTHORIZATION: Final = b"authorization"
BASE_URL: Final = b"x-mcp-base-url"
API_KEY: Final = b"x-mcp-api-key"
AUTH_TOKEN: Final = b"x-mcp-auth-token"
USERNAME: Final = b"x-mcp-username"
PASSWORD: Final = b"x-mcp-password"
CREDENTIAL_HEADERS: Final = (BASE_URL, API_KEY, AUTH_TOKEN, USERNAME, PASSWORD)
IN_QUERY: Final = "base_url"

_PARSING: Final = "Parsing credential"
_UNREADABLE: Final = "Expected text in UTF-8"


@dataclass(frozen=True, slots=True)
class BadCredential:
    """A request that cannot be served: whom it is for is not clear. No value of a credential is in it."""

    why: str


Lent: TypeAlias = Access | BadCredential | None
"""`None`: the request lends nothing, and the operator's own credentials are meant."""


def lent(headers: Mapping[bytes, bytes], lends: Lends, in_query: str = "") -> Lent:
    """Names of headers in lower case; `in_query` is the base_url among the query parameters."""
    read = _read(headers, lends)
    if isinstance(read, BadCredential):
        return read
    asked = in_query.strip() if lends.query else ""
    place = read[BASE_URL]
    if asked and place:
        return _bad("Both query and header specify base URL")
    where, written = ("query", IN_QUERY) if asked else ("header", BASE_URL.decode())
    place = asked or place
    if place and (faults := url_faults(place)):
        return _bad(f"Parsing {where}", *(f"\t\t{written}: custom {fault}" for fault in faults))
    if place and lends.places and base_url(place) not in lends.places:
        return _bad(f"This gateway asks no other DocSpace than {' or '.join(lends.places)}")
    methods = _methods(read)
    if len(methods) > 1:
        return _bad("Expected only one of API key, PAT, or (username and password) to be set")
    if methods and not place:
        return _bad("Base URL is required with API key, PAT, or (username and password)")
    half = read[USERNAME] or read[PASSWORD]
    if lends.authorization and read[AUTHORIZATION]:
        if not place or methods or half:
            return BadCredential("Authorization header with credentials")
        methods = (Raw(read[AUTHORIZATION]),)
    if methods:
        told = unsendable(methods[0])
        return Access(base_url(place), methods[0], is_brought=True) if told is None else _bad(told)
    if half:
        missing = "password" if read[USERNAME] else "username"
        return _bad(f"No {missing}: a username and a password go together")
    return BadCredential("Base URL without credentials") if place else None


def _read(headers: Mapping[bytes, bytes], lends: Lends) -> Mapping[bytes, str] | BadCredential:
    wanted = (*(CREDENTIAL_HEADERS if lends.headers else ()), *((AUTHORIZATION,) if lends.authorization else ()))
    found = dict.fromkeys((*CREDENTIAL_HEADERS, AUTHORIZATION), "")
    for name in wanted:
        try:
            found[name] = headers.get(name, b"").decode("utf-8").strip()
        except UnicodeDecodeError:
            return _bad("Parsing header", f"\t\t{name.decode()}: custom {_UNREADABLE}")
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


def _bad(*lines: str) -> BadCredential:
    return BadCredential("\n\t".join((_PARSING, *lines)))
