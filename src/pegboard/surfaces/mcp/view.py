"""Reads `X-Mcp-…` headers and query parameters into a `View`, and caller credentials."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final
from urllib.parse import parse_qsl

from pegboard.config.references import header_references
from pegboard.core.calls.caller_credentials import (
    BASE_URL,
    BASE_URL_PARAMETER,
    CREDENTIAL_HEADERS,
    BadCredential,
    caller_credential_rules,
    read_caller_credentials,
)
from pegboard.core.decision.resolve import Resolution
from pegboard.core.model.ids import BUILTIN, LOCAL_PRINCIPAL, PrincipalId
from pegboard.core.model.selection import AllToolsets, Selection, TheseToolsets, View, parse_toolsets
from pegboard.core.model.server import Http
from pegboard.core.model.web_api import CallerCredentialRules, WebApi
from pegboard.core.policy.policy import Policy

MAX_OPTION_BYTES: Final = 16_384
MAX_NAMES: Final = 1_000
MAX_LISTED: Final = 200
MAX_PARAMETERS: Final = 100

TOOLSETS: Final = "toolsets"
ENABLED_TOOLS: Final = "enabled_tools"
DISABLED_TOOLS: Final = "disabled_tools"
DYNAMIC: Final = "dynamic"
OPTION_BY_HEADER: Final = {
    "x-mcp-toolsets": TOOLSETS,
    "x-mcp-enabled-tools": ENABLED_TOOLS,
    "x-mcp-disabled-tools": DISABLED_TOOLS,
    "x-mcp-dynamic": DYNAMIC,
}
OPTION_NAMES: Final = tuple(OPTION_BY_HEADER.values())
SHORT_NAMES: Final = {
    "tool": (TOOLSETS, ENABLED_TOOLS),
    "tools": (TOOLSETS, ENABLED_TOOLS),
    "enable": (ENABLED_TOOLS,),
    "enabled": (ENABLED_TOOLS,),
    "disable": (DISABLED_TOOLS,),
    "disabled": (DISABLED_TOOLS,),
}
"""What options are taken for that are too short to be near them by their letters."""
PRESENTATION_BY_PATH: Final = (
    "How tools are shown is chosen by the path: connect to "
    "/mcp/search, /mcp/meta, /mcp/deferred, /mcp/code or /mcp/direct."
)
TRUE_WORDS: Final = frozenset({"yes", "y", "true", "1"})
FALSE_WORDS: Final = frozenset({"no", "n", "false", "0", ""})
_DYNAMIC_HEADER: Final = b"x-mcp-dynamic"


@dataclass(frozen=True)
class BadOption:
    """A request that cannot be understood: what was wrong with which option, and what to do."""

    why: str


@dataclass(frozen=True)
class _OptionText:
    """One option as it came, and where, in the words of an error message."""

    text: str
    where: str


def view_of(
    headers: Iterable[tuple[bytes, bytes]], query: bytes, principal: PrincipalId = LOCAL_PRINCIPAL
) -> View | BadOption:
    """Without options the view is everything. What the names mean is asked of the board, not here."""
    in_header = _header_options(headers)
    in_query = _query_options(query)
    for read in (in_header, in_query):
        if isinstance(read, BadOption):
            return read
    assert not isinstance(in_header, BadOption)
    assert not isinstance(in_query, BadOption)
    if both := sorted(in_header.keys() & in_query.keys()):
        return BadOption(
            f"Both the {in_header[both[0]].where} and the {in_query[both[0]].where} are given, "
            "and neither goes before the other. Leave one out."
        )
    given = {**in_header, **in_query}
    if isinstance(problem := _parse_dynamic(given.pop(DYNAMIC, None)), BadOption):
        return problem
    return _narrow_view(View(principal), given)


def wants_meta_tools(headers: Iterable[tuple[bytes, bytes]], query: bytes) -> bool | None:
    """Whether the request says so; `None` if it says nothing, or nothing that could be understood: whoever reads all of
    it will tell."""
    said = [(name, value) for name, value in headers if name == _DYNAMIC_HEADER]
    if not said and DYNAMIC.encode() not in query:
        return None
    in_header, in_query = _header_options(said), _query_options(query)
    if isinstance(in_header, BadOption) or isinstance(in_query, BadOption) or (in_header and DYNAMIC in in_query):
        return None
    read = _parse_dynamic({**in_query, **in_header}.get(DYNAMIC))
    return None if isinstance(read, BadOption) else read


def explain_unknown_names(resolution: Resolution) -> str | None:
    """What the request names in vain, what is near it, and what there is; `None` when every name means something."""
    if not resolution.unknown_in_narrowing:
        return None
    sets = sorted({*resolution.offered_toolsets, *(id.toolset for id in resolution.offered_tools)})
    tools = sorted(str(id) for id in resolution.offered_tools)
    return "\n".join(
        (
            *(str(unknown) for unknown in resolution.unknown_in_narrowing[:MAX_LISTED]),
            f"Toolsets to choose from: {_join_names(sets)}.",
            f"Tools to choose from: {_join_names(tools)}.",
        )
    )


def narrow_to_toolset(view: View, toolset: str) -> View:
    """The same, within this toolset alone."""
    return View(view.principal, (Selection(TheseToolsets((toolset,))), *view.narrowings), view.filters)


def explain_unknown_toolset(resolution: Resolution) -> str | None:
    """Why an address names no toolset, with what is near and what there is; `None` when it does."""
    if not resolution.unknown_in_narrowing:
        return None
    sets = sorted({*resolution.offered_toolsets, *(id.toolset for id in resolution.offered_tools)} - {BUILTIN})
    listed = f"Toolsets to choose from: {_join_names(sets)}."
    return (
        f"{resolution.unknown_in_narrowing[0]} {listed} Connect to /mcp/t/NAME with one of them, or to /mcp for "
        "all tools."
    )


def _narrow_view(view: View, given: Mapping[str, _OptionText]) -> View | BadOption:
    if not given:
        return view
    names: dict[str, tuple[str, ...]] = {}
    for option, read in given.items():
        listed = tuple(dict.fromkeys(name for part in read.text.split(",") if (name := part.strip())))
        if len(listed) > MAX_NAMES:
            return BadOption(
                f"The {read.where} lists {len(listed)} names; at most {MAX_NAMES} are taken. Use patterns."
            )
        names[option] = listed
    named = names.get(TOOLSETS)
    return view.narrow(
        Selection(
            toolsets=AllToolsets() if named is None else parse_toolsets(name.lower() for name in named),
            enabled=names.get(ENABLED_TOOLS, ()),
            disabled=names.get(DISABLED_TOOLS, ()),
        )
    )


def _parse_dynamic(read: _OptionText | None) -> bool | BadOption | None:
    if read is None:
        return None
    word = read.text.strip().lower()
    if word in TRUE_WORDS or word in FALSE_WORDS:
        return word in TRUE_WORDS
    return BadOption(f"The {read.where} is {read.text[:80]!r}. Write yes, y, true or 1; or no, n, false or 0.")


def _header_options(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, _OptionText] | BadOption:
    pairs = [(name.decode("latin-1").lower(), value) for name, value in headers if name[:6].lower() == b"x-mcp-"]
    return _options(pairs, OPTION_BY_HEADER, lambda name: f"header {name.title()}")


def _query_options(query: bytes) -> dict[str, _OptionText] | BadOption:
    if not query:
        return {}
    try:
        # Kept as the bytes they stand for, so that text which is no UTF-8 is told apart by name below.
        pairs = parse_qsl(query.decode("latin-1"), True, encoding="latin-1", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return BadOption(f"The address has more than {MAX_PARAMETERS} query parameters. Leave out what is not needed.")
    known = {option: option for option in OPTION_NAMES}
    return _options(
        [(name, value.encode("latin-1")) for name, value in pairs], known, lambda name: f"query parameter {name}"
    )


def _options(
    pairs: Sequence[tuple[str, bytes]], known: Mapping[str, str], where: Callable[[str], str]
) -> dict[str, _OptionText] | BadOption:
    found: dict[str, _OptionText] = {}
    for name, value in pairs:
        option = known.get(name)
        if option is None:
            if _letters(name) == "presentation":
                return BadOption(f"The {where(name)} is unknown. {PRESENTATION_BY_PATH}")
            # A misspelt option that is passed over would show more tools than were asked for.
            if near := _similar_options(name, known):
                return BadOption(f"The {where(name[:80])} is unknown. Did you mean {' or '.join(near)}?")
            continue
        if option in found:
            return BadOption(f"The {where(name)} is given more than once. Join its values with commas.")
        if len(value) > MAX_OPTION_BYTES:
            return BadOption(f"The {where(name)} is longer than {MAX_OPTION_BYTES} bytes. Use patterns or toolsets.")
        try:
            found[option] = _OptionText(value.decode("utf-8"), where(name))
        except UnicodeDecodeError:
            return BadOption(f"The {where(name)} is not UTF-8 text. Encode it as UTF-8.")
    return found


def _similar_options(name: str, known: Mapping[str, str]) -> Sequence[str]:
    """The names that this one may stand for, whatever its case and its separators, with or without a prefix."""
    letters = _letters(name)
    bare = letters.removeprefix("x").removeprefix("mcp") if letters.startswith(("xmcp", "mcp")) else letters
    if bare in SHORT_NAMES:
        return [given for given, option in known.items() if option in SHORT_NAMES[bare]]
    for written, names in (
        (letters, {_letters(given): given for given in known}),
        (bare, {_letters(option): given for given, option in known.items()}),
    ):
        if near := get_close_matches(written, names, n=1, cutoff=0.85):
            return [names[near[0]]]
    return ()


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _join_names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


# What a request lends of its own to a web API: read at the door, so that a mistake is told before a call is made.

_MAX_QUERY_FIELDS: Final = 100
_ACCEPT_ALL: Final = CallerCredentialRules()
_ACCEPT_NONE: Final = CallerCredentialRules(authorization=False, headers=False, query=False)
_HEADERS_NOT_ACCEPTED: Final = (
    "This gateway takes no {0.title} credentials from callers. Send no X-Mcp-Base-Url, X-Mcp-Api-Key and the like, or "
    "ask its operator to allow them: {0.kind}.request_credentials"
)
_QUERY_NOT_ACCEPTED: Final = (
    "This gateway takes no {0.title} address from callers. Send no base_url in the query, or ask its operator to allow "
    "it: {0.kind}.request_credentials"
)


def explain_bad_credentials(policy: Policy, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nobody could tell which place is meant, or as whom; `None` for what is clear, and where there is none."""
    api = policy.web_api
    if api is None:
        return None
    if (why := explain_unaccepted_credentials(api, headers, query)) is not None:
        return why
    lends = api.lends or _ACCEPT_NONE
    told = read_caller_credentials(headers, lends, _base_url(query, lends))
    return told.why if isinstance(told, BadCredential) else None


def explain_unaccepted_credentials(api: WebApi, headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """Why nothing is taken of what a request brings. Whoever is answered as the operator must not believe to be
    answered as itself."""
    lends = api.lends or _ACCEPT_NONE
    if not lends.headers and any(headers.get(name, b"").strip() for name in CREDENTIAL_HEADERS):
        return _HEADERS_NOT_ACCEPTED.format(api)
    if not lends.query and query and _base_url(query, _ACCEPT_ALL):
        return _QUERY_NOT_ACCEPTED.format(api)
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


# Headers that servers are called with in a caller's name: each must be clear.


def duplicate_credential_header(policy: Policy, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """A header that some server is to be called with, if it is not clear which of two values that would be."""
    times = Counter(name for name, _ in headers)
    twice = [name for name in times if times[name] > 1]
    if not twice:
        return None
    lent = {
        asked.header.lower().encode()
        for server in policy.servers.values()
        if isinstance(server.connection, Http)
        for text in server.connection.headers.values()
        for asked in header_references(text)
    } | credential_header_names(policy)
    return next((name for name in twice if name in lent), None)
