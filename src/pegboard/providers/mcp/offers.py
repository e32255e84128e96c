"""From what a server answers to its lists of prompts, resources and templates to offers, page by page, within bounds.

An entry that no client could read becomes a flaw, and the others stay; so does a list that cannot be had at all.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import anyio
import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from mcp_types import Prompt as PromptModel
from mcp_types import Resource as ResourceModel
from mcp_types import ResourceTemplate as TemplateModel
from pydantic import BaseModel, ValidationError

from pegboard.children.lines import one_line
from pegboard.core.catalogue import ListingProblem
from pegboard.core.characters import escape_name
from pegboard.core.nesting import count_values
from pegboard.core.offer import NO_RESOURCES, PromptEntry, ProviderResources, ResourceEntry, ResourceTemplate
from pegboard.core.tool import Json, JsonObject

from .connection import McpConnection
from .trouble import MAX_REASON_LENGTH, describe_refusal, format_seconds

MAX_ENTRIES: Final = 20_000
MAX_PAGES: Final = 1_000
MAX_LIST_BYTES: Final = 32 * 1024 * 1024
"""Of one list, over all its pages."""
MAX_ENTRY_VALUES: Final = 10_000
"""Values of one entry, each list and object counted as well."""
_ENTRIES_PER_TURN: Final = 200
MAX_KEY_LENGTH: Final = 8_192
_MAX_SHOWN_KEY: Final = 60

T = TypeVar("T", PromptEntry, ResourceEntry, ResourceTemplate)


@dataclass(frozen=True)
class ResourceListResult:
    """What a server offers beside tools, and what is wrong with it."""

    resources: ProviderResources = NO_RESOURCES
    problems: tuple[ListingProblem, ...] = ()


@dataclass(frozen=True)
class _ListKind:
    """One of the three lists: how it is asked for, and what its entries look like."""

    method: str
    member: str
    key: str
    label: str
    model: type[BaseModel]


@dataclass(frozen=True)
class _Entry:
    key: str
    body: JsonObject
    size: int


_PROMPTS: Final = _ListKind("prompts/list", "prompts", "name", "prompt", PromptModel)
_RESOURCES: Final = _ListKind("resources/list", "resources", "uri", "resource", ResourceModel)
_TEMPLATES: Final = _ListKind(
    "resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", TemplateModel
)


async def list_resources(
    connection: McpConnection, within: float, former: ProviderResources, erase: Callable[[str], str]
) -> ResourceListResult:
    """All three lists. One that fails keeps its former entries, and costs the others nothing."""
    prompts: list[PromptEntry] = []
    resources: list[ResourceEntry] = []
    templates: list[ResourceTemplate] = []
    flaws: list[ListingProblem] = []

    async def list_all(
        kind: _ListKind, make: Callable[[str, JsonObject], T], into: list[T], before: tuple[T, ...]
    ) -> None:
        try:
            with anyio.fail_after(within):
                into += await _list_entries(connection, kind, make, flaws)
        except MCPError as error:
            if kind is _TEMPLATES and error.code == METHOD_NOT_FOUND:
                # One capability is for both lists of resources: whoever does not know of templates has none.
                return
            into[:] = before
            flaws.append(_list_failure(kind, one_line(erase(describe_refusal(error)), MAX_REASON_LENGTH)))
        except TimeoutError:
            into[:] = before
            flaws.append(_list_failure(kind, f"did not answer within {format_seconds(within)}"))

    async with anyio.create_task_group() as tasks:
        if connection.supports("prompts"):
            tasks.start_soon(list_all, _PROMPTS, PromptEntry, prompts, former.prompts)
        if connection.supports("resources"):
            tasks.start_soon(list_all, _RESOURCES, ResourceEntry, resources, former.resources)
            tasks.start_soon(list_all, _TEMPLATES, ResourceTemplate, templates, former.templates)
    return ResourceListResult(
        ProviderResources(tuple(prompts), tuple(resources), tuple(templates)), tuple(sorted(flaws, key=_flaw_order))
    )


async def _list_entries(
    connection: McpConnection, kind: _ListKind, make: Callable[[str, JsonObject], T], flaws: list[ListingProblem]
) -> list[T]:
    found: dict[str, T] = {}
    cursors: set[str] = set()
    cursor: str | None = None
    size = number = 0
    while True:
        page = await connection.request(kind.method, {} if cursor is None else {"cursor": cursor})
        items, following = page.get(kind.member), page.get("nextCursor")
        if not isinstance(items, list):
            flaws.append(_list_failure(kind, f"answered {kind.method} with something that is no list"))
            break
        for item in items:
            number += 1
            if not number % _ENTRIES_PER_TURN:
                # However many entries a page has, others are served between them.
                await anyio.lowlevel.checkpoint()
            entry = _parse_entry(kind, item, number)
            if not isinstance(entry, ListingProblem) and entry.key in found:
                entry = ListingProblem(
                    _shorten_key(entry.key), f"is listed more than once as a {kind.label}: the first one stays"
                )
            if isinstance(entry, ListingProblem):
                flaws.append(entry)
                continue
            size += entry.size
            if len(found) >= MAX_ENTRIES or size > MAX_LIST_BYTES:
                flaws.append(
                    _list_flaw(
                        kind, f"is longer than {MAX_ENTRIES:,} entries or {MAX_LIST_BYTES // 2**20} MiB: it is cut"
                    )
                )
                return list(found.values())
            found[entry.key] = make(entry.key, entry.body)
        cursor = following if isinstance(following, str) and following else None
        if cursor is None:
            break
        if cursor in cursors or len(cursors) >= MAX_PAGES - 1:
            why = "leads in a circle" if cursor in cursors else f"has more than {MAX_PAGES:,} pages"
            flaws.append(_list_flaw(kind, f"{why}: what would follow is left out"))
            break
        cursors.add(cursor)
        # However fast a server answers, its pages must not keep others from being served.
        await anyio.lowlevel.checkpoint()
    return list(found.values())


def _parse_entry(kind: _ListKind, item: Json, number: int) -> _Entry | ListingProblem:
    """What the protocol's own model refuses would cost a strict client the whole list."""
    if not isinstance(item, dict):
        return ListingProblem(f"{kind.label} {number} of the list", "is not an object")
    key = item.get(kind.key)
    if not isinstance(key, str) or not key:
        return ListingProblem(f"{kind.label} {number} of the list", f"has no {kind.key}")
    if len(key) > MAX_KEY_LENGTH or any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in key):
        return ListingProblem(_shorten_key(key), f"has a {kind.key} that is too long or holds control characters")
    if count_values(item, MAX_ENTRY_VALUES) > MAX_ENTRY_VALUES:
        return ListingProblem(
            _shorten_key(key), f"is described by more than {MAX_ENTRY_VALUES:,} values, counting each list and object"
        )
    try:
        kind.model.model_validate(item, by_name=False)
        return _Entry(key, item, len(msgspec.json.encode(item)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return ListingProblem(
            _shorten_key(key), f"is no {kind.label} that a client could read: {where}: {first['msg']}"
        )
    except (ValueError, RecursionError):
        return ListingProblem(_shorten_key(key), f"is no {kind.label} that can be written as JSON")


def _list_failure(kind: _ListKind, why: str) -> ListingProblem:
    return _list_flaw(kind, f"cannot be had: the server {why}")


def _list_flaw(kind: _ListKind, why: str) -> ListingProblem:
    return ListingProblem(f"the list of {kind.label}s", why)


def _shorten_key(key: str) -> str:
    plain = escape_name(key)
    return plain if len(plain) <= _MAX_SHOWN_KEY else f"{plain[:_MAX_SHOWN_KEY]}…"


def _flaw_order(flaw: ListingProblem) -> tuple[str, str]:
    return flaw.name, flaw.why
