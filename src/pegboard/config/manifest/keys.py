"""Every key of toolset.yaml: its shape and its meaning. The reader, the JSON Schema and the docs' test read this."""

from dataclasses import dataclass
from typing import Final

from pegboard.config import keys as settings
from pegboard.config import override_keys
from pegboard.config.override_keys import ARGUMENTS, TITLE, TURNING, WORDS, Overriding
from pegboard.config.section import Key, Section
from pegboard.config.shape import ANY_TEXT, AnyMap, Choice, Form, ListOf, Seconds, Text, Truth, Whole
from pegboard.core.ids import ID_RULE
from pegboard.core.own import MIB, Bounds, Image
from pegboard.core.server import OnDemand, Transport
from pegboard.core.tool import JsonObject

from .shapes import FirstVersion, NameOrMap, Number, RendererName, RendererOrMap, Size

TOOL_RULE: Final = "1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'"
_TOOL_ID: Final = Form(r"[A-Za-z0-9_-]{1,64}", f"use {TOOL_RULE}")
_SERVER_ID: Final = Form(r"[a-z0-9][a-z0-9_-]{0,63}", f"use {ID_RULE}")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_ENTRYPOINT: Final = Form(
    rf"{_NAME}(?:\.{_NAME})*:{_NAME}",
    "write package.module:function, with dots between folders and without .py: tools/weather.py is tools.weather",
    longest=512,
)
_SECRET: Final = Form(r"[A-Za-z_][A-Za-z0-9_]{0,127}", "a secret's name holds letters, digits and '_', such as API_KEY")
_VERSION: Final = Form(
    rf"[^\s\u0000-\u001f\u007f-\u009f{TURNING}][^\u0000-\u001f\u007f-\u009f\u2028\u2029{TURNING}]{{0,63}}",
    "write up to 64 characters, such as 1.0.0",
)
_IMAGE: Final = Form(
    r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,254}", "write an image as the engine knows it, such as docker.io/library/alpine:3"
)
_REQUIREMENT: Final = Form(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[A-Za-z0-9._,\s-]*\])?\s*(?:[<>=!~;@(][^\r\n\u0000]*)?",
    "write a package and what versions will do, such as httpx>=0.27; options and paths are not taken here",
    longest=1_024,
)
_ONE_LINE: Final = Form(TITLE.regex, TITLE.rule, longest=TITLE.longest)
_SEVERAL_LINES: Final = Form(WORDS.regex, WORDS.rule, longest=WORDS.longest)

SPELLINGS: Final = {
    "requiresConfirmation": "requires_confirmation",
    "rendererConfig": "renderer_config",
    "nameOverride": "name_override",
    "descriptionOverride": "description_override",
    "toolId": "tool_id",
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "idleStop": "idle_stop",
    "manifestVersion": "manifest_version",
    "mcpServers": "mcp_servers",
    "toolOverrides": "tool_overrides",
}


def _spellings(*keys: Key[object]) -> dict[str, str]:
    names = {key.name for key in keys}
    return {other: name for other, name in SPELLINGS.items() if name in names}


REQUIRES_CONFIRMATION: Final = override_keys.REQUIRES_CONFIRMATION

TOOL_ID: Final = Key(
    "id", Text(_TOOL_ID, as_written=True), f"The tool's id within the toolset, which models see: {TOOL_RULE}."
)
ENTRYPOINT: Final = Key(
    "entrypoint",
    Text(_ENTRYPOINT),
    "The function: package.module:function, where package/module.py is a file of the toolset.",
)
TOOL_NAME: Final = Key("name", Text(_ONE_LINE, as_written=True), "The name people see. By default the function's.")
TOOL_DESCRIPTION: Final = Key(
    "description", Text(_SEVERAL_LINES, as_written=True), "What models read. By default the function's docstring."
)
RENDERER: Final = Key(
    "renderer",
    RendererOrMap(),
    "How a person is shown the tool's calls: a renderer's name, or a map of its type and what it takes.",
)
_NOT_HERE: Final = "this is passed over: the function's own annotations and docstring say it."
TOOL: Final = Section(
    "One Python function that becomes a tool.",
    (TOOL_ID, ENTRYPOINT, TOOL_NAME, TOOL_DESCRIPTION, REQUIRES_CONFIRMATION, RENDERER),
    required=("id", "entrypoint"),
    aliases=_spellings(REQUIRES_CONFIRMATION),
    passed_over={
        **dict.fromkeys(("input_schema", "inputSchema", "output_schema", "outputSchema", "parameters"), _NOT_HERE),
        **dict.fromkeys(("category", "tags", "icon"), "this is passed over: nothing here is sorted by it."),
    },
    advice={
        "renderer_config": "Write renderer: {type: …, …}, or both under tool_overrides.",
        "rendererConfig": "Write renderer: {type: …, …}, or both under tool_overrides.",
        "function": "Write entrypoint.",
        "title": "Write name.",
        "enabled": "Write it under tool_overrides.",
        "command": "A command runs in a container: write it under containers.",
    },
    allows_own_keys=True,
    nothing_is_unsaid=True,
)

