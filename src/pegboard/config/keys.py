"""Every key of pegboard.yaml: its shape and its meaning. The loader, the JSON Schema and the docs' test read this."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pegboard.core.consent import DEFAULT_STANDING_DAYS, MAX_STANDING_DAYS
from pegboard.core.foreign_names import MCPPROXY_SERVER, MCPPROXY_SETTINGS, PLUGABLE_SETTINGS, TRANSPORTS
from pegboard.core.headers import OWNED, OWNED_PREFIX
from pegboard.core.ids import BUILTIN, ID_RULE, RESERVED
from pegboard.core.server import Always, OnDemand, Protocol, Starts, Timeouts, Transport, Trust
from pegboard.core.tool import JsonObject

from .chat_keys import SECTION as CHAT_SECTION
from .code_keys import SECTION as CODE_SECTION
from .container_keys import SECTION as ENGINE_SECTION
from .database_keys import DATABASES
from .docspace_keys import DOCSPACE
from .gateway_keys import REACHED
from .override_keys import CONFIRMATION_MODE, OVERRIDE
from .presentation_keys import MATERIALISED, PRESENTATION, THRESHOLD
from .principal_keys import CALLER, CALLER_NAME, PRINCIPAL, TOOLSET_ID, TOOLSET_IDS
from .prompt_keys import MODELS, PROMPTS
from .search_keys import SECTION as SEARCH_SECTION
from .section import Key, NameOrOptional, Section, Values
from .shape import ANY_TEXT, Choice, DaysOrNever, Form, ListOf, MapOf, OrFalse, Seconds, Text, Truth, Whole
from .telling import Telling, Wrong
from .tree import Entry, Kind, Node, Scalar, Table

_ID: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_TEXT: Final = Text()
FILLED: Final = Form(r"[\s\S]*\S[\s\S]*", "it must not be blank")
IDENTIFIER: Final = Form(_ID, f"use {ID_RULE}", tuple(sorted(RESERVED)))
_PATTERN: Final = Form(
    r"mcp:[^:]+(?::[\s\S]+)?|(?!mcp:)[^:]+(?::[\s\S]+)?",
    "write scope:name, for example github:* or *:read_*",
)
_OVERRIDDEN: Final = Form(_ID, f"name a toolset by its id, {ID_RULE}", tuple(sorted(RESERVED - {BUILTIN})))
TARGET: Final = Form(
    rf"(?!toolset:)(?:{_PATTERN.regex})|toolset:{_ID}",
    "write a tool's id such as mcp:dev~github:create_issue, or a pattern such as github:* or *:read_*",
)
_TOOL: Final = Form(
    rf"toolset:{_ID}|mcp:{_ID}~{_ID}|mcp:{_ID}(?:~{_ID})?:[\s\S]+|(?!mcp:|toolset:){_ID}(?:~{_ID})?:[\s\S]+"
    r"|(?!toolset:)[\s\S]*[*?\[][\s\S]*|[^:]*[^:\s][^:]*",
    "write a tool's name, an id such as mcp:dev~github:create_issue, a pattern such as github:*, "
    "toolset:dev, or mcp:dev~github for all of a server",
)
_URL: Final = Form(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_STORE: Final = Form(
    r"(?:sqlite(?:\+aiosqlite)?:/|postgres(?:ql)?(?:\+asyncpg)?://|\$\{)[\s\S]*",
    "write a URL: sqlite:///pegboard.db for a file, or postgresql://user@host/database",
)
_VARIABLE: Final = Form(r"[^=\x00]+", "a variable's name is not empty and holds no '='")


def _in_any_case(word: str) -> str:
    """As a regular expression: JSON Schema knows none that look past the case."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


_OWNED_HEADER: Final = Form(
    "|".join((*map(_in_any_case, sorted(OWNED)), rf"{_in_any_case(OWNED_PREFIX)}[\s\S]*")),
    "this header is written by the transport itself; remove it",
)
_HEADER: Final = Form(
    r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "a header's name holds letters, digits and '-'", taken=_OWNED_HEADER
)
_HEADER_VALUE: Final = Form(
    r"(?:\$\{[^}\x00-\x1f\x7f]*\}|[\x09\x20-\x7e])*",
    "a header's value is one line of printable ASCII characters; write others as the server wants them encoded",
)

