"""What a request lends of its own to a DocSpace: read at the door, so that a mistake is told before a call is made."""

from collections.abc import Mapping, MutableMapping
from typing import Final
from urllib.parse import parse_qsl

from pegboard.core.docspace.connection import Lends
from pegboard.core.docspace.lent import BASE_URL, CREDENTIAL_HEADERS, IN_QUERY, BadCredential, lent
from pegboard.core.docspace.on_board import lends_on
from pegboard.core.policy import Policy

_MOST: Final = 100


def lent_badly(policy: Policy, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nobody could tell which DocSpace is meant, or as whom; `None` for what is clear, and where nobody lends."""
    lends = lends_on(policy)
    if lends is None:
        return None
    told = lent(headers, lends, _base_url(query, lends))
    return told.why if isinstance(told, BadCredential) else None


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
