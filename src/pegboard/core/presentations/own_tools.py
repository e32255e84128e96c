"""Tools that a conversation has found, and the signed handles that carry them. They show tools; the resolution decides.

What was found is a memory and no permission: it is held against a resolution each time, and shows only what that opens.
"""

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from pegboard.core.decision.resolve import OpenTool, Resolution
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BuiltinKey, PrincipalId, ToolId, WireName
from pegboard.core.model.references import ReferenceKind, ToolDirectory, UnknownReference, find_tools, parse_reference
from pegboard.core.model.settings import (
    DEFAULT_MATERIALIZED,
    MAX_MATERIALIZED,
    PinnedEntry,
    PresentationMode,
    PresentationSettings,
)
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.model.wire_names import hashed_name, long_names

# The tools that presentations have of their own: how one is made, and what it costs.

READ_ONLY_HINTS: Final[JsonObject] = {"readOnlyHint": True, "openWorldHint": False}
DESTRUCTIVE_HINTS: Final[JsonObject] = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
"""The hints of whatever tool is called through it."""

CALL_TOOL: Final = "call_tool"


def build_own_tool(
    name: str, description: str, properties: JsonObject, required: Iterable[Json], annotations: JsonObject
) -> Tool:
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    if needed := [*required]:
        schema["required"] = needed
    spec = ToolSpec(name, description=description, input_schema=schema, annotations=annotations)
    return Tool(ToolId(BuiltinKey(), name), spec)


def tools_by_name(*tools: Tool) -> Mapping[str, Tool]:
    return {tool.id.name: tool for tool in tools}


def flag_schema(what: str) -> JsonObject:
    return {"type": "boolean", "default": False, "description": what}


def text_schema(what: str) -> JsonObject:
    return {"type": "string", "minLength": 1, "description": what}


# Tools that stay listed beside those of a presentation, and are called there by their own names.

MAX_PINNED: Final = 500
"""Who wants more than these listed wants every tool as itself."""


def pinned_tools(
    resolution: Resolution, presenting: PresentationSettings, taken: Collection[str]
) -> Mapping[WireName, ToolId]:
    """Those that this caller may know of, open or locked, by the names under which they are listed, in their order.

    A name that is `taken` by the presentation's own tools goes to none of them: such a tool has a longer one.
    """
    if not presenting.always_visible:
        return {}
    within = _directory(resolution)
    meant: set[ToolId] = set()
    for listed in presenting.always_visible:
        found = find_tools(parse_reference(listed.text), within, ReferenceKind.TOOL, suggest=False)
        meant.update(() if isinstance(found, UnknownReference) else found)
    named: dict[WireName, ToolId] = {}
    for id in resolution.names:
        if id in meant and len(named) < MAX_PINNED and (free := free_name(id, resolution, taken)) is not None:
            named[free] = id
    return named


def open_pinned_tools(resolution: Resolution, named: Mapping[WireName, ToolId]) -> Iterator[tuple[WireName, Tool]]:
    """Those of them that are listed: as callers see them."""
    for name, id in named.items():
        verdict = resolution.verdicts[id]
        if isinstance(verdict, OpenTool):
            yield name, verdict.visible_tool


def unmatched_pinned_entries(
    resolution: Resolution, presenting: PresentationSettings
) -> Iterator[tuple[PinnedEntry, UnknownReference]]:
    """What the operator named that means no tool here."""
    within = _directory(resolution)
    for listed in presenting.always_visible:
        found = find_tools(parse_reference(listed.text), within, ReferenceKind.TOOL)
        if isinstance(found, UnknownReference):
            yield listed, found


def _directory(resolution: Resolution) -> ToolDirectory:
    ids = tuple(resolution.names)
    return ToolDirectory(ids, frozenset(id.toolset for id in ids) | resolution.offered_toolsets)


