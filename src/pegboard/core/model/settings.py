"""Operator settings for prompts, presentations and code mode."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.patterns import NO_FILTER, LaunchFilter
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.tool import Tool, ToolSpec

# What the operator says about talking to models: the base prompt, built-ins, formats, the launch filter, limits.

PYTHON: Final = "python_execution"
SEARCH: Final = "tool_search"
SCHEMAS: Final = "search_schemas"
SQL: Final = "execute_sql"
BUILTINS: Final = (PYTHON, SEARCH, SCHEMAS, SQL)
"""In the order in which a model is told of them."""

NATIVE: Final = "native"
CODE_MODE: Final = "codemode"
FAMILY: Final = "family"
"""Stands for the format that the model's family was trained on, whichever that is."""

TEXT_FORMATS: Final = (
    "hermes",
    "hermes_longcat",
    "mistral",
    "pythonic",
    "pythonic_bare",
    "pythonic_block",
    "pythonic_lfm2",
    "pythonic_olmo3",
    "json",
    "json_apertus",
    "json_fenced",
    "json_generic",
    "json_internlm2",
    "json_jamba",
    "json_phi4mini",
    "json_xlam",
    "llama3_json",
    "llama_function_tag",
    "gemini_json",
    "apriel",
    "cohere",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "dots",
    "ernie45",
    "firefunction",
    "functionary",
    "functiongemma",
    "gemma4",
    "gigachat3",
    "glm45",
    "glm47",
    "granite3",
    "granite_20b",
    "granite_function_call",
    "harmony",
    "hunyuan",
    "hy_v3",
    "inkling",
    "kimi_k2",
    "kimi_k3",
    "ling3",
    "minicpm5",
    "minimax_m2",
    "minimax_m3",
    "muse_glimmer",
    "nemotron_v2",
    "pipeline_default",
    "poolside_v1",
    "qwen3_coder",
    "seed_oss",
    "step3",
)
"""Those in which a model writes its calls into its text."""

DEFAULT_FORMATS: Final = (NATIVE, FAMILY, "hermes", "mistral", "pythonic", "json", CODE_MODE)
DEFAULT_BASE_PROMPT: Final = (
    "You are a helpful assistant. Use the tools you are given where they help, and never make up what a tool would "
    "answer. When you have what you need, answer in your own words."
)
DEFAULT_BUDGET_TOKENS: Final = 8_000
MIN_BUDGET_TOKENS: Final = 200
DEFAULT_RESULT_CHARS: Final = 16_000
MIN_RESULT_CHARS: Final = 200
"""Characters: less could not say what was cut."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What is known of the models whose name fits a pattern. What is not said is found out otherwise."""

    pattern: str
    """Over the whole name, in any case."""
    billions: float | None = None
    tool_calling: bool | None = None
    format: str | None = None
    thinking: bool | None = None
    opens_thinking: bool | None = None
    at: DeclaredAt | None = None


@dataclass(frozen=True)
class PromptSettings:
    base: str = DEFAULT_BASE_PROMPT
    builtins: tuple[str, ...] = BUILTINS
    """Those that are switched on."""
    formats: tuple[str, ...] = DEFAULT_FORMATS
    """Those that are switched on, in the order in which they are tried."""
    primary: str | None = None
    """The one to prefer; by default the first that is available."""
    launch: LaunchFilter = NO_FILTER
    budget: int = DEFAULT_BUDGET_TOKENS
    """Tokens, by estimate, that the system prompt and the tools beside it cost at most."""
    result: int = DEFAULT_RESULT_CHARS
    """Characters of one result that a model is given at most."""
    run_recovered: bool = False
    """Whether a call runs whose end never came, but whose arguments all did."""
    models: tuple[KnownModel, ...] = ()


# What the operator says about showing tools.

DEFAULT_MATERIALIZED: Final = 20
"""How many found tools one conversation keeps when nobody says."""
MAX_MATERIALIZED: Final = 100


class PresentationMode(StrEnum):
    """By the words that people write."""

    DIRECT = "direct"
    """Every tool as itself."""
    META = "meta"
    SEARCH = "search"
    DEFERRED = "deferred"
    """Found by search, and each as itself from then on."""
    CODE = "code"
    """As functions of a program: found by search, called by what is run."""
    AUTO = "auto"
    """Each as itself, or, of more than the threshold, through search."""


@dataclass(frozen=True, slots=True)
class PinnedEntry:
    """A tool's id, or a pattern: what it fits stays listed beside the tools of any presentation."""

    text: str
    at: DeclaredAt
    optional: bool = False
    """Whether it may name no tool at all."""


