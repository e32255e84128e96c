"""An MCP server as people declare or install it: its connection and what they allow. The toolset's own tools use the
same type, with `OwnTools` as connection.

The tools that a toolset brings itself are one too, to everything that people decide: `OwnTools` is how they are
reached."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from typing import Final, TypeAlias

from pegboard.core.model.ids import PrincipalId, ProviderKey, ServerKey
from pegboard.core.model.tool import ContainerImage, OwnTools
from pegboard.core.model.web_api import WebApi


class Trust(Enum):
    """When a server's tools need a person's word before a model may use them."""

    OPEN = "open"
    BASELINE = "baseline"
    STRICT = "strict"


class Transport(Enum):
    STREAMABLE_HTTP = "http"
    SSE = "sse"


@dataclass(frozen=True)
class Stdio:
    """A child process. Values may hold `${…}` references; they are read only when the process starts."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class OAuth:
    """How a person signs in to a server that asks for it. What is not said, the server and we find out by ourselves.
    Values may hold `${…}` references."""

    client_id: str | None = None
    client_secret: str | None = None
    client_metadata_url: str | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoOAuth:
    """Nobody signs in: a server that wants it is down."""


@dataclass(frozen=True)
class Http:
    """A server at a URL. Values may hold `${…}` references; they are read only when a connection opens."""

    url: str
    transport: Transport = Transport.STREAMABLE_HTTP
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    oauth: OAuth | NoOAuth = field(default_factory=OAuth)


@dataclass(frozen=True)
class Container:
    """A server that speaks MCP on the input and output of a container."""

    image: ContainerImage


Connection: TypeAlias = Stdio | Http | Container | OwnTools | WebApi


def require_stdio_or_http(connection: Connection) -> Stdio | Http:
    """Where nothing else can come: other clients' lists name programs and addresses, and MCP is spoken with those."""
    if isinstance(connection, Stdio | Http):
        return connection
    raise TypeError(f"{type(connection).__name__} is neither a program nor an address")


@dataclass(frozen=True, slots=True)
class EveryTool:
    """The operator limits nothing."""


@dataclass(frozen=True, slots=True)
class OnlyTools:
    """`enabled_tools`: names or patterns; everything else of the server is denied."""

    names: tuple[str, ...]
    at: "DeclaredAt | None" = None
    """Where a file says so; without one, it was said where the server was."""
    optional: tuple[str, ...] = ()
    """Those of the names that no tool needs to have."""
    lines: "tuple[DeclaredAt, ...]" = field(default=(), compare=False, repr=False)
    """Where each name is written."""


@dataclass(frozen=True, slots=True)
class AllButTools:
    """`disabled_tools`: names or patterns that are denied."""

    names: tuple[str, ...]
    at: "DeclaredAt | None" = None
    optional: tuple[str, ...] = ()
    """Those of the names that no tool needs to have. Any other name without a tool fails closed (ADR 16)."""
    lines: "tuple[DeclaredAt, ...]" = field(default=(), compare=False, repr=False)
    """Where each name is written."""


ToolFilter: TypeAlias = EveryTool | OnlyTools | AllButTools


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. Every wait on a server is bounded by one of these."""

    start: float = 30.0
    call: float = 120.0
    stop: float = 5.0


@dataclass(frozen=True, slots=True)
class StartWithGateway:
    """Started with the gateway and kept running."""


@dataclass(frozen=True, slots=True)
class StartOnDemand:
    """Started by whoever calls it, and stopped when nobody has for so many seconds."""

    idle_s: float = 600.0


StartPolicy: TypeAlias = StartWithGateway | StartOnDemand


class ProtocolMode(StrEnum):
    """Which versions of the protocol are spoken with a server."""

    LATEST = "latest"
    """The latest that both sides know."""
    HANDSHAKE = "handshake"
    """None later than 2025-11-25: there a tool can ask its caller something in the middle of its work, and some servers
    that know later versions have tools which do."""


@dataclass(frozen=True, slots=True)
class DeclaredAt:
    """Written by an operator, in a file: read-only to everything else. What has no lines has line 0."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def short_text(self) -> str:
        """Without its folder: agents are told of the file too, and need not know where things lie on this machine."""
        name = self.file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}:{self.line}" if self.line else name


@dataclass(frozen=True, slots=True)
class InstalledBy:
    """Added at run time, by a person, and kept in the store."""

    by: PrincipalId
    at: datetime

    def __str__(self) -> str:
        return f"installed by {self.by}"

    @property
    def short_text(self) -> str:
        return str(self)


Origin: TypeAlias = DeclaredAt | InstalledBy


@dataclass(frozen=True)
class Server:
    key: ProviderKey
    connection: Connection
    origin: Origin
    enabled: bool = True
    trust: Trust = Trust.BASELINE
    limit: ToolFilter = field(default_factory=EveryTool)
    timeouts: Timeouts = field(default_factory=Timeouts)
    quarantined: bool = False
    starts: StartPolicy = field(default_factory=StartWithGateway)
    protocol: ProtocolMode = ProtocolMode.LATEST

    @property
    def id(self) -> str:
        """As people call it within its toolset; what a toolset brings itself goes by the toolset's."""
        return str(self.key.server if isinstance(self.key, ServerKey) else self.key.toolset)


def quarantine_server(server: Server) -> Server:
    """A caller is an agent, or lends it a name: what it adds neither runs nor is trusted before a person's review."""
    return replace(server, quarantined=True, trust=Trust.STRICT if server.trust is Trust.OPEN else server.trust)


def server_fingerprint(server: Server) -> str:
    """Names what a person has read: another server in its place, or the same in other words, has another."""
    return hashlib.sha256(repr(server).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# Which headers of a request to a server are the transport's own, so that nobody else may set them.

TRANSPORT_HEADERS: Final = frozenset(
    {
        # Where a message goes, where it ends, and how the connection is used.
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"),
        *("te", "trailer", "upgrade", "expect", "content-type", "content-encoding", "accept", "accept-encoding"),
        # What the protocol says beside the message, and from which event a stream goes on.
        *("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"),
    }
)
PARAMETER_HEADER_PREFIX: Final = "mcp-param-"
"""Arguments that a tool wants in headers travel under names that begin so."""


def is_transport_header(name: str) -> bool:
    return (lowered := name.lower()) in TRANSPORT_HEADERS or lowered.startswith(PARAMETER_HEADER_PREFIX)
