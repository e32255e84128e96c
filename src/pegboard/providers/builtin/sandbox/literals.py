"""What a program writes out, as JSON has it: its kind, and its value where that is plain to see."""

import ast
import json
from enum import Enum
from typing import Final, TypeAlias

from pegboard.core.tool import Json

_MAX_LITERAL_CHARS: Final = 60

PYTHON_TYPE_NAMES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}
"""Types of JSON Schema, in the words of a program."""


class UnknownLiteral(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = UnknownLiteral.UNKNOWN
LiteralValue: TypeAlias = str | int | float | bool | UnknownLiteral | None


def value_of(node: ast.expr) -> LiteralValue:
    """Of a text, a number, a truth value or nothing."""
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case _:
            return UNKNOWN


def kind_of(node: ast.expr) -> str | None:
    """As a type of JSON Schema; `None` where it is not certain."""
    match value_of(node):
        case UnknownLiteral():
            pass
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
    match node:
        case ast.JoinedStr():
            return "string"
        case ast.Dict() | ast.DictComp():
            return "object"
        case ast.List() | ast.ListComp() | ast.Tuple():
            return "array"
        case _:
            return None


def is_of_type(kind: str, value: LiteralValue, wanted: str) -> bool:
    if kind == wanted or (kind, wanted) == ("integer", "number"):
        return True
    return wanted == "integer" and isinstance(value, float) and value.is_integer()


def describe_literal(node: ast.expr) -> str:
    """In a few words, as the program has it."""
    match value_of(node):
        case UnknownLiteral():
            return (
                "a text" if isinstance(node, ast.JoinedStr) else f"a `{PYTHON_TYPE_NAMES[kind_of(node) or 'object']}`"
            )
        case str() as text:
            return format_json_value(text)
        case value:
            return f"`{value!r}`"[:_MAX_LITERAL_CHARS]


def format_json_value(value: Json) -> str:
    """A value as whoever reads it may write it, shortened."""
    said = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        said = {"null": "None", "true": "True", "false": "False"}.get(said, said)
    return said if len(said) <= _MAX_LITERAL_CHARS else said[:_MAX_LITERAL_CHARS] + "…"