@dataclass(frozen=True)
class PresentationSettings:
    presentation: PresentationMode = PresentationMode.DIRECT
    """What a client gets that does not say. Read when the gateway starts."""
    threshold: int = 100
    """Tools above which showing each as itself is thought to be too much."""
    always_visible: tuple[PinnedEntry, ...] = ()
    max_materialized: int = DEFAULT_MATERIALIZED
    """How many tools a conversation keeps that it found, where they are deferred."""


PYTHON_ID: Final = ToolId(BuiltinKey(), PYTHON)
"""The tool that runs programs. No program is ever given it."""

MAX_CALLS: Final = 500
"""How many calls of tools a file may let one program make."""


class PythonSandbox(Enum):
    """By the words of the file."""

    MONTY = "monty"
    FULL = "full"


SUSPENDABLE: Final = frozenset({PythonSandbox.MONTY})
"""Those whose programs can be kept while a person decides. In others such a call raises `PermissionError`."""


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """What one program may use. Sizes are bytes, times seconds."""

    cpu: float = 30.0
    wall: float = 120.0
    """Without the time in which a person is asked."""
    memory: int = 128 * 1024 * 1024
    calls: int = 50
    concurrency: int = 8
    result: int = 64 * 1024
    stdout: int = 256 * 1024
    code: int = 64 * 1024
    sleep: float = 10.0


@dataclass(frozen=True, slots=True)
class CodeSettings:
    is_listed: bool = False
    """Whether `python_execution` hangs on the board like any other tool."""
    python: PythonSandbox = PythonSandbox.MONTY
    fallback: bool = False
    """Whether a program that Monty cannot run is run by the full Python, as long as it has called nothing."""
    check: bool = True
    """Whether its types are checked before it runs."""
    limits: CodeLimits = field(default_factory=CodeLimits)
    runs: int = 8
    """Programs that run at once; further ones wait in line."""

    @property
    def max_waiting(self) -> int:
        """Programs that may have a question open in their client. For calls of others, a ticket is asked for."""
        return self.runs

    @property
    def max_waiting_per_caller(self) -> int:
        """Of one caller."""
        return max(1, self.runs // 2)


OUTPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "result": {"description": "The value of the program's last expression; null where it has none."},
        "stdout": {"type": "string", "description": "What the program printed."},
        "truncated": {"type": "boolean", "description": "Whether more was printed than stdout may hold."},
        "tool_calls": {
            "type": "array",
            "description": "The calls of tools, in the order in which the program made them.",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "ok": {"type": "boolean"},
                    "ms": {"type": "integer"},
                    "error": {"type": "string"},
                },
                "required": ["name", "ok", "ms"],
            },
        },
        "error": {
            "type": ["object", "null"],
            "description": "What ended the program early.",
            "properties": {
                "type": {"type": "string"},
                "message": {"type": "string"},
                "line": {"type": ["integer", "null"]},
            },
            "required": ["type", "message", "line"],
        },
        "note": {"type": "string", "description": "What else is to be known of how it ran."},
    },
    "required": ["result", "stdout", "truncated", "tool_calls", "error"],
}


def input_schema(limits: CodeLimits) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "code": {"type": "string", "description": "The program."},
            "timeout_s": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": limits.wall,
                "default": limits.wall,
                "description": "Seconds after which it is ended.",
            },
        },
        "required": ["code"],
        "additionalProperties": False,
    }


_ANNOTATIONS: Final[Mapping[str, Json]] = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
"""Those of whatever tools the program calls."""


def python_tool(dialect: str, settings: CodeSettings, found_by: str = "") -> Tool:
    """`dialect` says which Python it is, `found_by` how the model finds the functions."""
    limits = settings.limits
    parts = (
        "Runs a Python program that may call many tools, and answers with its result. Each tool is a function under "
        "the name of its server, called by keyword and awaited: `found = await server.tool(name=value)`; several at "
        "once by `asyncio.gather`. A call that fails raises an exception which says why.",
        found_by,
        "The value of the last expression is the result; what is printed comes back too. There are no files, no "
        "network and no environment.",
        dialect,
        f"Limits: {limits.cpu:g} s of CPU, {limits.wall:g} s in all, {limits.memory // (1024 * 1024)} MB, "
        f"{limits.calls} calls, {limits.concurrency} at once, {limits.result // 1024} kB of result.",
    )
    description = "\n".join(part.strip() for part in parts if part.strip())
    spec = ToolSpec(PYTHON, "Run Python", description, input_schema(limits), OUTPUT_SCHEMA, _ANNOTATIONS)
    return Tool(PYTHON_ID, spec)
