"""Code mode in values: which Python programs run in, how far they may go, and the tool that runs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from .ids import BuiltinKey, ToolId
from .prompting import PYTHON
from .tool import Json, JsonObject, Tool, ToolSpec

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