SERVER_ID: Final = Key("id", Text(_SERVER_ID, as_written=True), f"The server's id within the toolset: {ID_RULE}.")
TRANSPORT: Final = Key[Transport | None](
    "transport",
    Choice(
        {
            "http": Transport.STREAMABLE_HTTP,
            "sse": Transport.SSE,
            "stdio": None,
            "streamable-http": Transport.STREAMABLE_HTTP,
            "streamable_http": Transport.STREAMABLE_HTTP,
            "streamableHttp": Transport.STREAMABLE_HTTP,
        }
    ),
    "How the server speaks: http or sse at a url; stdio with a command, which need not be said.",
)
SERVER_CONFIRMATION: Final = Key(
    "requires_confirmation", Truth(), "Whether a person must say yes to each call of the server's tools.", False
)
_OF_SETTINGS: Final = tuple(
    key for key in settings.SERVER.keys if key.name not in ("toolset", "trust", settings.TRANSPORT.name)
)


@dataclass(frozen=True)
class _Server(Section):
    """Beside the keys, which transport goes with which of them, for editors."""

    def schema(self) -> JsonObject:
        schema = super().schema()
        rules = schema.get("allOf", [])
        assert isinstance(rules, list)
        transport: JsonObject = {"description": TRANSPORT.description}
        spellings = (TRANSPORT.name, *(other for other, name in self.aliases.items() if name == TRANSPORT.name))
        speaks: JsonObject = {"properties": {each: {**transport, "enum": ["stdio", None]} for each in spellings}}
        served: JsonObject = {"properties": {each: {**transport, "not": {"const": "stdio"}} for each in spellings}}
        rule: JsonObject = {"if": self._said("command"), "then": speaks, "else": served}
        return {**schema, "allOf": [*rules, rule]}


SERVER: Final = _Server(
    "One MCP server of the toolset: a program to start (command) or an address (url).",
    (SERVER_ID, *_OF_SETTINGS, TRANSPORT, SERVER_CONFIRMATION),
    required=("id",),
    exactly_one=settings.SERVER.exactly_one,
    at_most_one=settings.SERVER.at_most_one,
    needs={name: other for name, other in settings.SERVER.needs.items() if name != TRANSPORT.name},
    aliases={**_spellings(SERVER_CONFIRMATION, settings.IDLE_STOP), "type": "transport", "server_type": "transport"},
    passed_over=dict.fromkeys(("name", "description"), "this is passed over: a server is known by its id."),
    advice={
        **settings.SERVER.advice,
        "toolset": "A server of a manifest belongs to its toolset. Remove this.",
        "trust": "How far a toolset is trusted is for whoever imports it to say. Remove this.",
        "image": "Write it under containers, with mcp: true.",
    },
    allows_own_keys=True,
    nothing_is_unsaid=True,
)

