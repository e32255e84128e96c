"""What a request lends of its own to a DocSpace: read at the door, so that a mistake is told before a call is made."""

from collections.abc import Mapping, MutableMapping
from typing import Final
from urllib.parse import parse_qsl

from pegboard.core.docspace.connection import DocSpace, Lends
from pegboard.core.docspace.lent import BASE_URL, CREDENTIAL_HEADERS, IN_QUERY, BadCredential, lent
from pegboard.core.docspace.on_board import docspace_on, lends_on
from pegboard.core.policy import Policy

_MOST: Final = 100
_ANYTHING: Final = Lends()
_NOTHING: Final = Lends(authorization=False, headers=False, query=False)
TAKES_NO_HEADERS: Final = (
    "This gateway takes no DocSpace credentials from callers. Send no X-Mcp-Base-Url, X-Mcp-Api-Key and the like, or "
    "ask its operator to allow them: docspace.request_credentials"
)
TAKES_NO_QUERY: Final = (
    "This gateway takes no DocSpace address from callers. Send no base_url in the query, or ask its operator to allow "
    "it: docspace.request_credentials"
)


def lent_badly(policy: Policy, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nobody could tell which DocSpace is meant, or as whom; `None` for what is clear, and where there is none."""
    docspace = docspace_on(policy)
    if docspace is None:
        return None
    if (why := unwelcome(docspace, headers, query)) is not None:
        return why
    lends = docspace.lends or _NOTHING
    told = lent(headers, lends, _base_url(query, lends))
    return told.why if isinstance(told, BadCredential) else None


def unwelcome(docspace: DocSpace, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nothing is taken of what a request brings. Whoever is answered as the operator must not believe to be
    answered as itself."""
    lends = docspace.lends or _NOTHING
    if not lends.headers and any(headers.get(name, b"").strip() for name in CREDENTIAL_HEADERS):
        return TAKES_NO_HEADERS
    if not lends.query and query and _base_url(query, _ANYTHING):
        return TAKES_NO_QUERY
    return None


def reads_query(policy: Policy) -> bool:
    """Whether the query may say something that a call must carry on."""
    lends = lends_on(policy)
    return lends is not None and lends.query


def carry_base_url(policy: Policy, query: bytes, own: MutableMapping[bytes, bytes]) -> None:
    """Into the headers of a request that was found clear: whoever makes the call reads those."""
    lends = lends_on(policy) if query else None
    if lends is not None and (place := _base_url(query, lends)):
        own[BASE_URL] = place.encode()


def lent_names(policy: Policy) -> frozenset[bytes]:
    """The headers of which a request can have but one."""
    lends = lends_on(policy)
    return frozenset(CREDENTIAL_HEADERS) if lends is not None and lends.headers else frozenset()


def _base_url(query: bytes, lends: Lends) -> str:
    if not query or not lends.query:
        return ""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", max_num_fields=_MOST)
    # Two of them are no URL together, and so nobody's guess.
    return " ".join(value for name, value in pairs if name == IN_QUERY).strip()