_STARTS: Final[Mapping[str, Starts]] = {"always": Always(), "on_demand": OnDemand()}
_TOOL_NAMES: Final = ListOf(NameOrOptional(Text(FILLED, as_written=True)), or_commas=True, nothing_is_empty=False)
_TOOLS: Final = ListOf(NameOrOptional(Text(_TOOL, as_written=True)), or_commas=True, nothing_is_empty=False)

COMMAND: Final = Key(
    "command",
    Text(FILLED, holds_references=True),
    "The program to start. A bare name is looked up on the PATH; a relative path with a slash is taken from the folder "
    "of this file; ~/ is your home. References are allowed.",
)
ARGS: Final = Key(
    "args",
    ListOf(Text(holds_references=True, as_written=True, is_secret=True)),
    "The program's arguments, each on its own. References are allowed.",
)
ENV: Final = Key(
    "env",
    MapOf(_VARIABLE, Text(holds_references=True, as_written=True, is_secret=True)),
    "Environment variables for the program. Keep secrets out of the file by references: ${NAME} or ${file:path}.",
)
CWD: Final = Key(
    "cwd",
    Text(FILLED, holds_references=True),
    "The folder the program runs in, taken from the folder of this file, which is also the default. "
    "References are allowed.",
)
URL: Final = Key(
    "url", Text(_URL, holds_references=True, is_secret=True), "Where the server is. References are allowed."
)
TRANSPORT: Final = Key(
    "transport",
    Choice(
        {
            "http": Transport.STREAMABLE_HTTP,
            "sse": Transport.SSE,
            "streamable-http": Transport.STREAMABLE_HTTP,
            "streamable_http": Transport.STREAMABLE_HTTP,
            "streamableHttp": Transport.STREAMABLE_HTTP,
        }
    ),
    "How the server at the URL speaks: http (streamable HTTP; the longer names mean the same) or sse (the older one).",
    "http",
)
HEADERS: Final = Key(
    "headers",
    MapOf(_HEADER, Text(_HEADER_VALUE, holds_references=True, of_caller=True, as_written=True, is_secret=True)),
    "HTTP headers for every request to the server. Keep secrets out of the file by references: Bearer ${NAME}. "
    "${request:X-Token} stands for the header X-Token of each caller's own request.",
)
_SCOPES: Final = ListOf(Text(Form(r"[!#-\[\]-~]+", "a scope is one word")), or_commas=True)
_CLIENT_URL: Final = Form(
    r"(?:https://[^/?#\s]+/[^\s]+|\$\{)[^\s]*", "write a URL that begins with https:// and has a path, or a reference"
)
CLIENT_ID: Final = Key(
    "client_id",
    Text(FILLED, holds_references=True),
    "The client you registered for Pegboard at the authorization server. By default one is registered by itself.",
)
CLIENT_SECRET: Final = Key(
    "client_secret",
    Text(FILLED, holds_references=True, is_secret=True),
    "The secret of that client, if it has one. Keep it out of the file by a reference: ${NAME}.",
)
CLIENT_METADATA_URL: Final = Key(
    "client_metadata_url",
    Text(_CLIENT_URL, holds_references=True),
    "The address of a client metadata document of yours, for authorization servers that take one as client id.",
)
SCOPES: Final = Key("scopes", _SCOPES, "What to ask for. By default what the server says it needs.")
OAUTH_SECTION: Final = Section(
    "How a person signs in to the server.",
    (CLIENT_ID, CLIENT_SECRET, CLIENT_METADATA_URL, SCOPES),
    at_most_one=("client_id", "client_metadata_url"),
    needs={"client_secret": "client_id"},
)
OAUTH: Final[Key[Values | Literal[False]]] = Key(
    "oauth",
    OrFalse(OAUTH_SECTION),
    "How a person signs in to a server that asks for it (OAuth). Nothing needs to be said for most servers; false for "
    "never. A server with an Authorization header of yours is never signed in to.",
)
TOOLSET: Final = Key("toolset", Text(IDENTIFIER), "The toolset the server belongs to. By default one of its own id.")
ENABLED: Final = Key(
    "enabled", Truth(), "Whether the server is started. A switch that a person throws goes first.", True
)
ENABLED_TOOLS: Final = Key(
    "enabled_tools",
    _TOOL_NAMES,
    "Only these tools of the server may ever be used: names, or patterns with *, ? and […]. Excludes disabled_tools.",
)
DISABLED_TOOLS: Final = Key(
    "disabled_tools",
    _TOOL_NAMES,
    "These tools of the server may never be used: names, or patterns with *, ? and […]. Excludes enabled_tools.",
)
TRUST: Final = Key(
    "trust",
    Choice({trust.value: trust for trust in Trust}),
    "When a tool waits for a person's approval: open (never), baseline (when it is new or changed after the server was "
    "first seen), strict (always).",
    Trust.BASELINE.value,
)

