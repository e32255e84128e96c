"""Programs with what CPython prints for each: a JSON array of objects with `id`, `code` and `expected_stdout`.

A file that brings tools of its own is an object with `tools` and `snippets`; a snippet may have `tools`, too. A tool
has `parameters` (names, in their order) and either `returns`, what every call gets, or `answers`, a list of what calls
with certain `arguments` get: `returns`, or `raises` with a `type` and a `message`.
"""

import ast
import builtins
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pegboard.core.json.values import Json

_MAKING: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class BadFileError(ValueError):
    """The file is not one of snippets; the message says where."""


@dataclass(frozen=True)
class Snippet:
    id: str
    code: str
    expected: str
    features: str
    tools: Mapping[str, "Canned"] = field(default_factory=dict[str, "Canned"])

    def unprovided(self, known: Collection[str]) -> tuple[str, ...]:
        """Functions that the program calls, and that neither it nor anybody else has."""
        try:
            tree = ast.parse(self.code)
        except (SyntaxError, ValueError):
            return ()
        made = {node.name for node in ast.walk(tree) if isinstance(node, _MAKING)}
        made |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        made |= {
            (alias.asname or alias.name).partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        called = (function.id for function in calls if isinstance(function, ast.Name))
        own = {*made, *known, *self.tools, *dir(builtins)}
        return tuple(dict.fromkeys(name for name in called if name not in own))


@dataclass(frozen=True)
class Answered:
    """What one call gets."""

    value: Json = None
    raises: tuple[str, str] | None = None
    """The kind of an exception, and what it says."""


@dataclass(frozen=True)
class Canned:
    """A tool that a file brings, with its answers."""

    parameters: tuple[str, ...] = ()
    answers: tuple[tuple[Mapping[str, Json], Answered], ...] = ()
    otherwise: Answered | None = None

    def answer(self, name: str, arguments: Mapping[str, Json]) -> Answered:
        found = next((each for sent, each in self.answers if sent == dict(arguments)), self.otherwise)
        return found or Answered(raises=("ValueError", f"{name} has no answer for {dict(arguments)}"))


def read(file: Path) -> tuple[Snippet, ...]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadFileError(f"{file}: {error}") from None
    shared: Mapping[str, Canned] = {}
    if isinstance(found, dict) and "snippets" in found:
        shared, found = _tools(found.get("tools", {}), f"{file}: tools"), found["snippets"]
    if not isinstance(found, list):
        raise BadFileError(f"{file}: not a JSON array of snippets")
    return tuple(_snippet(record, f"{file}: record {at}", shared) for at, record in enumerate(found))


def _tools(record: object, where: str) -> Mapping[str, Canned]:
    if not isinstance(record, Mapping):
        raise BadFileError(f"{where} is not an object of tools by name")
    return {str(name): _canned(tool, f"{where}.{name}") for name, tool in record.items()}


def _canned(record: object, where: str) -> Canned:
    if not isinstance(record, Mapping) or not {"returns", "raises", "answers"} & record.keys():
        raise BadFileError(f"{where} has neither 'returns' nor 'raises' nor 'answers'")
    answers = record.get("answers", [])
    if not isinstance(answers, list) or not all(isinstance(each, Mapping) for each in answers):
        raise BadFileError(f"{where}.answers is not an array of objects")
    parameters = record.get("parameters", [])
    return Canned(
        tuple(map(str, parameters)) if isinstance(parameters, list) else (),
        tuple((dict(each.get("arguments", {})), _answered(each, where)) for each in answers),
        _answered(record, where) if {"returns", "raises"} & record.keys() else None,
    )


def _answered(record: Mapping[str, Json], where: str) -> Answered:
    match record:
        case {"raises": {"type": str(kind), "message": str(message)}}:
            return Answered(raises=(kind, message))
        case {"raises": _}:
            raise BadFileError(f"{where} raises something without a type and a message")
        case _:
            return Answered(record.get("returns"))


def _snippet(record: object, where: str, shared: Mapping[str, Canned]) -> Snippet:
    if not isinstance(record, Mapping):
        raise BadFileError(f"{where} is not an object")
    texts: dict[str, str] = {}
    for key in ("id", "code", "expected_stdout"):
        text = record.get(key)
        if not isinstance(text, str):
            raise BadFileError(f"{where} has no text under {key!r}")
        texts[key] = text
    tools = {**shared, **_tools(record.get("tools", {}), f"{where}.tools")}
    return Snippet(texts["id"], texts["code"], texts["expected_stdout"], str(record.get("features", "")), tools)
