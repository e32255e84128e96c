"""Code mode: Python in a fence is what the model calls with, and python_execution is what runs it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pegboard.core.folded import Json
from pegboard.prompts.coercion import types_of
from pegboard.prompts.engines.code import PYTHON, CodeScanner
from pegboard.prompts.events import Called
from pegboard.prompts.scanner import Signs
from pegboard.prompts.shapes import ToolShape
from pegboard.prompts.stubs.docstrings import docstring
from pegboard.prompts.thinking import THINK

from .format import Fed, Message
from .framing import NO_ORDER


@dataclass(frozen=True)
class CodeSigns(Signs):
    @property
    def strong(self) -> tuple[str, ...]:
        return ()


SIGNS: Final = CodeSigns(openers=("```", "~~~", "<code>"), strays=("<end_code>",))
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
class CodeMode:
    name: str = "codemode"
    aliases: tuple[str, ...] = ("code_mode",)

    @property
    def thinking(self) -> tuple[tuple[str, str], ...]:
        return THINK

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
            f"What stands in a block of tool_output {NO_ORDER}"
        )

    def tools_text(self, tools: Sequence[ToolShape]) -> str:
        """The tools as functions of Python, those of each server together."""
        parts: list[str] = []
        for module, group in groupby(tools, lambda tool: "" if tool.stub is None else tool.stub.named.module):
            texts = (_stub(tool) if tool.stub is None else tool.stub.text for tool in group)
            parts += [f"# functions of {module}", *texts] if module else texts
        return "\n\n".join(parts).join(("```python\n", "\n```"))

    def calls_text(self, calls: Sequence[Called]) -> str:
        return "\n".join(_block(_code(call)) for call in calls)

    def results(self, results: Sequence[Fed]) -> tuple[Message, ...]:
        texts = [_output(fed.text) for fed in results]
        return (Message("user", "\n".join(texts)),) if texts else ()

    def scanner(self, tools: Sequence[ToolShape], *, in_thinking: bool = False) -> CodeScanner:
        return CodeScanner(SIGNS, tools, in_thinking=in_thinking)


def _output(said: str) -> str:
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
    return f"{head}\n{docstring(tool.description, (_told(key, schema) for key, schema in ordered)) or '    ...'}"


def _hint(schema: Json) -> str:
    return " | ".join(sorted(_TYPES.get(kind, "object") for kind in types_of(schema))) or "object"


def _told(key: str, schema: Json) -> str:
    said = schema.get("description") if isinstance(schema, dict) else None
    return f"{key}: {said}" if isinstance(said, str) and said else ""


def _code(call: Called) -> str:
    if call.name == PYTHON and isinstance(code := call.arguments.get("code"), str):
        return code
    return f"print({call.name}({_keywords(call.arguments)}))"


def _keywords(arguments: Mapping[str, Json]) -> str:
    if all(key.isidentifier() for key in arguments):
        return ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"**{dict(arguments)!r}"


def _block(code: str) -> str:
    """A fence that is longer than any in the code."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}python\n{code}\n{fence}"


FORMAT: Final = CodeMode()
