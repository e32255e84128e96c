"""All keys of toolset.yaml. The reader, the JSON Schema and the docs use this."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pegboard.config.keys import access
from pegboard.config.keys import root as settings
from pegboard.config.keys.access import ARGUMENTS, BIDI_CONTROLS, LONG_TEXT, TITLE, OverrideSection
from pegboard.config.keys.access import RENDERER as SHAPES_RENDERER
from pegboard.config.schema.document import (
    Invalid,
    LocatedValue,
    MapNode,
    Node,
    ProblemCollector,
    ScalarKind,
    ScalarNode,
    describe_node,
    join_key,
    parse_integer,
    parse_number,
)
from pegboard.config.schema.fields import (
    ANY_TEXT,
    AnyMapField,
    BooleanField,
    ChoiceField,
    ConfigField,
    DurationField,
    IntegerField,
    ListField,
    TextField,
    TextRule,
)
from pegboard.config.schema.section import ConfigKey, ConfigSection, ConfigValues
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import ID_RULE
from pegboard.core.model.server import StartOnDemand, Transport
from pegboard.core.model.tool import MIB, ContainerImage, ToolsetLimits
from pegboard.core.renderers.catalogue import DEFAULT_RENDERER, RENDERERS
from pegboard.core.renderers.render import config_problems

# Shapes of values that only a manifest has: sizes, a renderer with what it takes, a name or more about it.

_SIZE: Final = re.compile(r"([1-9][0-9]{0,11}) ?([KMGkmg]?)(?:i?[Bb])?")
_FACTORS: Final = {"": 1, "k": 1024, "m": MIB, "g": 1024 * MIB}
MIN_MEMORY_BYTES: Final = 16 * MIB
MAX_MEMORY_BYTES: Final = 1024 * 1024 * MIB


@dataclass(frozen=True)
class SizeField:
    """Bytes of memory: a number, or a number with its unit. To every unit a kilobyte has 1024 bytes."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Invalid:
        match node:
            case ScalarNode(ScalarKind.INTEGER, text):
                size = parse_integer(text)
            case ScalarNode(ScalarKind.TEXT, text) if (written := _SIZE.fullmatch(text)) is not None:
                size = int(written.group(1)) * _FACTORS[written.group(2).lower()]
            case _:
                what = f"this must be a size: bytes, or a text such as 256MB or 1GB; it is {describe_node(node)}."
                return tell.add_problem(node.line, at, what)
        if not MIN_MEMORY_BYTES <= size <= MAX_MEMORY_BYTES:
            return tell.add_problem(node.line, at, "this must be from 16MB to 1024GB.")
        return size

    def schema(self) -> JsonObject:
        return {
            "anyOf": [
                {"type": "integer", "minimum": MIN_MEMORY_BYTES, "maximum": MAX_MEMORY_BYTES},
                {"type": "string", "pattern": f"^(?:{_SIZE.pattern})$"},
            ]
        }


def format_size(size: int) -> Json:
    """In the largest unit that tells it whole."""
    for unit, factor in (("GB", 1024 * MIB), ("MB", MIB), ("KB", 1024)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return size


@dataclass(frozen=True)
class NumberField:
    """Above 0."""

    maximum: float

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> float | Invalid:
        value = math.nan
        if isinstance(node, ScalarNode) and node.kind in (ScalarKind.INTEGER, ScalarKind.NUMBER):
            value = float(parse_integer(node.text)) if node.kind is ScalarKind.INTEGER else parse_number(node.text)
        if not 0 < value <= self.maximum:
            rule = f"this must be a number above 0 and at most {self.maximum:g}"
            return tell.add_problem(node.line, at, f"{rule}; it is {describe_node(node)}.")
        return value

    def schema(self) -> JsonObject:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.maximum}


