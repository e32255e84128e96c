"""A tool in one line of Python, short enough to choose by: `await github.create(*, title: str) -> {"id": int}`."""

from typing import Final, assert_never

from pegboard.core.tool import ToolSpec

from .arguments import argument_names
from .names import Named
from .reading import Reader
from .types import Choice, DictOf, ListOf, Member, Plain, Shape, Type, Union
from .writing import result_type

LONGEST: Final = 480
"""Characters of all parameters together."""

_LONGEST_TYPE: Final = 200
_LONGEST_RESULT: Final = 320
_DEEPEST: Final = 4
_DEEPEST_SHAPE: Final = 2
_MOST_MEMBERS: Final = 16
_MOST_CHOICES: Final = 10
_LONGEST_KEY: Final = 64


def line(named: Named, spec: ToolSpec) -> str:
    members, others = Reader(spec.input_schema, deepest=_DEEPEST).parameters()
    called = argument_names(member.key for member in members)
    parts: list[str] = []
    room = LONGEST
    for member in members:
        part = f"{called[member.key]}: {_short(member.type, _LONGEST_TYPE)}{'' if member.needed else ' = ...'}"
        room -= len(part) + 2
        if room < 0 and parts:
            break
        parts.append(part)
    if (more := len(members) - len(parts)) > 0:
        parts.append(f"… {more} more")
    if others:
        parts.append("**others")
    star = "*, " if members else ""
    back = _short(result_type(spec, _DEEPEST), _LONGEST_RESULT)
    return f"await {named}({star}{', '.join(parts)}) -> {back}"


def _short(type: Type, longest: int) -> str:
    for depth in (_DEEPEST_SHAPE, 1, 0):
        text = _told(type, depth)
        if len(text) <= longest:
            return text
    return "dict" if isinstance(type, Shape) else "list" if isinstance(type, ListOf) else "Any"


def _told(type: Type, depth: int) -> str:
    match type:
        case Plain(word):
            return word
        case Choice(values):
            told = ", ".join(map(ascii, values[:_MOST_CHOICES]))
            return f"Literal[{told}{', …' if len(values) > _MOST_CHOICES else ''}]"
        case ListOf(inner):
            return f"list[{_told(inner, depth)}]"
        case DictOf(inner):
            return f"dict[str, {_told(inner, depth)}]"
        case Union(members):
            return " | ".join(dict.fromkeys(_told(each, depth) for each in members))
        case Shape(members=members):
            if depth <= 0:
                return "dict"
            told = ", ".join(_member(each, depth - 1) for each in members[:_MOST_MEMBERS])
            return f"{{{told}{', …' if len(members) > _MOST_MEMBERS else ''}}}"
        case _:
            assert_never(type)


def _member(member: Member, depth: int) -> str:
    key = member.key if len(member.key) <= _LONGEST_KEY else f"{member.key[:_LONGEST_KEY]}…"
    return f"{key!a}{'' if member.needed else '?'}: {_told(member.type, depth)}"