def free_name(id: ToolId, resolution: Resolution, taken: Collection[str]) -> WireName | None:
    """Its name beside tools to which those names belong. A longer one, where it would have one of theirs: that means
    this tool and no other, though it is not the one in the list of all tools."""
    if (name := resolution.names[id]) not in taken:
        return name
    forms = (WireName(form) for form in (*long_names(id), hashed_name(id)))
    return next((form for form in forms if form not in taken and resolution.find_tool(form) == id), None)


# Which presentation a view gets where the number of its tools decides.


def choose_presentation(resolution: Resolution, presenting: PresentationSettings) -> PresentationMode:
    """Search, of more tools than the threshold. Who narrows its view to a few gets those."""
    return PresentationMode.SEARCH if exceeds_threshold(resolution, presenting) else PresentationMode.DIRECT


def exceeds_threshold(resolution: Resolution, presenting: PresentationSettings) -> bool:
    return next(islice(resolution.open_tools(), presenting.threshold, None), None) is not None


@dataclass(frozen=True, slots=True)
class MaterializedTools:
    """What one conversation has found so far."""

    searches: tuple[tuple[ToolId, ...], ...] = ()
    """What is kept of each search, in the order of the searches, the best of each first. A tool is in the first search
    that found it, and in no other; no search is empty."""

    @property
    def ids(self) -> tuple[ToolId, ...]:
        """In the order in which they were first found."""
        return tuple(id for search in self.searches for id in search)

    def with_found(self, found: Iterable[ToolId], most: int = DEFAULT_MATERIALIZED) -> "MaterializedTools":
        """After one more search, `found` the best first. Built-ins are shown without it, and take no place.

        Where there is no room for all, the better half of the places is for the best of this search; the others go to
        what earlier searches found, rank by rank, and of one rank first to the first search, which is the user's own.

        What is kept keeps its place, so that a list of tools grows at its end: whoever has read it up to there need not
        read it anew.
        """
        fresh = [*islice(dict.fromkeys(id for id in found if not isinstance(id.source, BuiltinKey)), most)]
        known = {*self.ids}
        grown = (*self.searches, tuple(id for id in fresh if id not in known))
        best = fresh[: (most + 1) // 2]
        stays = {*islice(dict.fromkeys((*best, *self._by_rank(), *fresh)), most)}
        kept = (tuple(id for id in search if id in stays) for search in grown)
        return MaterializedTools(tuple(search for search in kept if search))

    def with_searches(self, other: "MaterializedTools", most: int = DEFAULT_MATERIALIZED) -> "MaterializedTools":
        """After the searches of another conversation, one by one."""
        joined = self
        for search in other.searches:
            joined = joined.with_found(search, most)
        return joined

    def _by_rank(self) -> Iterator[ToolId]:
        """The best of each search, then the second of each, and so on: of the first search, then from the last back."""
        order = (*self.searches[:1], *reversed(self.searches[1:]))
        for rank in range(max(map(len, order), default=0)):
            yield from (search[rank] for search in order if rank < len(search))


@dataclass(frozen=True, slots=True)
class ConversationTools:
    """What one conversation is shown of the board."""

    tools: tuple[ToolId, ...]
    """Built-ins and those that need not be found, in the order of the board; then what was found."""
    has_deferred: bool
    """Whether there are tools that only a search tells of, found or not: without any, there is nothing to search."""


def always_shown_tools(resolution: Resolution, always: Collection[ToolId]) -> tuple[ToolId, ...]:
    """What need not be found: built-ins, and what is to be shown always. The same for every conversation."""
    return tuple([id for id in resolution.open_ids if isinstance(id.source, BuiltinKey) or id in always])


def has_deferred(resolution: Resolution, always: Collection[ToolId]) -> bool:
    """Whether there are tools that only a search tells of."""
    return len(always_shown_tools(resolution, {*always})) < len(resolution.open_ids)


def conversation_tools(resolution: Resolution, stands: Sequence[ToolId], found: MaterializedTools) -> ConversationTools:
    """Beside what stands nothing that the resolution does not open, whatever was found before."""
    verdicts = resolution.verdicts
    later = (id for id in found.ids if id not in stands and isinstance(verdicts.get(id), OpenTool))
    return ConversationTools((*stands, *later), len(stands) < len(resolution.open_ids))


# Handles: what a conversation has found, as a text that its client keeps. For clients that have no session here.
#
# A handle tells this gateway which tools to show again, and opens none of them. It is signed so that only what was
# found
# here is shown, bound to whoever found it, and good for a time. Ids stand in it as short digests: a model has to
# copy it.

HANDLE_PREFIX: Final = "h1."
"""Begins every handle, and says how the rest is to be read."""
_DIGEST_BYTES: Final = 6
_TIME_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 12
SEARCH_SEPARATOR: Final = bytes(_DIGEST_BYTES)
"""Stands between the tools of two searches. No tool has it, so gateways that do not know it pass it over."""
MAX_SEPARATORS: Final = 8
"""What further searches found stands with the last one: a model has to copy the handle."""
MAX_HANDLE_CHARS: Final = (
    len(HANDLE_PREFIX)
    + (_TIME_BYTES + _DIGEST_BYTES * (MAX_MATERIALIZED + MAX_SEPARATORS) + _SIGNATURE_BYTES + 2) // 3 * 4
)


@dataclass(frozen=True, slots=True)
class BadHandle:
    """What is wrong with a handle, in a clause."""

    why: str


FOREIGN_HANDLE: Final = BadHandle("it is not one that this gateway gave you, or not all of it")
"""Whose it is instead, nobody is told."""
EXPIRED_HANDLE: Final = BadHandle("it has expired")


def tool_digest(tool: ToolId) -> bytes:
    return hashlib.blake2b(str(tool).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def make_handle(tools: Sequence[bytes], principal: PrincipalId, until: datetime, key: bytes) -> str:
    """Of the digests of the tools, in their order, with `NEXT_SEARCH` between searches."""
    body = int(until.timestamp()).to_bytes(_TIME_BYTES, "big") + b"".join(tools)
    return HANDLE_PREFIX + urlsafe_b64encode(body + _signature(body, principal, key)).decode().rstrip("=")


def read_handle(text: str, principal: PrincipalId, now: datetime, key: bytes) -> tuple[bytes, ...] | BadHandle:
    """The digests in it, with `NEXT_SEARCH` between searches."""
    if not text.startswith(HANDLE_PREFIX) or len(text) > MAX_HANDLE_CHARS:
        return FOREIGN_HANDLE
    raw = _decode(text.removeprefix(HANDLE_PREFIX))
    body, signature = raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
    if len(body) < _TIME_BYTES or (len(body) - _TIME_BYTES) % _DIGEST_BYTES:
        return FOREIGN_HANDLE
    if not hmac.compare_digest(signature, _signature(body, principal, key)):
        return FOREIGN_HANDLE
    if now >= datetime.fromtimestamp(int.from_bytes(body[:_TIME_BYTES], "big"), UTC):
        return EXPIRED_HANDLE
    return tuple(body[at : at + _DIGEST_BYTES] for at in range(_TIME_BYTES, len(body), _DIGEST_BYTES))


def _decode(text: str) -> bytes:
    """Nothing for what is no such text. One way to write each handle: two texts never stand for one."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (NotBase64, UnicodeEncodeError):
        return b""
    return raw if urlsafe_b64encode(raw).decode().rstrip("=") == text else b""


def _signature(body: bytes, principal: PrincipalId, key: bytes) -> bytes:
    signed = (
        HANDLE_PREFIX.encode()
        + len(body).to_bytes(_TIME_BYTES, "big")
        + body
        + principal.encode("utf-8", "surrogatepass")
    )
    return hmac.digest(key, signed, "sha256")[:_SIGNATURE_BYTES]