STARTS: Final = Key[Starts](
    "start",
    Choice(_STARTS),
    "When the server is started: always (with the gateway) or on_demand (once to learn its tools, and then by a call).",
    "always",
)
IDLE_STOP: Final = Key(
    "idle_stop",
    Seconds("To keep the server running, write start: always in place of it."),
    "With start: on_demand, how long nobody must have called before the server is stopped: seconds, or a text such as "
    "90s or 10m.",
    OnDemand().idle,
)
PROTOCOL: Final = Key[Protocol](
    "protocol",
    Choice({protocol.value: protocol for protocol in Protocol}, elsewhere=TRANSPORTS),
    "Which versions of the protocol are spoken with the server: latest (the latest that both know) or handshake (none "
    "after 2025-11-25, for tools that ask their caller something while they work).",
    Protocol.LATEST.value,
)
START: Final = Key("start", Seconds(), "Until the server has started and listed its tools.", Timeouts().start)
CALL: Final = Key("call", Seconds(), "Until one call is answered.", Timeouts().call)
STOP: Final = Key("stop", Seconds(), "Until a program that was asked to stop is killed.", Timeouts().stop)
TIMEOUTS: Final = Key(
    "timeouts",
    Section("", (START, CALL, STOP)),
    "How long to wait for the server: seconds, or a text such as 500ms, 30s or 2m.",
)

SERVER: Final = Section(
    "One MCP server: a program to start (command) or an address (url), and what is allowed of it.",
    (
        *(COMMAND, ARGS, ENV, CWD),
        *(URL, TRANSPORT, HEADERS, OAUTH),
        *(TOOLSET, ENABLED, ENABLED_TOOLS, DISABLED_TOOLS, TRUST, TIMEOUTS),
        *(STARTS, IDLE_STOP, PROTOCOL),
    ),
    exactly_one=("command", "url"),
    at_most_one=("enabled_tools", "disabled_tools"),
    needs={
        **{"args": "command", "env": "command", "cwd": "command"},
        **{"transport": "url", "headers": "url", "oauth": "url"},
    },
    advice={
        **MCPPROXY_SERVER,
        "type": "For a url write transport: http or transport: sse; a command needs nothing.",
        "disabled": "Write enabled: false.",
        "serverUrl": "Write url.",
        "httpUrl": "Write url.",
        "envFile": "Write the variables under env, with references: NAME: ${NAME}.",
        "timeout": "Write timeouts: {call: 30s}.",
        "autoApprove": "Write trust: open to approve every tool.",
        "alwaysAllow": "Write trust: open to approve every tool.",
        "auth": "Write oauth, or an Authorization header under headers.",
        "name": "The key of the map is the server's id; the name shown is that of its toolset.",
        "tools": "Write enabled_tools or disabled_tools.",
    },
)

