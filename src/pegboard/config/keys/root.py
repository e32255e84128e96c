"""All keys of pegboard.yaml. The loader, the JSON Schema and the docs use this."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pegboard.config.keys.access import (
    CALLER,
    CALLER_NAME,
    CONFIRMATION_MODE,
    MATERIALISED,
    OVERRIDE,
    PRESENTATION,
    PRINCIPAL,
    SECTION,
    THRESHOLD,
    TOOLSET_ID,
    TOOLSET_IDS,
)
from pegboard.config.keys.features import CHAT_SECTION as CHAT_SECTION
from pegboard.config.keys.features import CODE_SECTION as CODE_SECTION
from pegboard.config.keys.features import CONTAINER_SECTION as ENGINE_SECTION
from pegboard.config.keys.features import PROMPT_MODELS as MODELS
from pegboard.config.keys.features import PROMPTS
from pegboard.config.keys.features import SEARCH_SECTION as SEARCH_SECTION
from pegboard.config.keys.sources import DATABASES, DOCSPACE
from pegboard.config.schema.document import Invalid, MapEntry, MapNode, Node, ProblemCollector, ScalarKind, ScalarNode
from pegboard.config.schema.fields import (
    ANY_TEXT,
    BooleanField,
    ChoiceField,
    DaysOrNeverField,
    DurationField,
    IntegerField,
    ListField,
    MapField,
    OrFalseField,
    TextField,
    TextRule,
)
from pegboard.config.schema.section import ConfigKey, ConfigSection, ConfigValues, NameOrOptionalField
from pegboard.core.json.values import JsonObject
from pegboard.core.model.foreign_names import MCPPROXY_SERVER, MCPPROXY_SETTINGS, PLUGABLE_SETTINGS, TRANSPORTS
from pegboard.core.model.ids import BUILTIN, ID_RULE, RESERVED_TOOLSETS
from pegboard.core.model.server import (
    PARAMETER_HEADER_PREFIX,
    TRANSPORT_HEADERS,
    ProtocolMode,
    StartOnDemand,
    StartPolicy,
    StartWithGateway,
    Timeouts,
    Transport,
    Trust,
)
from pegboard.core.policy.policy import DEFAULT_CONSENT_DAYS, MAX_CONSENT_DAYS

_ID: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_TEXT: Final = TextField()
NOT_BLANK: Final = TextRule(r"[\s\S]*\S[\s\S]*", "it must not be blank")
IDENTIFIER: Final = TextRule(_ID, f"use {ID_RULE}", tuple(sorted(RESERVED_TOOLSETS)))
_PATTERN: Final = TextRule(
    r"mcp:[^:]+(?::[\s\S]+)?|(?!mcp:)[^:]+(?::[\s\S]+)?",
    "write scope:name, for example github:* or *:read_*",
)
_OVERRIDE_TOOLSET: Final = TextRule(
    _ID, f"name a toolset by its id, {ID_RULE}", tuple(sorted(RESERVED_TOOLSETS - {BUILTIN}))
)
TARGET: Final = TextRule(
    rf"(?!toolset:)(?:{_PATTERN.regex})|toolset:{_ID}",
    "write a tool's id such as mcp:dev~github:create_issue, or a pattern such as github:* or *:read_*",
)
_TOOL: Final = TextRule(
    rf"toolset:{_ID}|mcp:{_ID}~{_ID}|mcp:{_ID}(?:~{_ID})?:[\s\S]+|(?!mcp:|toolset:){_ID}(?:~{_ID})?:[\s\S]+"
    r"|(?!toolset:)[\s\S]*[*?\[][\s\S]*|[^:]*[^:\s][^:]*",
    "write a tool's name, an id such as mcp:dev~github:create_issue, a pattern such as github:*, "
    "toolset:dev, or mcp:dev~github for all of a server",
)
_URL: Final = TextRule(
    r"(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\s]+|\$\{)[^\s]*",
    "write a URL that begins with http:// or https://, or with a reference",
)
_STORE: Final = TextRule(
    r"(?:sqlite(?:\+aiosqlite)?:/|postgres(?:ql)?(?:\+asyncpg)?://|\$\{)[\s\S]*",
    "write a URL: sqlite:///pegboard.db for a file, or postgresql://user@host/database",
)
_VARIABLE: Final = TextRule(r"[^=\x00]+", "a variable's name is not empty and holds no '='")


def _in_any_case(word: str) -> str:
    """As a regular expression: JSON Schema knows none that look past the case."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