@dataclass(frozen=True)
class ManifestVersionField:
    """The number 1, in quotes or without."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> int | Invalid:
        if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL and node.text in ("1", "1.0"):
            return 1
        what = (
            f"this must be 1, the only version there is; it is {_describe_version(node)}. A later Pegboard may know it."
        )
        return tell.add_problem(node.line, at, what)

    def schema(self) -> JsonObject:
        return {"enum": [1, "1", "1.0"]}


@dataclass(frozen=True)
class RendererNameField:
    """`None` for the default one."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> str | Invalid | None:
        if isinstance(node, ScalarNode) and node.kind is ScalarKind.TEXT and node.text == DEFAULT_RENDERER:
            return None
        return SHAPES_RENDERER.field_type.parse(node, at, tell)

    def schema(self) -> JsonObject:
        return SHAPES_RENDERER.field_type.schema()


@dataclass(frozen=True, slots=True)
class RendererChoice:
    renderer: str | None
    config: Mapping[str, Json] | None


@dataclass(frozen=True)
class RendererField:
    """A renderer by its name, or a map of its `type` and its configuration."""

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> RendererChoice | Invalid:
        if not isinstance(node, MapNode):
            name = RendererNameField().parse(node, at, tell)
            return name if isinstance(name, Invalid) else RendererChoice(name, None)
        kind = node.get("type")
        if kind is None:
            return tell.add_problem(
                node.line, at, "this needs type, the renderer's name. Write type: code, for example."
            )
        name = RendererNameField().parse(kind, join_key(at, "type"), tell)
        rest = tuple(entry for entry in node.entries if entry.key != "type")
        config = AnyMapField().parse(MapNode(rest, node.line), at, tell)
        if isinstance(name, Invalid) or isinstance(config, Invalid):
            return Invalid()
        lines = {entry.key: entry.line for entry in rest}
        misfits = () if name is None else config_problems(name, config)
        for key, what in misfits:
            tell.add_problem(lines.get(key, node.line), join_key(at, key), what)
        return Invalid() if misfits else RendererChoice(name, config or None)

    def schema(self) -> JsonObject:
        named = RendererNameField().schema()
        described: JsonObject = {"description": "The renderer's name.", **named}
        several: list[JsonObject] = []
        for each in RENDERERS:
            inner = each.schema()
            properties = inner["properties"]
            assert isinstance(properties, dict)
            kind: JsonObject = {"description": "The renderer's name.", "enum": [each.name, *each.aliases]}
            several.append(
                {
                    "if": {"properties": {"type": kind}, "required": ["type"]},
                    "then": {**inner, "properties": {"type": kind, **properties}},
                }
            )
        whole: JsonObject = {
            "type": "object",
            "properties": {"type": described},
            "required": ["type"],
            "allOf": [*several],
        }
        return {"anyOf": [named, whole]}


@dataclass(frozen=True)
class NameOrMapField:
    """A map, or for short its first key alone."""

    name: ConfigField[str]
    section: ConfigSection

    def parse(self, node: Node, at: str, tell: ProblemCollector) -> ConfigValues | Invalid:
        if isinstance(node, MapNode):
            return self.section.parse(node, at, tell)
        name = self.name.parse(node, at, tell)
        if isinstance(name, Invalid):
            return name
        return ConfigValues({self.section.keys[0].name: LocatedValue(name, at, node.line)}, frozenset(), node.line)

    def schema(self) -> JsonObject:
        return {"anyOf": [self.name.schema(), self.section.schema()]}


def _describe_version(node: Node) -> str:
    return (
        repr(node.text[:16])
        if isinstance(node, ScalarNode) and node.kind is not ScalarKind.NULL
        else describe_node(node)
    )


