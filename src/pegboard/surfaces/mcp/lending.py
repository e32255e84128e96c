"""What a request lends of its own to a DocSpace: read at the door, so that a mistake is told before a call is made."""

from collections.abc import Mapping, MutableMapping
from typing import Final
from urllib.parse import parse_qsl

from pegboard.core.docspace.connection import CallerCredentialRules, DocSpace
from pegboard.core.docspace.lent import (
    BASE_URL,
    BASE_URL_PARAMETER,
    CREDENTIAL_HEADERS,
    BadCredential,
    read_caller_credentials,
)
from pegboard.core.docspace.on_board import caller_credential_rules, docspace_of
from pegboard.core.policy import Policy

_MAX_QUERY_FIELDS: Final = 100
_ACCEPT_ALL: Final = CallerCredentialRules()
_ACCEPT_NONE: Final = CallerCredentialRules(authorization=False, headers=False, query=False)
HEADERS_NOT_ACCEPTED: Final = (
    "This gateway takes no DocSpace credentials from callers. Send no X-Mcp-Base-Url, X-Mcp-Api-Key and the like, or "
    "ask its operator to allow them: docspace.request_credentials"
)
QUERY_NOT_ACCEPTED: Final = (
    "This gateway takes no DocSpace address from callers. Send no base_url in the query, or ask its operator to allow "
    "it: docspace.request_credentials"
)


def explain_bad_credentials(policy: Policy, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nobody could tell which DocSpace is meant, or as whom; `None` for what is clear, and where there is none."""
    docspace = docspace_of(policy)
    if docspace is None:
        return None
    if (why := explain_unaccepted_credentials(docspace, headers, query)) is not None:
        return why
    lends = docspace.lends or _ACCEPT_NONE
    told = read_caller_credentials(headers, lends, _base_url(query, lends))
    return told.why if isinstance(told, BadCredential) else None


def explain_unaccepted_credentials(docspace: DocSpace, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nothing is taken of what a request brings. Whoever is answered as the operator must not believe to be
    answered as itself."""
    lends = docspace.lends or _ACCEPT_NONE
    if not lends.headers and any(headers.get(name, b"").strip() for name in CREDENTIAL_HEADERS):
        return HEADERS_NOT_ACCEPTED
    if not lends.query and query and _base_url(query, _ACCEPT_ALL):
        return QUERY_NOT_ACCEPTED
    return None


def accepts_base_url_in_query(policy: Policy) -> bool:
    """Whether the query may say something that a call must carry on."""
    lends = caller_credential_rules(policy)
    return lends is not None and lends.query


def copy_base_url_to_headers(policy: Policy, query: bytes, own: MutableMapping[bytes, bytes]) -> None:
    """Into the headers of a request that was found clear: whoever makes the call reads those."""
    lends = caller_credential_rules(policy) if query else None
    if lends is not None and (place := _base_url(query, lends)):
        own[BASE_URL] = place.encode()


def credential_header_names(policy: Policy) -> frozenset[bytes]:
    """The headers of which a request can have but one."""
    lends = caller_credential_rules(policy)
    return frozenset(CREDENTIAL_HEADERS) if lends is not None and lends.headers else frozenset()


def _base_url(query: bytes, lends: CallerCredentialRules) -> str:
    if not query or not lends.query:
        return ""
    pairs = parse_qsl(
        query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", max_num_fields=_MAX_QUERY_FIELDS
    )
    # Two of them are no URL together, and so nobody's guess.
    return " ".join(value for name, value in pairs if name == BASE_URL_PARAMETER).strip()