CONTAINER_ID: Final = Key("id", Text(_SERVER_ID, as_written=True), f"The container's id within the toolset: {ID_RULE}.")
IMAGE: Final = Key("image", Text(_IMAGE), "The image, as podman or docker knows it.")
MCP: Final = Key(
    "mcp", Truth(), "Whether the image speaks MCP on its input and output. It is then a server of the toolset.", False
)
COMMAND_ID: Final = Key(
    "id", Text(_TOOL_ID, as_written=True), f"The tool's id within the toolset, which models see: {TOOL_RULE}."
)
COMMAND: Final = Key(
    "command",
    ListOf(Text(as_written=True)),
    "The command in the container and its arguments, each on its own. It reads the arguments of a call as JSON from "
    "its input, and writes JSON or text.",
)
COMMAND_NAME: Final = Key("name", Text(_ONE_LINE, as_written=True), "The name people see. By default the id.")
COMMAND_DESCRIPTION: Final = Key("description", Text(_SEVERAL_LINES, as_written=True), "What models read.")
INPUT_SCHEMA: Final = Key("input_schema", AnyMap(), "The JSON Schema of the arguments. By default any object.")
OUTPUT_SCHEMA: Final = Key(
    "output_schema", AnyMap(), "The JSON Schema of the result. With it the command must write JSON that fits."
)
TIMEOUT: Final = Key("timeout", Seconds(), "How long one call may take, by default what limits.time says.")
COMMAND_SECTION: Final = Section(
    "One command of the image that becomes a tool.",
    (
        *(COMMAND_ID, COMMAND, COMMAND_NAME, COMMAND_DESCRIPTION),
        *(INPUT_SCHEMA, OUTPUT_SCHEMA, TIMEOUT, REQUIRES_CONFIRMATION),
    ),
    required=("id", "command"),
    aliases=_spellings(INPUT_SCHEMA, OUTPUT_SCHEMA, REQUIRES_CONFIRMATION),
    advice={"entrypoint": "A tool of a container is a command: write command."},
    allows_own_keys=True,
    nothing_is_unsaid=True,
)
CONTAINER_TOOLS: Final = Key(
    "tools",
    ListOf(COMMAND_SECTION),
    "The commands of the image that are tools. Without them and without mcp: true, the image's label "
    "io.pegboard.tools tells them.",
)
CONTAINER_ARGS: Final = Key(
    "args", settings.ARGS.shape, "What the image's entrypoint gets, each on its own. References are allowed."
)
CONTAINER_ENV: Final = Key(
    "env",
    settings.ENV.shape,
    "Environment variables in the container. Keep secrets out of the file by references: ${NAME}.",
)
NETWORK: Final = Key("network", Truth(), "Whether the container reaches the network.", False)
CONTAINER_WORKSPACE: Final = Key(
    "workspace", Truth(), "Whether the toolset's workspace is mounted at /workspace, for reading and writing.", False
)
MEMORY: Final = Key(
    "memory", Size(), "The most memory: bytes, or a text such as 256MB or 1GB.", f"{Image('').memory // MIB}MB"
)
PIDS: Final = Key("pids", Whole(1, 100_000), "The most processes in the container.", Image("").pids)
CPUS: Final = Key("cpus", Number(1_024), "The most processors, such as 0.5 or 2. By default as many as there are.")
IDLE_STOP: Final = Key(
    "idle_stop",
    Seconds(),
    "How long nobody must have called before the container is stopped: seconds, or a text such as 90s or 10m.",
    OnDemand().idle,
)


@dataclass(frozen=True)
class _Container(Section):
    """Beside the keys, that an image speaks MCP or has commands, for editors."""

    def schema(self) -> JsonObject:
        speaks: JsonObject = {"mcp": {"description": MCP.description, "const": True}}
        commands: JsonObject = {"tools": {"description": CONTAINER_TOOLS.description, "type": "array"}}
        both: JsonObject = {"type": "object", "required": ["mcp", "tools"], "properties": {**speaks, **commands}}
        return {**super().schema(), "not": both}


CONTAINER: Final = _Container(
    "One container of the toolset: an image that speaks MCP, or one with commands that are tools.",
    (
        *(CONTAINER_ID, IMAGE, MCP, CONTAINER_TOOLS, CONTAINER_ARGS, CONTAINER_ENV),
        *(NETWORK, CONTAINER_WORKSPACE, MEMORY, PIDS, CPUS, IDLE_STOP),
    ),
    required=("id", "image"),
    aliases=_spellings(IDLE_STOP),
    advice={
        "command": "Write args for what the image's entrypoint gets, or tools with a command each.",
        "volumes": "Only the toolset's workspace can be mounted: write workspace: true.",
        "mounts": "Only the toolset's workspace can be mounted: write workspace: true.",
        "ports": "A container is spoken to by its input and output. Remove this.",
        "timeout": "Write it at each tool.",
    },
    allows_own_keys=True,
    nothing_is_unsaid=True,
)

OVERRIDE_TARGET: Final = Key(
    "tool_id",
    Text(settings.TARGET, as_written=True),
    "What is changed: a tool's id, server:tool, or a pattern such as filesystem:* or *:read_*.",
)
_ENABLED: Final = Key(
    "enabled", Truth(), "false takes the tool away; whoever imports the toolset can switch it on again."
)
_RENDERER: Final = Key("renderer", RendererName(), override_keys.RENDERER.description)
_OVERRIDE_KEYS: Final = (
    *(_RENDERER, override_keys.RENDERER_CONFIG, override_keys.NAME_OVERRIDE),
    *(override_keys.DESCRIPTION_OVERRIDE, REQUIRES_CONFIRMATION, override_keys.TOOL_CONFIRMATION, _ENABLED, ARGUMENTS),
)
OVERRIDE: Final = Overriding(
    "What is changed of the tools that one id or pattern fits.",
    (OVERRIDE_TARGET, *_OVERRIDE_KEYS),
    required=("tool_id",),
    aliases=_spellings(OVERRIDE_TARGET, *_OVERRIDE_KEYS),
    advice=override_keys.OVERRIDE.advice,
    allows_own_keys=True,
    nothing_is_unsaid=True,
)

