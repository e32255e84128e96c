"""Reads `tools/list` page by page, within limits. A tool that cannot be used becomes a listing problem; the others
stay.

A tool that cannot hang on the board becomes a flaw, and the others stay.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import anyio
import msgspec
from anyio import to_thread
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp_types import METHOD_NOT_FOUND
from mcp_types import Prompt as PromptModel
from mcp_types import Resource as ResourceModel
from mcp_types import ResourceTemplate as TemplateModel
from pydantic import BaseModel, ValidationError

from pegboard.core.json.values import Json, JsonObject, count_values
from pegboard.core.model.catalogue import (
    NO_RESOURCES,
    ListingProblem,
    PromptEntry,
    ProviderResources,
    ResourceEntry,
    ResourceTemplate,
)
from pegboard.core.model.characters import escape_name
from pegboard.core.model.ids import SourceKey, ToolId
from pegboard.core.model.text import truncate
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.memory import pause_garbage_collection
from pegboard.processes.output import one_line
from pegboard.providers.mcp.connection import McpConnection
from pegboard.providers.mcp.errors import MAX_REASON_LENGTH, McpServerError, describe_refusal, format_seconds
from pegboard.providers.mcp.transport import HeaderMap

MAX_TOOLS: Final = 20_000
MAX_PAGES: Final = 1_000
MAX_LIST_VALUES: Final = 1_000_000
"""Of a list over all its pages, each list and object counted as well."""
MAX_TOOL_VALUES: Final = 50_000
"""Of one tool. What follows from its definition, such as comparing it with what was approved, is done all at once."""
MAX_NAME_LENGTH: Final = 128
_MAX_SHOWN_NAME: Final = 60
_run_in_thread: Final = partial(to_thread.run_sync, abandon_on_cancel=True)
_SPEC_MEMBERS: Final = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "annotations"})


@dataclass(frozen=True)
class ToolListResult:
    tools: tuple[Tool, ...] = ()
    problems: tuple[ListingProblem, ...] = ()
    header_maps: dict[str, HeaderMap] = field(default_factory=dict[str, HeaderMap])


async def list_tools(connection: McpConnection, source: SourceKey) -> ToolListResult:
    """All pages of the list. Raises `MCPError` for an error answer, `McpServerError` for an answer that is no list."""
    items: list[Json] = []
    cut: list[ListingProblem] = []
    cursors: set[str] = set()
    cursor: str | None = None
    values = 0
    while True:
        page = await connection.list_page(cursor)
        # Taken out of it, because the SDK's loops hold on to an answer until the next one comes.
        tools, cursor = page.pop("tools", None), _cursor(page.get("nextCursor"))
        if not isinstance(tools, list):
            raise McpServerError("answered tools/list with something that is no list of tools")
        values += await _run_in_thread(count_values, tools, MAX_LIST_VALUES)
        if values > MAX_LIST_VALUES:
            cut.append(
                ListingProblem("the list", f"has more than {MAX_LIST_VALUES:,} values: the page with them is left out")
            )
            break
        items += tools
        if len(items) > MAX_TOOLS or (cursor and len(items) == MAX_TOOLS):
            cut.append(ListingProblem("the list", f"has more than {MAX_TOOLS:,} tools: those after them are left out"))
            break
        if cursor is None:
            break
        if cursor in cursors:
            cut.append(ListingProblem("the list", "leads in a circle: a page names one as the next that came before"))
            break
        cursors.add(cursor)
        if len(cursors) >= MAX_PAGES:
            cut.append(ListingProblem("the list", f"has more than {MAX_PAGES:,} pages: those after them are left out"))
            break
    # What follows a large list would hold up everybody else.
    return await _run_in_thread(
        partial(_parse_tools_undisturbed, modern=connection.is_modern), items[:MAX_TOOLS], source, cut
    )


def _parse_tools_undisturbed(
    items: Sequence[Json], source: SourceKey, cut: Sequence[ListingProblem], *, modern: bool
) -> ToolListResult:
    with pause_garbage_collection():
        return parse_tools(items, source, cut, modern=modern)


def parse_tools(
    items: Sequence[Json], source: SourceKey, cut: Sequence[ListingProblem] = (), *, modern: bool = False
) -> ToolListResult:
    tools: dict[str, Tool] = {}
    flaws: list[ListingProblem] = []
    header_maps: dict[str, HeaderMap] = {}
    for number, item in enumerate(items, start=1):
        tool = _parse_tool(item, number, source)
        if isinstance(tool, Tool) and tool.id.name in tools:
            tool = ListingProblem(tool.id.name, "is listed more than once: the first one stays")
        if isinstance(tool, Tool) and isinstance(item, dict) and modern:
            # The protocol asks clients to drop a tool whose header wishes cannot be met.
            schema = item.get("inputSchema")
            if (why := find_invalid_x_mcp_header(schema)) is not None:
                tool = ListingProblem(
                    tool.id.name, f"wants arguments in HTTP headers in a way the protocol forbids: {why}"
                )
            elif wanted := x_mcp_header_map(schema):
                header_maps[tool.id.name] = wanted
        if isinstance(tool, Tool):
            tools[tool.id.name] = tool
        else:
            flaws.append(tool)
    return ToolListResult(tuple(tools.values()), (*flaws, *cut), header_maps)


def _cursor(value: Json) -> str | None:
    """Anything but a text ends the list; so does an empty one, which some servers send with the last page."""
    return value if isinstance(value, str) and value else None


def _parse_tool(item: Json, number: int, source: SourceKey) -> Tool | ListingProblem:
    if not isinstance(item, dict):
        return ListingProblem(f"tool {number} of the list", "is not an object")
    name = item.get("name")
    if (why := _name_problem(name)) is not None:
        return ListingProblem(_display_name(name, number), why)
    assert isinstance(name, str)
    name = _copy_text(name)
    if (why := next(_member_problems(item), None)) is not None:
        return ListingProblem(name, why)
    if count_values(item, MAX_TOOL_VALUES) > MAX_TOOL_VALUES:
        return ListingProblem(
            name, f"has a definition of more than {MAX_TOOL_VALUES:,} values, counting each list and object"
        )
    return Tool(
        ToolId(source, name),
        ToolSpec(
            name=name,
            title=_text_member(item, "title"),
            description=_text_member(item, "description") or "",
            input_schema=_object_member(item, "inputSchema") or {},
            output_schema=_object_member(item, "outputSchema"),
            annotations=_object_member(item, "annotations"),
        ),
        {key: value for key, value in item.items() if key not in _SPEC_MEMBERS},
    )


def _name_problem(name: Json) -> str | None:
    if name is None:
        return "has no name"
    if not isinstance(name, str):
        return "has a name that is not text"
    if not name:
        return "has an empty name"
    if len(name) > MAX_NAME_LENGTH:
        return f"has a name of {len(name):,} characters; at most {MAX_NAME_LENGTH} are possible"
    if name.isascii() and name.isprintable():
        return None
    # Control characters, invisible ones, halves of characters, and line separators: a refusal tells an agent the name.
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in name):
        return "has a control or invisible character in its name"
    return None


def _member_problems(item: dict[str, Json]) -> Iterator[str]:
    schema = item.get("inputSchema")
    if schema is None:
        yield "has no input schema"
    elif not isinstance(schema, dict):
        yield "has an input schema that is not an object"
    elif schema.get("type") != "object":
        yield "has an input schema that is not of type object"
    for member in ("title", "description"):
        if not isinstance(item.get(member), str | None):
            yield f"has a {member} that is not text"
    for member, said in (("outputSchema", "an output schema"), ("annotations", "annotations")):
        if not isinstance(item.get(member), dict | None):
            yield f"has {said} that is not an object" if member == "outputSchema" else f"has {said} that are no object"


def _display_name(name: Json, number: int) -> str:
    """A name that cannot be used, but can be shown."""
    if not isinstance(name, str) or not name:
        return f"tool {number} of the list"
    plain = escape_name(name)
    return truncate(plain, _MAX_SHOWN_NAME)


def _text_member(item: dict[str, Json], key: str) -> str | None:
    value = item.get(key)
    return _copy_text(value) if isinstance(value, str) else None


def _copy_text(text: str) -> str:
    """Kept texts of their own: one that stays among thousands of objects that go keeps all their room taken."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def _object_member(item: dict[str, Json], key: str) -> dict[str, Json] | None:
    value = item.get(key)
    return value if isinstance(value, dict) else None


# From what a server answers to its lists of prompts, resources and templates to offers, page by page, within
# bounds.
#
# An entry that no client could read becomes a flaw, and the others stay; so does a list that cannot be had at all.

MAX_ENTRIES: Final = 20_000
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
    return truncate(plain, _MAX_SHOWN_KEY)


def _flaw_order(flaw: ListingProblem) -> tuple[str, str]:
    return flaw.name, flaw.why
