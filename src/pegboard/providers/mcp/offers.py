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
from pegboard.core.catalogue import Flaw
from pegboard.core.characters import escape_name
from pegboard.core.nesting import values_in
from pegboard.core.offer import NOTHING, Offers, Prompt, Resource, Template
from pegboard.core.tool import Json, JsonObject

from .connection import Connection
from .trouble import LONGEST_WHY, refused, seconds

MOST: Final = 20_000
MOST_PAGES: Final = 1_000
MOST_BYTES: Final = 32 * 1024 * 1024
"""Of one list, over all its pages."""
MOST_OF_ONE: Final = 10_000
"""Values of one entry, each list and object counted as well."""
_TURN: Final = 200
LONGEST_KEY: Final = 8_192
_SHOWN: Final = 60

T = TypeVar("T", Prompt, Resource, Template)


@dataclass(frozen=True)
class Shown:
    """What a server offers beside tools, and what is wrong with it."""

    offers: Offers = NOTHING
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True)
class _Kind:
    """One of the three lists: how it is asked for, and what its entries look like."""

    method: str
    member: str
    key: str
    word: str
    model: type[BaseModel]


@dataclass(frozen=True)
class _Entry:
    key: str
    body: JsonObject
    size: int


_PROMPTS: Final = _Kind("prompts/list", "prompts", "name", "prompt", PromptModel)
_RESOURCES: Final = _Kind("resources/list", "resources", "uri", "resource", ResourceModel)
_TEMPLATES: Final = _Kind(
    "resources/templates/list", "resourceTemplates", "uriTemplate", "resource template", TemplateModel
)


async def shown(connection: Connection, within: float, former: Offers, erase: Callable[[str], str]) -> Shown:
    """All three lists. One that fails keeps its former entries, and costs the others nothing."""
    prompts: list[Prompt] = []
    resources: list[Resource] = []
    templates: list[Template] = []
    flaws: list[Flaw] = []

    async def list_all(kind: _Kind, make: Callable[[str, JsonObject], T], into: list[T], before: tuple[T, ...]) -> None:
        try:
            with anyio.fail_after(within):
                into += await _entries(connection, kind, make, flaws)
        except MCPError as error:
            if kind is _TEMPLATES and error.code == METHOD_NOT_FOUND:
                # One capability is for both lists of resources: whoever does not know of templates has none.
                return
            into[:] = before
            flaws.append(_lost(kind, one_line(erase(refused(error)), LONGEST_WHY)))
        except TimeoutError:
            into[:] = before
            flaws.append(_lost(kind, f"did not answer within {seconds(within)}"))

    async with anyio.create_task_group() as tasks:
        if connection.offers("prompts"):
            tasks.start_soon(list_all, _PROMPTS, Prompt, prompts, former.prompts)
        if connection.offers("resources"):
            tasks.start_soon(list_all, _RESOURCES, Resource, resources, former.resources)
            tasks.start_soon(list_all, _TEMPLATES, Template, templates, former.templates)
    return Shown(Offers(tuple(prompts), tuple(resources), tuple(templates)), tuple(sorted(flaws, key=_order)))


async def _entries(
    connection: Connection, kind: _Kind, make: Callable[[str, JsonObject], T], flaws: list[Flaw]
) -> list[T]:
    found: dict[str, T] = {}
    cursors: set[str] = set()
    cursor: str | None = None
    size = number = 0
    while True:
        page = await connection.request(kind.method, {} if cursor is None else {"cursor": cursor})
        items, following = page.get(kind.member), page.get("nextCursor")
        if not isinstance(items, list):
            flaws.append(_lost(kind, f"answered {kind.method} with something that is no list"))
            break
        for item in items:
            number += 1
            if not number % _TURN:
                # However many entries a page has, others are served between them.
                await anyio.lowlevel.checkpoint()
            entry = _read(kind, item, number)
            if not isinstance(entry, Flaw) and entry.key in found:
                entry = Flaw(_cut(entry.key), f"is listed more than once as a {kind.word}: the first one stays")
            if isinstance(entry, Flaw):
                flaws.append(entry)
                continue
            size += entry.size
            if len(found) >= MOST or size > MOST_BYTES:
                flaws.append(_list(kind, f"is longer than {MOST:,} entries or {MOST_BYTES // 2**20} MiB: it is cut"))
                return list(found.values())
            found[entry.key] = make(entry.key, entry.body)
        cursor = following if isinstance(following, str) and following else None
        if cursor is None:
            break
        if cursor in cursors or len(cursors) >= MOST_PAGES - 1:
            why = "leads in a circle" if cursor in cursors else f"has more than {MOST_PAGES:,} pages"
            flaws.append(_list(kind, f"{why}: what would follow is left out"))
            break
        cursors.add(cursor)
        # However fast a server answers, its pages must not keep others from being served.
        await anyio.lowlevel.checkpoint()
    return list(found.values())


def _read(kind: _Kind, item: Json, number: int) -> _Entry | Flaw:
    """What the protocol's own model refuses would cost a strict client the whole list."""
    if not isinstance(item, dict):
        return Flaw(f"{kind.word} {number} of the list", "is not an object")
    key = item.get(kind.key)
    if not isinstance(key, str) or not key:
        return Flaw(f"{kind.word} {number} of the list", f"has no {kind.key}")
    if len(key) > LONGEST_KEY or any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in key):
        return Flaw(_cut(key), f"has a {kind.key} that is too long or holds control characters")
    if values_in(item, MOST_OF_ONE) > MOST_OF_ONE:
        return Flaw(_cut(key), f"is described by more than {MOST_OF_ONE:,} values, counting each list and object")
    try:
        kind.model.model_validate(item, by_name=False)
        return _Entry(key, item, len(msgspec.json.encode(item)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return Flaw(_cut(key), f"is no {kind.word} that a client could read: {where}: {first['msg']}")
    except (ValueError, RecursionError):
        return Flaw(_cut(key), f"is no {kind.word} that can be written as JSON")


def _lost(kind: _Kind, why: str) -> Flaw:
    return _list(kind, f"cannot be had: the server {why}")


def _list(kind: _Kind, why: str) -> Flaw:
    return Flaw(f"the list of {kind.word}s", why)


def _cut(key: str) -> str:
    plain = escape_name(key)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"


def _order(flaw: Flaw) -> tuple[str, str]:
    return flaw.name, flaw.why