SECRET_NAME: Final = Key("name", Text(_SECRET, is_secret=True), "The secret's name, as tools and references know it.")
SECRET_DESCRIPTION: Final = Key(
    "description", Text(_SEVERAL_LINES, as_written=True), "What it is for and where to get it, for whoever is asked."
)
SECRET: Final = Section(
    "One secret that the toolset needs, by its name. Its value is set where the toolset is imported.",
    (SECRET_NAME, SECRET_DESCRIPTION),
    required=("name",),
    advice={
        "value": "A manifest is shared, so no secret stands in it. It is set where the toolset is imported: "
        "pegboard toolset secrets set"
    },
    nothing_is_unsaid=True,
)

LIMIT_MEMORY: Final = Key(
    "memory",
    Size(),
    "The most memory of one process: bytes, or a text such as 512MB or 2GB.",
    f"{Bounds().memory // MIB}MB",
)
LIMIT_TIME: Final = Key(
    "time", Seconds(), "How long one call may take: seconds, or a text such as 30s or 2m.", Bounds().seconds
)
LIMIT_PROCESSES: Final = Key("processes", Whole(1, 64), "The most processes at a time.", Bounds().processes)

SCHEMA: Final = Key("$schema", Text(ANY_TEXT), "The address of this schema, for editors. Pegboard does not read it.")
MANIFEST_VERSION: Final = Key("manifest_version", FirstVersion(), "The version of this format: 1.", 1)
ID: Final = Key("id", Text(settings.IDENTIFIER, as_written=True), f"The toolset's id: {ID_RULE}.")
NAME: Final = Key("name", Text(_ONE_LINE, as_written=True), "The name people see. By default the id.")
VERSION: Final = Key(
    "version",
    Text(_VERSION, as_written=True),
    "The toolset's version, such as 1.0.0. Importing an older one over a newer one must be asked for.",
)
DESCRIPTION: Final = Key("description", Text(_SEVERAL_LINES, as_written=True), "What the toolset is for.")
TOOLS: Final = Key("tools", ListOf(TOOL), "The Python functions that are tools.")
MCP_SERVERS: Final = Key("mcp_servers", ListOf(SERVER), "The MCP servers that belong to the toolset.")
CONTAINERS: Final = Key("containers", ListOf(CONTAINER), "The containers that belong to the toolset.")
TOOL_OVERRIDES: Final = Key(
    "tool_overrides",
    ListOf(OVERRIDE),
    "What is changed of the toolset's tools. Field by field the most specific wins; what pegboard.yaml and people say "
    "lies on top.",
)
REQUIREMENTS: Final = Key(
    "requirements",
    ListOf(Text(_REQUIREMENT)),
    "Packages that the Python tools need. They are installed into an environment of the toolset's own.",
)
SECRETS: Final = Key(
    "secrets",
    ListOf(NameOrMap(SECRET_NAME.shape, SECRET)),
    "Secrets that the toolset needs, by name. Tools get them by their context, servers and containers by ${NAME}.",
)
WORKSPACE: Final = Key(
    "workspace", Truth(), "Whether the Python tools get a folder of their own, which outlives calls and updates.", False
)
LIMITS: Final = Key(
    "limits",
    Section("", (LIMIT_MEMORY, LIMIT_TIME, LIMIT_PROCESSES), nothing_is_unsaid=True),
    "What the toolset's own tools may take.",
)

TOOLSET: Final = Section(
    "The manifest of a toolset: what it brings, what it needs, and what it changes of its tools.",
    (
        *(SCHEMA, MANIFEST_VERSION, ID, NAME, VERSION, DESCRIPTION),
        *(TOOLS, MCP_SERVERS, CONTAINERS, TOOL_OVERRIDES),
        *(REQUIREMENTS, SECRETS, WORKSPACE, LIMITS),
    ),
    required=("id",),
    aliases=_spellings(MANIFEST_VERSION, MCP_SERVERS, TOOL_OVERRIDES),
    advice={
        "servers": "Write mcp_servers, a list in which each server has an id.",
        "overrides": "Write tool_overrides, a list in which each has a tool_id.",
        "dependencies": "Write requirements.",
        "title": "Write name.",
        "enabled": "Whether a toolset is on is for whoever imports it to say. Remove this.",
        "user_mcp": "This is worked out by itself. Remove it.",
    },
    passed_over=dict.fromkeys(
        ("author", "authors", "category", "homepage", "icon", "keywords", "license", "repository", "tags"),
        "this is passed over: nothing here uses it.",
    ),
    allows_own_keys=True,
    nothing_is_unsaid=True,
)