_OWNED_HEADER: Final = TextRule(
    "|".join((*map(_in_any_case, sorted(TRANSPORT_HEADERS)), rf"{_in_any_case(PARAMETER_HEADER_PREFIX)}[\s\S]*")),
    "this header is written by the transport itself; remove it",
)
_HEADER: Final = TextRule(
    r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "a header's name holds letters, digits and '-'", excluded=_OWNED_HEADER
)
_HEADER_VALUE: Final = TextRule(
    r"(?:\$\{[^}\x00-\x1f\x7f]*\}|[\x09\x20-\x7e])*",
    "a header's value is one line of printable ASCII characters; write others as the server wants them encoded",
)

_STARTS: Final[Mapping[str, StartPolicy]] = {"always": StartWithGateway(), "on_demand": StartOnDemand()}
_TOOL_NAMES: Final = ListField(
    NameOrOptionalField(TextField(NOT_BLANK, accepts_scalars=True)), allows_commas=True, null_is_empty=False
)
_TOOLS: Final = ListField(
    NameOrOptionalField(TextField(_TOOL, accepts_scalars=True)), allows_commas=True, null_is_empty=False
)

COMMAND: Final = ConfigKey(
    "command",
    TextField(NOT_BLANK, allows_references=True),
    "The program to start. A bare name is looked up on the PATH; a relative path with a slash is taken from the folder "
    "of this file; ~/ is your home. References are allowed.",
)
ARGS: Final = ConfigKey(
    "args",
    ListField(TextField(allows_references=True, accepts_scalars=True, is_secret=True)),
    "The program's arguments, each on its own. References are allowed.",
)
ENV: Final = ConfigKey(
    "env",
    MapField(_VARIABLE, TextField(allows_references=True, accepts_scalars=True, is_secret=True)),
    "Environment variables for the program. Keep secrets out of the file by references: ${NAME} or ${file:path}.",
)
CWD: Final = ConfigKey(
    "cwd",
    TextField(NOT_BLANK, allows_references=True),
    "The folder the program runs in, taken from the folder of this file, which is also the default. "
    "References are allowed.",
)
URL: Final = ConfigKey(
    "url", TextField(_URL, allows_references=True, is_secret=True), "Where the server is. References are allowed."
)
TRANSPORT: Final = ConfigKey(
    "transport",
    ChoiceField(
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
HEADERS: Final = ConfigKey(
    "headers",
    MapField(
        _HEADER,
        TextField(
            _HEADER_VALUE, allows_references=True, allows_header_references=True, accepts_scalars=True, is_secret=True
        ),
    ),
    "HTTP headers for every request to the server. Keep secrets out of the file by references: Bearer ${NAME}. "
    "${request:X-Token} stands for the header X-Token of each caller's own request.",
)
_SCOPES: Final = ListField(TextField(TextRule(r"[!#-\[\]-~]+", "a scope is one word")), allows_commas=True)
_CLIENT_URL: Final = TextRule(
    r"(?:https://[^/?#\s]+/[^\s]+|\$\{)[^\s]*", "write a URL that begins with https:// and has a path, or a reference"
)
CLIENT_ID: Final = ConfigKey(
    "client_id",
    TextField(NOT_BLANK, allows_references=True),
    "The client you registered for Pegboard at the authorization server. By default one is registered by itself.",
)
CLIENT_SECRET: Final = ConfigKey(
    "client_secret",
    TextField(NOT_BLANK, allows_references=True, is_secret=True),
    "The secret of that client, if it has one. Keep it out of the file by a reference: ${NAME}.",
)
CLIENT_METADATA_URL: Final = ConfigKey(
    "client_metadata_url",
    TextField(_CLIENT_URL, allows_references=True),
    "The address of a client metadata document of yours, for authorization servers that take one as client id.",
)
SCOPES: Final = ConfigKey("scopes", _SCOPES, "What to ask for. By default what the server says it needs.")
OAUTH_SECTION: Final = ConfigSection(
    "How a person signs in to the server.",
    (CLIENT_ID, CLIENT_SECRET, CLIENT_METADATA_URL, SCOPES),
    at_most_one=("client_id", "client_metadata_url"),
    needs={"client_secret": "client_id"},
)
OAUTH: Final[ConfigKey[ConfigValues | Literal[False]]] = ConfigKey(
    "oauth",
    OrFalseField(OAUTH_SECTION),
    "How a person signs in to a server that asks for it (OAuth). Nothing needs to be said for most servers; false for "
    "never. A server with an Authorization header of yours is never signed in to.",
)
TOOLSET: Final = ConfigKey(
    "toolset", TextField(IDENTIFIER), "The toolset the server belongs to. By default one of its own id."
)
ENABLED: Final = ConfigKey(
    "enabled", BooleanField(), "Whether the server is started. A switch that a person throws goes first.", True
)
ENABLED_TOOLS: Final = ConfigKey(
    "enabled_tools",
    _TOOL_NAMES,
    "Only these tools of the server may ever be used: names, or patterns with *, ? and […]. Excludes disabled_tools.",
)
DISABLED_TOOLS: Final = ConfigKey(
    "disabled_tools",
    _TOOL_NAMES,
    "These tools of the server may never be used: names, or patterns with *, ? and […]. Excludes enabled_tools.",
)
TRUST: Final = ConfigKey(
    "trust",
    ChoiceField({trust.value: trust for trust in Trust}),
    "When a tool waits for a person's approval: open (never), baseline (when it is new or changed after the server was "
    "first seen), strict (always).",
    Trust.BASELINE.value,
)

STARTS: Final = ConfigKey[StartPolicy](
    "start",
    ChoiceField(_STARTS),
    "When the server is started: always (with the gateway) or on_demand (once to learn its tools, and then by a call).",
    "always",
)
IDLE_STOP: Final = ConfigKey(
    "idle_stop",
    DurationField("To keep the server running, write start: always in place of it."),
    "With start: on_demand, how long nobody must have called before the server is stopped: seconds, or a text such as "
    "90s or 10m.",
    StartOnDemand().idle_s,
)
PROTOCOL: Final = ConfigKey[ProtocolMode](
    "protocol",
    ChoiceField({protocol.value: protocol for protocol in ProtocolMode}, hints=TRANSPORTS),
    "Which versions of the protocol are spoken with the server: latest (the latest that both know) or handshake (none "
    "after 2025-11-25, for tools that ask their caller something while they work).",
    ProtocolMode.LATEST.value,
)
START: Final = ConfigKey(
    "start", DurationField(), "Until the server has started and listed its tools.", Timeouts().start
)
CALL: Final = ConfigKey("call", DurationField(), "Until one call is answered.", Timeouts().call)
STOP: Final = ConfigKey("stop", DurationField(), "Until a program that was asked to stop is killed.", Timeouts().stop)
TIMEOUTS: Final = ConfigKey(
    "timeouts",
    ConfigSection("", (START, CALL, STOP)),
    "How long to wait for the server: seconds, or a text such as 500ms, 30s or 2m.",
)

SERVER: Final = ConfigSection(
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

SELECTED_TOOLSETS: Final = ConfigKey(
    "toolsets",
    ListField(NameOrOptionalField(TOOLSET_ID), allows_commas=True, null_is_empty=False),
    "The toolsets to start from: a list of ids, or one text with commas; all for every one (the default), [] for none.",
    "all",
)
SELECTED_TOOLS: Final = ConfigKey(
    "enabled_tools", _TOOLS, "Tools to add: names, ids, patterns, toolset:id or mcp:toolset~server."
)
UNSELECTED_TOOLS: Final = ConfigKey(
    "disabled_tools", _TOOLS, "Tools to take away, written the same way. They win over enabled_tools."
)
SELECTION: Final = ConfigKey(
    "selection",
    ConfigSection("", (SELECTED_TOOLSETS, SELECTED_TOOLS, UNSELECTED_TOOLS)),
    "Which tools are on the board for everyone: the toolsets' tools, plus enabled_tools, minus disabled_tools. "
    "A caller can narrow it and never widen it.",
)

TOOLSET_NAME: Final = ConfigKey("name", _TEXT, "The name people see. By default the id.")
TOOLSET_DESCRIPTION: Final = ConfigKey("description", _TEXT, "What the toolset is for.")
TOOLSET_ENABLED: Final = ConfigKey(
    "enabled", BooleanField(), "Whether the toolset is on. Off, none of its servers is started.", True
)
TOOLSET_SECTION: Final = ConfigSection(
    "What is said of one toolset.",
    (TOOLSET_NAME, TOOLSET_DESCRIPTION, TOOLSET_ENABLED),
    advice={"servers": "A server says which toolset it belongs to: servers.ID.toolset."},
)

KEEP_DAYS: Final = ConfigKey("keep_days", IntegerField(1, 36_500), "Records older than this many days are removed.", 90)
KEEP_ROWS: Final = ConfigKey(
    "keep_rows", IntegerField(1, 10**9), "Of more records than this, the oldest are removed.", 1_000_000
)
KEEP_ARGUMENTS: Final = ConfigKey(
    "arguments", BooleanField(), "Whether the arguments of calls are recorded, redacted and cut.", False
)
KEEP_RESULTS: Final = ConfigKey(
    "results", BooleanField(), "Whether the results of calls are recorded, redacted and cut.", False
)
MODE: Final = ConfigKey(
    "mode",
    CONFIRMATION_MODE,
    "Where calls are confirmed: in_client asks the user of an interactive principal in their client and makes a ticket "
    "for everybody else; ticket makes a ticket of every such call.",
    "in_client",
)
DEADLINE: Final = ConfigKey(
    "deadline",
    DurationField(),
    "How long a person has to decide about one call, and a caller to use the decision.",
    300,
)
CONSENT_DAYS: Final[ConfigKey[int | Literal["never"]]] = ConfigKey(
    "consent_days",
    DaysOrNeverField(MAX_CONSENT_DAYS),
    "For how many days a standing permission lasts, unless whoever gives it chooses another end; never for no end.",
    DEFAULT_CONSENT_DAYS,
)
CONFIRM_MANIFEST_SERVERS: Final = ConfigKey(
    "manifest_servers",
    BooleanField(),
    "Whether a person confirms each call of the MCP servers that imported toolsets bring, where the manifest does not "
    "say. Covalt asks.",
    False,
)


@dataclass(frozen=True)
class _ModeOrSection(ConfigSection):
    """A mode by itself stands for the map with that mode, as it is written for a principal or a tool."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> ConfigValues | Invalid:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT:
            node = MapNode((MapEntry(MODE.name, node.line, node),), node.line)
        return super().parse(node, at, tell)

    def schema(self) -> JsonObject:
        return {"anyOf": [MODE.field_type.schema(), super().schema()]}


SCHEMA: Final = ConfigKey(
    "$schema", TextField(ANY_TEXT), "The address of this schema, for editors. Pegboard does not read it."
)
SERVERS: Final = ConfigKey("servers", MapField(IDENTIFIER, SERVER), "The MCP servers, each under an id of your choice.")
TOOLSETS: Final = ConfigKey(
    "toolsets", MapField(IDENTIFIER, TOOLSET_SECTION), "Names, descriptions and switches of toolsets, by id."
)
DENY: Final = ConfigKey(
    "deny",
    ListField(NameOrOptionalField(TextField(_PATTERN))),
    "Tools nobody may use, on any server: patterns scope:name, where scope is a toolset, a server or toolset~server.",
)
GRANTS: Final = ConfigKey(
    "grants",
    MapField(CALLER_NAME, TOOLSET_IDS),
    "Which toolsets a caller may use: a name and a list of toolset ids; all for every one. A caller who is not named "
    "here is not limited. local is whoever uses the gateway on this machine without a token.",
)
OVERRIDES: Final = ConfigKey(
    "overrides",
    MapField(_OVERRIDE_TOOLSET, MapField(TARGET, OVERRIDE)),
    "What is changed of tools, by toolset and within it by tool id or pattern. Field by field the most specific wins; "
    "a person's override lies on top.",
)
PRINCIPALS: Final = ConfigKey(
    "principals",
    MapField(CALLER, PRINCIPAL),
    "The callers of the MCP endpoint over HTTP, each under a name of your choice. With one or more of them, every "
    "request must carry the token of one.",
)
STORE: Final = ConfigKey(
    "store",
    TextField(_STORE, allows_references=True, is_secret=True),
    "Where decisions and the audit are kept: sqlite:///file (from the folder of this file) or postgresql://… "
    "By default a file in the data directory. References are allowed.",
)
AUDIT: Final = ConfigKey(
    "audit",
    ConfigSection("", (KEEP_DAYS, KEEP_ROWS, KEEP_ARGUMENTS, KEEP_RESULTS)),
    "What is recorded of calls and decisions, and how much of it is kept.",
)
REDACT: Final = ConfigKey(
    "redact",
    ListField(TextField(NOT_BLANK, accepts_scalars=True)),
    "Arguments that nobody is shown, beside those whose name or form gives a secret away: patterns for keys such as "
    "iban or card_*; with a dot for paths, such as patient.name.",
)
CONFIRMATION: Final = ConfigKey(
    "confirmation",
    _ModeOrSection("", (MODE, DEADLINE, CONSENT_DAYS, CONFIRM_MANIFEST_SERVERS)),
    "Calls that a person must confirm (requires_confirmation, and statements that change a database): where, and how "
    "long that may take. A mode alone may stand for the map: confirmation: ticket.",
)
GATEWAY: Final = ConfigKey(
    "gateway", SECTION, "Who may reach the gateway over HTTP, and how much they may ask at once."
)

ALWAYS_VISIBLE: Final = ConfigKey(
    "always_visible",
    _TOOLS,
    "Tools that stay listed beside those of meta, search, deferred and code, and are called there by their own names: "
    "written as under selection.",
)
CONTAINERS: Final = ConfigKey(
    "containers", ENGINE_SECTION, "The engine that runs the containers of toolsets, and what it is told."
)

SEARCH: Final = ConfigKey("search", SEARCH_SECTION, "How tools are found.")
CHAT: Final = ConfigKey(
    "chat", CHAT_SECTION, "Language models with the tools of the board, at /v1. Read when it starts."
)
CODE: Final = ConfigKey("code", CODE_SECTION, "Programs of models that call tools, run by python_execution.")

PEGBOARD: Final = ConfigSection(
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
    allows_extension_keys=True,
)