SELECTED_TOOLSETS: Final = Key(
    "toolsets",
    ListOf(NameOrOptional(TOOLSET_ID), or_commas=True, nothing_is_empty=False),
    "The toolsets to start from: a list of ids, or one text with commas; all for every one (the default), [] for none.",
    "all",
)
SELECTED_TOOLS: Final = Key(
    "enabled_tools", _TOOLS, "Tools to add: names, ids, patterns, toolset:id or mcp:toolset~server."
)
UNSELECTED_TOOLS: Final = Key(
    "disabled_tools", _TOOLS, "Tools to take away, written the same way. They win over enabled_tools."
)
SELECTION: Final = Key(
    "selection",
    Section("", (SELECTED_TOOLSETS, SELECTED_TOOLS, UNSELECTED_TOOLS)),
    "Which tools are on the board for everyone: the toolsets' tools, plus enabled_tools, minus disabled_tools. "
    "A caller can narrow it and never widen it.",
)

TOOLSET_NAME: Final = Key("name", _TEXT, "The name people see. By default the id.")
TOOLSET_DESCRIPTION: Final = Key("description", _TEXT, "What the toolset is for.")
TOOLSET_ENABLED: Final = Key(
    "enabled", Truth(), "Whether the toolset is on. Off, none of its servers is started.", True
)
TOOLSET_SECTION: Final = Section(
    "What is said of one toolset.",
    (TOOLSET_NAME, TOOLSET_DESCRIPTION, TOOLSET_ENABLED),
    advice={"servers": "A server says which toolset it belongs to: servers.ID.toolset."},
)

KEEP_DAYS: Final = Key("keep_days", Whole(1, 36_500), "Records older than this many days are removed.", 90)
KEEP_ROWS: Final = Key("keep_rows", Whole(1, 10**9), "Of more records than this, the oldest are removed.", 1_000_000)
KEEP_ARGUMENTS: Final = Key(
    "arguments", Truth(), "Whether the arguments of calls are recorded, redacted and cut.", False
)
KEEP_RESULTS: Final = Key("results", Truth(), "Whether the results of calls are recorded, redacted and cut.", False)
MODE: Final = Key(
    "mode",
    CONFIRMATION_MODE,
    "Where calls are confirmed: in_client asks the user of an interactive principal in their client and makes a ticket "
    "for everybody else; ticket makes a ticket of every such call.",
    "in_client",
)
DEADLINE: Final = Key(
    "deadline",
    Seconds(),
    "How long a person has to decide about one call, and a caller to use the decision.",
    300,
)
STANDING_DAYS: Final[Key[int | Literal["never"]]] = Key(
    "standing_days",
    DaysOrNever(MAX_STANDING_DAYS),
    "For how many days a standing permission lasts, unless whoever gives it chooses another end; never for no end.",
    DEFAULT_STANDING_DAYS,
)
CONFIRM_MANIFEST_SERVERS: Final = Key(
    "manifest_servers",
    Truth(),
    "Whether a person confirms each call of the MCP servers that imported toolsets bring, where the manifest does not "
    "say. Covalt asks.",
    False,
)


@dataclass(frozen=True)
class _OrMode(Section):
    """A mode by itself stands for the map with that mode, as it is written for a principal or a tool."""

    def read(self, node: Node, at: str, tell: Telling) -> Values | Wrong:
        if isinstance(node, Scalar) and node.kind is Kind.TEXT:
            node = Table((Entry(MODE.name, node.line, node),), node.line)
        return super().read(node, at, tell)

    def schema(self) -> JsonObject:
        return {"anyOf": [MODE.shape.schema(), super().schema()]}


