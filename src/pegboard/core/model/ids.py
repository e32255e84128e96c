"""Ids of toolsets, servers, tools and principals. Each is parsed once."""

import re
from dataclasses import dataclass, field
from typing import Final, NewType, TypeAlias, assert_never

ToolsetId = NewType("ToolsetId", str)
ServerId = NewType("ServerId", str)
PrincipalId = NewType("PrincipalId", str)
CallId = NewType("CallId", str)
WireName = NewType("WireName", str)
"""The name one client sees for a tool. Unique within one `Resolution`, and nowhere else."""

ID_RULE: Final = "1 to 64 characters of a-z, 0-9, '_' and '-', the first a letter or digit"
_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")

BUILTIN: Final = ToolsetId("builtin")
"""The toolset of the built-ins. Their ids carry no namespace."""

RESERVED_TOOLSETS: Final = frozenset({BUILTIN, "all", "mcp", "toolset"})
"""No toolset may be called so: `all`, `mcp:…` and `toolset:…` mean something else wherever tools are named."""

LOCAL_PRINCIPAL: Final = PrincipalId("local")
"""Whoever reaches the gateway without saying who they are: the owner of this machine."""


@dataclass(frozen=True, slots=True)
class ServerKey:
    """One MCP server, by the toolset that owns it. The same server id may stand in many toolsets."""

    toolset: ToolsetId
    server: ServerId
    _hash: int = field(init=False, repr=False, compare=False)
    """Worked out once: keys and ids are looked up a dozen times a tool for every question asked of the board."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.toolset, self.server)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["ServerKey"], tuple[ToolsetId, ServerId]]:
        # Text hashes differently in another process, so the hash is left behind.
        return ServerKey, (self.toolset, self.server)

    def __str__(self) -> str:
        return f"{self.toolset}~{self.server}"


@dataclass(frozen=True, slots=True)
class ToolsetKey:
    """The tools a toolset brings itself: Python functions, container tools, a web API."""

    toolset: ToolsetId

    def __str__(self) -> str:
        return self.toolset


@dataclass(frozen=True, slots=True)
class BuiltinKey:
    """The gateway's own tools."""

    @property
    def toolset(self) -> ToolsetId:
        return BUILTIN

    def __str__(self) -> str:
        return BUILTIN


ProviderKey: TypeAlias = ServerKey | ToolsetKey
"""What people add, trust and review as one: an MCP server, or the tools that a toolset brings itself."""


def provider_title(key: ProviderKey) -> str:
    """As a sentence begins with it."""
    return f"Server {key}" if isinstance(key, ServerKey) else f"Toolset {key}"


SourceKey: TypeAlias = ServerKey | ToolsetKey | BuiltinKey
"""Where tools come from: one provider."""


@dataclass(frozen=True, slots=True)
class ToolId:
    source: SourceKey
    name: str
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.source, self.name)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["ToolId"], tuple[SourceKey, str]]:
        return ToolId, (self.source, self.name)

    @property
    def toolset(self) -> ToolsetId:
        return self.source.toolset

    def __str__(self) -> str:
        match self.source:
            case ServerKey() as key:
                return f"mcp:{key}:{self.name}"
            case ToolsetKey(toolset):
                return f"{toolset}:{self.name}"
            case BuiltinKey():
                return self.name
            case _:
                assert_never(self.source)

    def __lt__(self, other: "ToolId") -> bool:
        return str(self) < str(other)


@dataclass(frozen=True, slots=True)
class LegacyToolId:
    """`mcp:{server}:{tool}`, without the toolset: good only while one server has that id."""

    server: ServerId
    name: str

    def __str__(self) -> str:
        return f"mcp:{self.server}:{self.name}"


@dataclass(frozen=True, slots=True)
class BadId:
    """Text that cannot name what it claims to name."""

    text: str
    why: str


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse_toolset_id(text: str) -> ToolsetId | BadId:
    if text in RESERVED_TOOLSETS:
        return BadId(text, f"{text!r} cannot be a toolset id, because it means something else: choose another")
    return ToolsetId(text) if is_id(text) else BadId(text, f"{text!r} is not a toolset id: use {ID_RULE}")


def parse_server_key(text: str) -> ServerKey | BadId:
    toolset, tilde, server = text.partition("~")
    if not tilde or not is_id(toolset) or not is_id(server):
        return BadId(text, f"{text!r} is not a server key: write it as toolset~server, for example dev~github")
    return ServerKey(ToolsetId(toolset), ServerId(server))


def parse_tool_id(text: str) -> ToolId | LegacyToolId | BadId:
    """The id that an answer shows, read back. A tool's own name may hold `:`, so it is split from the left."""
    if text.startswith("mcp:"):
        scope, colon, name = text.removeprefix("mcp:").partition(":")
        if colon and name:
            match parse_server_key(scope):
                case ServerKey() as key:
                    return ToolId(key, name)
                case BadId() if is_id(scope):
                    return LegacyToolId(ServerId(scope), name)
        return BadId(text, f"{text!r} is not a tool id: write it as mcp:toolset~server:tool")
    scope, colon, name = text.partition(":")
    if not colon:
        if is_id(text):
            return ToolId(BuiltinKey(), text)
        return BadId(
            text, f"{text!r} is not a tool id: write mcp:toolset~server:tool, toolset:tool or a built-in's name"
        )
    if not name or not is_id(scope):
        return BadId(text, f"{text!r} is not a tool id: write it as toolset:tool, with a toolset id of {ID_RULE}")
    return ToolId(ToolsetKey(ToolsetId(scope)), name)