TOOL_RULE: Final = "1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'"
_TOOL_ID: Final = TextRule(r"[A-Za-z0-9_-]{1,64}", f"use {TOOL_RULE}")
_SERVER_ID: Final = TextRule(r"[a-z0-9][a-z0-9_-]{0,63}", f"use {ID_RULE}")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_ENTRYPOINT: Final = TextRule(
    rf"{_NAME}(?:\.{_NAME})*:{_NAME}",
    "write package.module:function, with dots between folders and without .py: tools/weather.py is tools.weather",
    max_length=512,
)
_SECRET: Final = TextRule(
    r"[A-Za-z_][A-Za-z0-9_]{0,127}", "a secret's name holds letters, digits and '_', such as API_KEY"
)
_VERSION: Final = TextRule(
    rf"[^\s\u0000-\u001f\u007f-\u009f{BIDI_CONTROLS}][^\u0000-\u001f\u007f-\u009f\u2028\u2029{BIDI_CONTROLS}]{{0,63}}",
    "write up to 64 characters, such as 1.0.0",
)
_IMAGE: Final = TextRule(
    r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,254}", "write an image as the engine knows it, such as docker.io/library/alpine:3"
)
_REQUIREMENT: Final = TextRule(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[[A-Za-z0-9._,\s-]*\])?\s*(?:[<>=!~;@(][^\r\n\u0000]*)?",
    "write a package and what versions will do, such as httpx>=0.27; options and paths are not taken here",
    max_length=1_024,
)
_ONE_LINE: Final = TextRule(TITLE.regex, TITLE.rule, max_length=TITLE.max_length)
_SEVERAL_LINES: Final = TextRule(LONG_TEXT.regex, LONG_TEXT.rule, max_length=LONG_TEXT.max_length)

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


def _spellings(*keys: ConfigKey[object]) -> dict[str, str]:
    names = {key.name for key in keys}
    return {other: name for other, name in SPELLINGS.items() if name in names}


REQUIRES_CONFIRMATION: Final = access.REQUIRES_CONFIRMATION

