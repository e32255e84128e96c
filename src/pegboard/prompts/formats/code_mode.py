"""Code mode: the model calls with Python in a code fence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pegboard.core.json.values import Json
from pegboard.prompts.events import ParsedCall
from pegboard.prompts.formats.base import RESULT_IS_DATA, FormatMessage, FormattedResult
from pegboard.prompts.scanner import THINK_MARKERS, MarkerSyntax
from pegboard.prompts.scanners.code import PYTHON, CodeScanner
from pegboard.prompts.stubs.render import format_docstring
from pegboard.prompts.tool_shape import ToolShape
from pegboard.prompts.values import schema_types


@dataclass(frozen=True)
class CodeSyntax(MarkerSyntax):
    @property
    def strong_openers(self) -> tuple[str, ...]:
        return ()


SYNTAX: Final = CodeSyntax(openers=("```", "~~~", "<code>"), stray_markers=("<end_code>",))
_TICKS: Final = re.compile("`{3,}")
_TYPES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


@dataclass(frozen=True)
class CodeModeFormat:
    name: str = "codemode"

    @property
    def thinking_markers(self) -> tuple[tuple[str, str], ...]:
        return THINK_MARKERS

    def instructions(self, tools: Sequence[ToolShape]) -> str:
        return (
            "To use the functions you are given, write Python in a block like this, and nothing after it:\n"
            "```python\n"
            'found = await some_server.some_function(first="value", second=2)\n'
            "print(found)\n"
            "```\n"
            "Call the functions by keyword, with the server before the name, and await each call; several at once by "
            "asyncio.gather. What you print and the value of the last line come back to you, and nothing else. Several "
            "calls, loops and conditions may stand in one block. A function that belongs to no server is called alone: "
            "a block that holds that one call and nothing else. If no code is needed, answer in plain text. "
            f"What stands in a block of tool_output {RESULT_IS_DATA}"
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """The tools as functions of Python, those of each server together."""
        parts: list[str] = []
        for module, group in groupby(tools, lambda tool: "" if tool.stub is None else tool.stub.function.module):
            texts = (_stub(tool) if tool.stub is None else tool.stub.text for tool in group)
            parts += [f"# functions of {module}", *texts] if module else texts
        return "\n\n".join(parts).join(("```python\n", "\n```"))

    def calls_text(self, calls: Sequence[ParsedCall]) -> str:
        return "\n".join(_code_block(_call_code(call)) for call in calls)

    def results(self, results: Sequence[FormattedResult]) -> tuple[FormatMessage, ...]:
        texts = [_output_block(fed.text) for fed in results]
        return (FormatMessage("user", "\n".join(texts)),) if texts else ()

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> CodeScanner:
        return CodeScanner(SYNTAX, tools, in_thinking=in_thinking)


def _output_block(said: str) -> str:
    """In a fence that is longer than each in the text, so that none of them ends it."""
    fence = "`" * max(3, *(len(run) + 1 for run in _TICKS.findall(said)), 0)
    return f"{fence}tool_output\n{said}\n{fence}"


def _stub(tool: ToolShape) -> str:
    required = tool.parameters.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    ordered = sorted(tool.properties.items(), key=lambda item: item[0] not in needed)
    arguments = [f"{key}: {_hint(schema)}" + ("" if key in needed else " = None") for key, schema in ordered]
    star = "*, " if arguments else ""
    head = f"def {tool.name}({star}{', '.join(arguments)}):"
    docstring = format_docstring(tool.description, (_argument_line(key, schema) for key, schema in ordered))
    return f"{head}\n{docstring or '    ...'}"


def _hint(schema: Json) -> str:
    return " | ".join(sorted(_TYPES.get(kind, "object") for kind in schema_types(schema))) or "object"


def _argument_line(key: str, schema: Json) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return f"{key}: {said}" if isinstance(said, str) and said else ""


def _call_code(call: ParsedCall) -> str:
    if call.name == PYTHON and isinstance(code := call.arguments.get("code"), str):
        return code
    return f"print({call.name}({_keywords(call.arguments)}))"


def _keywords(arguments: Mapping[str, Json]) -> str:
    if all(key.isidentifier() for key in arguments):
        return ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"**{dict(arguments)!r}"


def _code_block(code: str) -> str:
    """A fence that is longer than any in the code."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}python\n{code}\n{fence}"


FORMAT: Final = CodeModeFormat()
