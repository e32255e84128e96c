"""A tool in one line of Python, short enough to choose by: `await github.create(*, title: str) -> {"id": int}`."""

from typing import Final, assert_never

from pegboard.core.tool import ToolSpec

from .arguments import argument_names
from .names import ProgramFunction
from .reading import SchemaTypeReader
from .types import (
    DictTypeHint,
    ListTypeHint,
    LiteralTypeHint,
    ObjectMember,
    ObjectTypeHint,
    PlainTypeHint,
    TypeHint,
    UnionTypeHint,
)
from .writing import result_type

MAX_PARAMETERS_LENGTH: Final = 480
"""Characters of all parameters together."""

_MAX_TYPE_LENGTH: Final = 200
_MAX_RESULT_LENGTH: Final = 320
_MAX_DEPTH: Final = 4
_MAX_OBJECT_DEPTH: Final = 2
_MAX_MEMBERS: Final = 16
_MAX_CHOICES: Final = 10
_MAX_KEY_LENGTH: Final = 64


def function_line(named: ProgramFunction, spec: ToolSpec) -> str:
    members, others = SchemaTypeReader(spec.input_schema, deepest=_MAX_DEPTH).parameters()
    called = argument_names(member.key for member in members)
    parts: list[str] = []
    room = MAX_PARAMETERS_LENGTH
    for member in members:
        part = (
            f"{called[member.key]}: "
            f"{_short_type(member.type, _MAX_TYPE_LENGTH)}{'' if member.is_required else ' = ...'}"
        )
        room -= len(part) + 2
        if room < 0 and parts:
            break
        parts.append(part)
    if (more := len(members) - len(parts)) > 0:
        parts.append(f"… {more} more")
    if others:
        parts.append("**others")
    star = "*, " if members else ""
    back = _short_type(result_type(spec, _MAX_DEPTH), _MAX_RESULT_LENGTH)
    return f"await {named}({star}{', '.join(parts)}) -> {back}"


def _short_type(type: TypeHint, longest: int) -> str:
    for depth in (_MAX_OBJECT_DEPTH, 1, 0):
        text = _type_text(type, depth)
        if len(text) <= longest:
            return text
    return "dict" if isinstance(type, ObjectTypeHint) else "list" if isinstance(type, ListTypeHint) else "Any"


def _type_text(type: TypeHint, depth: int) -> str:
    match type:
        case PlainTypeHint(word):
            return word
        case LiteralTypeHint(values):
            told = ", ".join(map(ascii, values[:_MAX_CHOICES]))
            return f"Literal[{told}{', …' if len(values) > _MAX_CHOICES else ''}]"
        case ListTypeHint(inner):
            return f"list[{_type_text(inner, depth)}]"
        case DictTypeHint(inner):
            return f"dict[str, {_type_text(inner, depth)}]"
        case UnionTypeHint(members):
            return " | ".join(dict.fromkeys(_type_text(each, depth) for each in members))
        case ObjectTypeHint(members=members):
            if depth <= 0:
                return "dict"
            told = ", ".join(_member_text(each, depth - 1) for each in members[:_MAX_MEMBERS])
            return f"{{{told}{', …' if len(members) > _MAX_MEMBERS else ''}}}"
        case _:
            assert_never(type)


def _member_text(member: ObjectMember, depth: int) -> str:
    key = member.key if len(member.key) <= _MAX_KEY_LENGTH else f"{member.key[:_MAX_KEY_LENGTH]}…"
    return f"{key!a}{'' if member.is_required else '?'}: {_type_text(member.type, depth)}"