SCHEMA: Final = Key("$schema", Text(ANY_TEXT), "The address of this schema, for editors. Pegboard does not read it.")
SERVERS: Final = Key("servers", MapOf(IDENTIFIER, SERVER), "The MCP servers, each under an id of your choice.")
TOOLSETS: Final = Key(
    "toolsets", MapOf(IDENTIFIER, TOOLSET_SECTION), "Names, descriptions and switches of toolsets, by id."
)
DENY: Final = Key(
    "deny",
    ListOf(NameOrOptional(Text(_PATTERN))),
    "Tools nobody may use, on any server: patterns scope:name, where scope is a toolset, a server or toolset~server.",
)
GRANTS: Final = Key(
    "grants",
    MapOf(CALLER_NAME, TOOLSET_IDS),
    "Which toolsets a caller may use: a name and a list of toolset ids; all for every one. A caller who is not named "
    "here is not limited. local is whoever uses the gateway on this machine without a token.",
)
OVERRIDES: Final = Key(
    "overrides",
    MapOf(_OVERRIDDEN, MapOf(TARGET, OVERRIDE)),
    "What is changed of tools, by toolset and within it by tool id or pattern. Field by field the most specific wins; "
    "a person's override lies on top.",
)
PRINCIPALS: Final = Key(
    "principals",
    MapOf(CALLER, PRINCIPAL),
    "The callers of the MCP endpoint over HTTP, each under a name of your choice. With one or more of them, every "
    "request must carry the token of one.",
)
STORE: Final = Key(
    "store",
    Text(_STORE, holds_references=True, is_secret=True),
    "Where decisions and the audit are kept: sqlite:///file (from the folder of this file) or postgresql://… "
    "By default a file in the data directory. References are allowed.",
)
AUDIT: Final = Key(
    "audit",
    Section("", (KEEP_DAYS, KEEP_ROWS, KEEP_ARGUMENTS, KEEP_RESULTS)),
    "What is recorded of calls and decisions, and how much of it is kept.",
)
REDACT: Final = Key(
    "redact",
    ListOf(Text(FILLED, as_written=True)),
    "Arguments that nobody is shown, beside those whose name or form gives a secret away: patterns for keys such as "
    "iban or card_*; with a dot for paths, such as patient.name.",
)
CONFIRMATION: Final = Key(
    "confirmation",
    _OrMode("", (MODE, DEADLINE, STANDING_DAYS, CONFIRM_MANIFEST_SERVERS)),
    "Calls that a person must confirm (requires_confirmation, and statements that change a database): where, and how "
    "long that may take. A mode alone may stand for the map: confirmation: ticket.",
)
GATEWAY: Final = Key("gateway", REACHED, "Who may reach the gateway over HTTP, and how much they may ask at once.")

ALWAYS_VISIBLE: Final = Key(
    "always_visible",
    _TOOLS,
    "Tools that stay listed beside those of meta, search, deferred and code, and are called there by their own names: "
    "written as under selection.",
)
CONTAINERS: Final = Key(
    "containers", ENGINE_SECTION, "The engine that runs the containers of toolsets, and what it is told."
)

SEARCH: Final = Key("search", SEARCH_SECTION, "How tools are found.")
CHAT: Final = Key("chat", CHAT_SECTION, "Language models with the tools of the board, at /v1. Read when it starts.")
CODE: Final = Key("code", CODE_SECTION, "Programs of models that call tools, run by python_execution.")

PEGBOARD: Final = Section(
    "The settings of Pegboard: the servers on the board, and what is allowed of them. Texts of command, args, env, "
    "cwd, url, headers, oauth, token, pin, embeddings, chat, docspace, databases and store may hold references: "
    "${NAME} and ${NAME:-default} for an environment variable, ${file:path} for the content of a file, $${ for a "
    "plain ${. Keys that begin with x- are yours.",
    (
        *(SCHEMA, SERVERS, TOOLSETS, SELECTION, DENY, OVERRIDES, GRANTS, PRINCIPALS),
        *(STORE, AUDIT, GATEWAY, CONFIRMATION, REDACT, CONTAINERS),
        *(PRESENTATION, THRESHOLD, ALWAYS_VISIBLE, MATERIALISED, SEARCH),
        *(PROMPTS, MODELS, CHAT, CODE, DOCSPACE, DATABASES),
    ),
    advice={
        **MCPPROXY_SETTINGS,
        **PLUGABLE_SETTINGS,
        "mcpServers": "This is another client's list. Convert it with: pegboard import --from FILE, "
        "or rename the key to servers.",
        "inputs": "There is nobody here to ask for an input. Use references: ${NAME}.",
        "enabled_tools": "Write it under selection.",
        "disabled_tools": "Write it under selection.",
    },
    allows_own_keys=True,
)
