"""From what a server answers to `tools/list` to tools, page by page and within bounds.

A tool that cannot hang on the board becomes a flaw, and the others stay.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from anyio import to_thread
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from pegboard.core.catalogue import Flaw
from pegboard.core.characters import escape_name
from pegboard.core.ids import Source, ToolId
from pegboard.core.nesting import values_in
from pegboard.core.tool import Json, Tool, ToolSpec
from pegboard.memory import undisturbed

from .connection import Connection
from .transport import HeaderMap
from .trouble import Trouble

MOST_TOOLS: Final = 20_000
MOST_PAGES: Final = 1_000
MOST_VALUES: Final = 1_000_000
"""Of a list over all its pages, each list and object counted as well."""
MOST_OF_ONE: Final = 50_000
"""Of one tool. What follows from its definition, such as comparing it with what was approved, is done all at once."""
LONGEST_NAME: Final = 128
_SHOWN: Final = 60
_beside: Final = partial(to_thread.run_sync, abandon_on_cancel=True)
_SPEC: Final = frozenset({"name", "title", "description", "inputSchema", "outputSchema", "annotations"})


@dataclass(frozen=True)
class Listed:
    tools: tuple[Tool, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    header_maps: dict[str, HeaderMap] = field(default_factory=dict[str, HeaderMap])


async def listed(connection: Connection, source: Source) -> Listed:
    """All pages of the list. Raises `MCPError` for an error answer, `Trouble` for an answer that is no list."""
    items: list[Json] = []
    cut: list[Flaw] = []
    cursors: set[str] = set()
    cursor: str | None = None
    values = 0
    while True:
        page = await connection.list_page(cursor)
        # Taken out of it, because the SDK's loops hold on to an answer until the next one comes.
        tools, cursor = page.pop("tools", None), _cursor(page.get("nextCursor"))
        if not isinstance(tools, list):
            raise Trouble("answered tools/list with something that is no list of tools")
        values += await _beside(values_in, tools, MOST_VALUES)
        if values > MOST_VALUES:
            cut.append(Flaw("the list", f"has more than {MOST_VALUES:,} values: the page with them is left out"))
            break
        items += tools
        if len(items) > MOST_TOOLS or (cursor and len(items) == MOST_TOOLS):
            cut.append(Flaw("the list", f"has more than {MOST_TOOLS:,} tools: those after them are left out"))
            break
        if cursor is None:
            break
        if cursor in cursors:
            cut.append(Flaw("the list", "leads in a circle: a page names one as the next that came before"))
            break
        cursors.add(cursor)
        if len(cursors) >= MOST_PAGES:
            cut.append(Flaw("the list", f"has more than {MOST_PAGES:,} pages: those after them are left out"))
            break
    # What follows a large list would hold up everybody else.
    return await _beside(partial(_read, modern=connection.modern), items[:MOST_TOOLS], source, cut)


def _read(items: Sequence[Json], source: Source, cut: Sequence[Flaw], *, modern: bool) -> Listed:
    with undisturbed():
        return read(items, source, cut, modern=modern)


def read(items: Sequence[Json], source: Source, cut: Sequence[Flaw] = (), *, modern: bool = False) -> Listed:
    tools: dict[str, Tool] = {}
    flaws: list[Flaw] = []
    header_maps: dict[str, HeaderMap] = {}
    for number, item in enumerate(items, start=1):
        tool = _tool(item, number, source)
        if isinstance(tool, Tool) and tool.id.name in tools:
            tool = Flaw(tool.id.name, "is listed more than once: the first one stays")
        if isinstance(tool, Tool) and isinstance(item, dict) and modern:
            # The protocol asks clients to drop a tool whose header wishes cannot be met.
            schema = item.get("inputSchema")
            if (why := find_invalid_x_mcp_header(schema)) is not None:
                tool = Flaw(tool.id.name, f"wants arguments in HTTP headers in a way the protocol forbids: {why}")
            elif wanted := x_mcp_header_map(schema):
                header_maps[tool.id.name] = wanted
        if isinstance(tool, Tool):
            tools[tool.id.name] = tool
        else:
            flaws.append(tool)
    return Listed(tuple(tools.values()), (*flaws, *cut), header_maps)


def _cursor(value: Json) -> str | None:
    """Anything but a text ends the list; so does an empty one, which some servers send with the last page."""
    return value if isinstance(value, str) and value else None


def _tool(item: Json, number: int, source: Source) -> Tool | Flaw:
    if not isinstance(item, dict):
        return Flaw(f"tool {number} of the list", "is not an object")
    name = item.get("name")
    if (why := _bad_name(name)) is not None:
        return Flaw(_shown(name, number), why)
    assert isinstance(name, str)
    name = _copied(name)
    if (why := next(_bad_members(item), None)) is not None:
        return Flaw(name, why)
    if values_in(item, MOST_OF_ONE) > MOST_OF_ONE:
        return Flaw(name, f"has a definition of more than {MOST_OF_ONE:,} values, counting each list and object")
    return Tool(
        ToolId(source, name),
        ToolSpec(
            name=name,
            title=_text(item, "title"),
            description=_text(item, "description") or "",
            input_schema=_object(item, "inputSchema") or {},
            output_schema=_object(item, "outputSchema"),
            annotations=_object(item, "annotations"),
        ),
        {key: value for key, value in item.items() if key not in _SPEC},
    )


def _bad_name(name: Json) -> str | None:
    if name is None:
        return "has no name"
    if not isinstance(name, str):
        return "has a name that is not text"
    if not name:
        return "has an empty name"
    if len(name) > LONGEST_NAME:
        return f"has a name of {len(name):,} characters; at most {LONGEST_NAME} are possible"
    if name.isascii() and name.isprintable():
        return None
    # Control characters, invisible ones, halves of characters, and line separators: a refusal tells an agent the name.
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in name):
        return "has a control or invisible character in its name"
    return None


def _bad_members(item: dict[str, Json]) -> Iterator[str]:
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


def _shown(name: Json, number: int) -> str:
    """A name that cannot be used, but can be shown."""
    if not isinstance(name, str) or not name:
        return f"tool {number} of the list"
    plain = escape_name(name)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"


def _text(item: dict[str, Json], key: str) -> str | None:
    value = item.get(key)
    return _copied(value) if isinstance(value, str) else None


def _copied(text: str) -> str:
    """Kept texts of their own: one that stays among thousands of objects that go keeps all their room taken."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def _object(item: dict[str, Json], key: str) -> dict[str, Json] | None:
    value = item.get(key)
    return value if isinstance(value, dict) else None