TOOL_ID: Final = ConfigKey(
    "id", TextField(_TOOL_ID, accepts_scalars=True), f"The tool's id within the toolset, which models see: {TOOL_RULE}."
)
ENTRYPOINT: Final = ConfigKey(
    "entrypoint",
    TextField(_ENTRYPOINT),
    "The function: package.module:function, where package/module.py is a file of the toolset.",
)
TOOL_NAME: Final = ConfigKey(
    "name", TextField(_ONE_LINE, accepts_scalars=True), "The name people see. By default the function's."
)
TOOL_DESCRIPTION: Final = ConfigKey(
    "description",
    TextField(_SEVERAL_LINES, accepts_scalars=True),
    "What models read. By default the function's docstring.",
)
RENDERER: Final = ConfigKey(
    "renderer",
    RendererField(),
    "How a person is shown the tool's calls: a renderer's name, or a map of its type and what it takes.",
)
_IGNORED_MESSAGE: Final = "this is passed over: the function's own annotations and docstring say it."
TOOL: Final = ConfigSection(
    "One Python function that becomes a tool.",
    (TOOL_ID, ENTRYPOINT, TOOL_NAME, TOOL_DESCRIPTION, REQUIRES_CONFIRMATION, RENDERER),
    required=("id", "entrypoint"),
    aliases=_spellings(REQUIRES_CONFIRMATION),
    ignored_keys={
        **dict.fromkeys(
            ("input_schema", "inputSchema", "output_schema", "outputSchema", "parameters"), _IGNORED_MESSAGE
        ),
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
    allows_extension_keys=True,
    null_is_absent=True,
)

SERVER_ID: Final = ConfigKey(
    "id", TextField(_SERVER_ID, accepts_scalars=True), f"The server's id within the toolset: {ID_RULE}."
)
TRANSPORT: Final = ConfigKey[Transport | None](
    "transport",
    ChoiceField(
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
SERVER_CONFIRMATION: Final = ConfigKey(
    "requires_confirmation", BooleanField(), "Whether a person must say yes to each call of the server's tools.", False
)
_SHARED_SERVER_KEYS: Final = tuple(
    key for key in settings.SERVER.keys if key.name not in ("toolset", "trust", settings.TRANSPORT.name)
)


@dataclass(frozen=True)
class _ServerSection(ConfigSection):
    """Beside the keys, which transport goes with which of them, for editors."""

    def schema(self) -> JsonObject:
        schema = super().schema()
        rules = schema.get("allOf", [])
        assert isinstance(rules, list)
        transport: JsonObject = {"description": TRANSPORT.description}
        spellings = (TRANSPORT.name, *(other for other, name in self.aliases.items() if name == TRANSPORT.name))
        speaks: JsonObject = {"properties": {each: {**transport, "enum": ["stdio", None]} for each in spellings}}
        served: JsonObject = {"properties": {each: {**transport, "not": {"const": "stdio"}} for each in spellings}}
        rule: JsonObject = {"if": self._requires("command"), "then": speaks, "else": served}
        return {**schema, "allOf": [*rules, rule]}


SERVER: Final = _ServerSection(
    "One MCP server of the toolset: a program to start (command) or an address (url).",
    (SERVER_ID, *_SHARED_SERVER_KEYS, TRANSPORT, SERVER_CONFIRMATION),
    required=("id",),
    exactly_one=settings.SERVER.exactly_one,
    at_most_one=settings.SERVER.at_most_one,
    needs={name: other for name, other in settings.SERVER.needs.items() if name != TRANSPORT.name},
    aliases={**_spellings(SERVER_CONFIRMATION, settings.IDLE_STOP), "type": "transport", "server_type": "transport"},
    ignored_keys=dict.fromkeys(("name", "description"), "this is passed over: a server is known by its id."),
    advice={
        **settings.SERVER.advice,
        "toolset": "A server of a manifest belongs to its toolset. Remove this.",
        "trust": "How far a toolset is trusted is for whoever imports it to say. Remove this.",
        "image": "Write it under containers, with mcp: true.",
    },
    allows_extension_keys=True,
    null_is_absent=True,
)

CONTAINER_ID: Final = ConfigKey(
    "id", TextField(_SERVER_ID, accepts_scalars=True), f"The container's id within the toolset: {ID_RULE}."
)
IMAGE: Final = ConfigKey("image", TextField(_IMAGE), "The image, as podman or docker knows it.")
MCP: Final = ConfigKey(
    "mcp",
    BooleanField(),
    "Whether the image speaks MCP on its input and output. It is then a server of the toolset.",
    False,
)
COMMAND_ID: Final = ConfigKey(
    "id", TextField(_TOOL_ID, accepts_scalars=True), f"The tool's id within the toolset, which models see: {TOOL_RULE}."
)
COMMAND: Final = ConfigKey(
    "command",
    ListField(TextField(accepts_scalars=True)),
    "The command in the container and its arguments, each on its own. It reads the arguments of a call as JSON from "
    "its input, and writes JSON or text.",
)
COMMAND_NAME: Final = ConfigKey(
    "name", TextField(_ONE_LINE, accepts_scalars=True), "The name people see. By default the id."
)
COMMAND_DESCRIPTION: Final = ConfigKey(
    "description", TextField(_SEVERAL_LINES, accepts_scalars=True), "What models read."
)
INPUT_SCHEMA: Final = ConfigKey(
    "input_schema", AnyMapField(), "The JSON Schema of the arguments. By default any object."
)
OUTPUT_SCHEMA: Final = ConfigKey(
    "output_schema", AnyMapField(), "The JSON Schema of the result. With it the command must write JSON that fits."
)
TIMEOUT: Final = ConfigKey("timeout", DurationField(), "How long one call may take, by default what limits.time says.")
COMMAND_SECTION: Final = ConfigSection(
    "One command of the image that becomes a tool.",
    (
        *(COMMAND_ID, COMMAND, COMMAND_NAME, COMMAND_DESCRIPTION),
        *(INPUT_SCHEMA, OUTPUT_SCHEMA, TIMEOUT, REQUIRES_CONFIRMATION),
    ),
    required=("id", "command"),
    aliases=_spellings(INPUT_SCHEMA, OUTPUT_SCHEMA, REQUIRES_CONFIRMATION),
    advice={"entrypoint": "A tool of a container is a command: write command."},
    allows_extension_keys=True,
    null_is_absent=True,
)
CONTAINER_TOOLS: Final = ConfigKey(
    "tools",
    ListField(COMMAND_SECTION),
    "The commands of the image that are tools. Without them and without mcp: true, the image's label "
    "io.pegboard.tools tells them.",
)
CONTAINER_ARGS: Final = ConfigKey(
    "args", settings.ARGS.field_type, "What the image's entrypoint gets, each on its own. References are allowed."
)
CONTAINER_ENV: Final = ConfigKey(
    "env",
    settings.ENV.field_type,
    "Environment variables in the container. Keep secrets out of the file by references: ${NAME}.",
)
NETWORK: Final = ConfigKey("network", BooleanField(), "Whether the container reaches the network.", False)
CONTAINER_WORKSPACE: Final = ConfigKey(
    "workspace",
    BooleanField(),
    "Whether the toolset's workspace is mounted at /workspace, for reading and writing.",
    False,
)
MEMORY: Final = ConfigKey(
    "memory",
    SizeField(),
    "The most memory: bytes, or a text such as 256MB or 1GB.",
    f"{ContainerImage('').memory // MIB}MB",
)
PIDS: Final = ConfigKey(
    "pids", IntegerField(1, 100_000), "The most processes in the container.", ContainerImage("").pids
)
CPUS: Final = ConfigKey(
    "cpus", NumberField(1_024), "The most processors, such as 0.5 or 2. By default as many as there are."
)
IDLE_STOP: Final = ConfigKey(
    "idle_stop",
    DurationField(),
    "How long nobody must have called before the container is stopped: seconds, or a text such as 90s or 10m.",
    StartOnDemand().idle_s,
)


@dataclass(frozen=True)
class _ContainerSection(ConfigSection):
    """Beside the keys, that an image speaks MCP or has commands, for editors."""

    def schema(self) -> JsonObject:
        speaks: JsonObject = {"mcp": {"description": MCP.description, "const": True}}
        commands: JsonObject = {"tools": {"description": CONTAINER_TOOLS.description, "type": "array"}}
        both: JsonObject = {"type": "object", "required": ["mcp", "tools"], "properties": {**speaks, **commands}}
        return {**super().schema(), "not": both}


CONTAINER: Final = _ContainerSection(
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
    allows_extension_keys=True,
    null_is_absent=True,
)

OVERRIDE_TARGET: Final = ConfigKey(
    "tool_id",
    TextField(settings.TARGET, accepts_scalars=True),
    "What is changed: a tool's id, server:tool, or a pattern such as filesystem:* or *:read_*.",
)
_ENABLED: Final = ConfigKey(
    "enabled", BooleanField(), "false takes the tool away; whoever imports the toolset can switch it on again."
)
_RENDERER: Final = ConfigKey("renderer", RendererNameField(), access.RENDERER.description)
_OVERRIDE_KEYS: Final = (
    *(_RENDERER, access.RENDERER_CONFIG, access.NAME_OVERRIDE),
    *(access.DESCRIPTION_OVERRIDE, REQUIRES_CONFIRMATION, access.TOOL_CONFIRMATION, _ENABLED, ARGUMENTS),
)
OVERRIDE: Final = OverrideSection(
    "What is changed of the tools that one id or pattern fits.",
    (OVERRIDE_TARGET, *_OVERRIDE_KEYS),
    required=("tool_id",),
    aliases=_spellings(OVERRIDE_TARGET, *_OVERRIDE_KEYS),
    advice=access.OVERRIDE.advice,
    allows_extension_keys=True,
    null_is_absent=True,
)

SECRET_NAME: Final = ConfigKey(
    "name", TextField(_SECRET, is_secret=True), "The secret's name, as tools and references know it."
)
SECRET_DESCRIPTION: Final = ConfigKey(
    "description",
    TextField(_SEVERAL_LINES, accepts_scalars=True),
    "What it is for and where to get it, for whoever is asked.",
)
SECRET: Final = ConfigSection(
    "One secret that the toolset needs, by its name. Its value is set where the toolset is imported.",
    (SECRET_NAME, SECRET_DESCRIPTION),
    required=("name",),
    advice={
        "value": "A manifest is shared, so no secret stands in it. It is set where the toolset is imported: "
        "pegboard toolset secrets set"
    },
    null_is_absent=True,
)

LIMIT_MEMORY: Final = ConfigKey(
    "memory",
    SizeField(),
    "The most memory of one process: bytes, or a text such as 512MB or 2GB.",
    f"{ToolsetLimits().memory // MIB}MB",
)
LIMIT_TIME: Final = ConfigKey(
    "time",
    DurationField(),
    "How long one call may take: seconds, or a text such as 30s or 2m.",
    ToolsetLimits().seconds,
)
LIMIT_PROCESSES: Final = ConfigKey(
    "processes", IntegerField(1, 64), "The most processes at a time.", ToolsetLimits().processes
)

SCHEMA: Final = ConfigKey(
    "$schema", TextField(ANY_TEXT), "The address of this schema, for editors. Pegboard does not read it."
)
MANIFEST_VERSION: Final = ConfigKey("manifest_version", ManifestVersionField(), "The version of this format: 1.", 1)
ID: Final = ConfigKey("id", TextField(settings.IDENTIFIER, accepts_scalars=True), f"The toolset's id: {ID_RULE}.")
NAME: Final = ConfigKey("name", TextField(_ONE_LINE, accepts_scalars=True), "The name people see. By default the id.")
VERSION: Final = ConfigKey(
    "version",
    TextField(_VERSION, accepts_scalars=True),
    "The toolset's version, such as 1.0.0. Importing an older one over a newer one must be asked for.",
)
DESCRIPTION: Final = ConfigKey(
    "description", TextField(_SEVERAL_LINES, accepts_scalars=True), "What the toolset is for."
)
TOOLS: Final = ConfigKey("tools", ListField(TOOL), "The Python functions that are tools.")
MCP_SERVERS: Final = ConfigKey("mcp_servers", ListField(SERVER), "The MCP servers that belong to the toolset.")
CONTAINERS: Final = ConfigKey("containers", ListField(CONTAINER), "The containers that belong to the toolset.")
TOOL_OVERRIDES: Final = ConfigKey(
    "tool_overrides",
    ListField(OVERRIDE),
    "What is changed of the toolset's tools. Field by field the most specific wins; what pegboard.yaml and people say "
    "lies on top.",
)
REQUIREMENTS: Final = ConfigKey(
    "requirements",
    ListField(TextField(_REQUIREMENT)),
    "Packages that the Python tools need. They are installed into an environment of the toolset's own.",
)
SECRETS: Final = ConfigKey(
    "secrets",
    ListField(NameOrMapField(SECRET_NAME.field_type, SECRET)),
    "Secrets that the toolset needs, by name. Tools get them by their context, servers and containers by ${NAME}.",
)
WORKSPACE: Final = ConfigKey(
    "workspace",
    BooleanField(),
    "Whether the Python tools get a folder of their own, which outlives calls and updates.",
    False,
)
LIMITS: Final = ConfigKey(
    "limits",
    ConfigSection("", (LIMIT_MEMORY, LIMIT_TIME, LIMIT_PROCESSES), null_is_absent=True),
    "What the toolset's own tools may take.",
)

TOOLSET: Final = ConfigSection(
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
    ignored_keys=dict.fromkeys(
        ("author", "authors", "category", "homepage", "icon", "keywords", "license", "repository", "tags"),
        "this is passed over: nothing here uses it.",
    ),
    allows_extension_keys=True,
    null_is_absent=True,
)
