"""What a decision is about, as text: a tool, a pattern, a server or a toolset."""

from collections.abc import Mapping
from typing import Final, assert_never

from pegboard.core.ids import (
    BuiltinKey,
    ServerId,
    ServerKey,
    SourceKey,
    ToolId,
    ToolsetId,
    ToolsetKey,
    is_id,
    parse_server_key,
    parse_tool_id,
)
from pegboard.core.pattern import Pattern
from pegboard.core.policy import Switchable


def kind_and_text(what: ToolId | Pattern | Switchable) -> tuple[str, str]:
    """The kind and the text. The text alone would not do: `dev:x` may be a tool or a pattern."""
    match what:
        case ToolId():
            return _TOOL_KINDS[type(what.source)], str(what)
        case Pattern():
            return "pattern", str(what)
        case ServerKey():
            return "server", str(what)
        case str():
            return "toolset", what
        case _:
            assert_never(what)


_TOOL_KINDS: Final[Mapping[type[SourceKey], str]] = {
    ServerKey: "mcp_tool",
    ToolsetKey: "toolset_tool",
    BuiltinKey: "builtin_tool",
}


SWITCHABLE_KINDS: Final = frozenset({*_TOOL_KINDS.values(), "server", "toolset"})


def target_of(kind: str, text: str) -> ToolId | Pattern | Switchable:
    match kind:
        case "mcp_tool":
            server, _, name = text.removeprefix("mcp:").partition(":")
            return ToolId(_server_key(server), _valid_name(name))
        case "toolset_tool":
            toolset, _, name = text.partition(":")
            return ToolId(ToolsetKey(valid_toolset(toolset)), _valid_name(name))
        case "builtin_tool":
            return ToolId(BuiltinKey(), _valid_name(text))
        case "pattern":
            scope, _, name = text.partition(":")
            return Pattern(_valid_name(scope), _valid_name(name))
        case "server":
            return _server_key(text)
        case "toolset":
            return valid_toolset(text)
        case _:
            raise ValueError(f"A row has the kind {kind!r}, which this Pegboard does not know.")


def _valid_name(text: str) -> str:
    if not text:
        raise ValueError("a row names a tool by an empty name")
    return text


def _server_key(text: str) -> ServerKey:
    toolset, _, server = text.partition("~")
    return valid_server(toolset, server)


def valid_toolset(text: object) -> ToolsetId:
    if not isinstance(text, str) or not is_id(text):
        raise ValueError("a row names a toolset by what is not a toolset id")
    return ToolsetId(text)


def valid_server(toolset: object, server: object) -> ServerKey:
    if not isinstance(server, str) or not is_id(server):
        raise ValueError("a row names a server by what is not a server id")
    return ServerKey(valid_toolset(toolset), ServerId(server))


def tool_of(kind: str, text: str) -> ToolId:
    found = target_of(kind, text)
    if not isinstance(found, ToolId):
        raise ValueError(f"a row is about a {kind} where only a tool can be meant")
    return found


def possible_targets(text: object) -> tuple[ToolId | ServerKey | ToolsetId, ...]:
    """All that a text can be about whose kind cannot be read."""
    if not isinstance(text, str):
        return ()
    found: list[ToolId | ServerKey | ToolsetId] = [each for each in (parse_tool_id(text),) if isinstance(each, ToolId)]
    found += [each for each in (parse_server_key(text),) if isinstance(each, ServerKey)]
    return (*found, *((ToolsetId(text),) if is_id(text) else ()))
