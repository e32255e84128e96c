"""Types as Python source: the stubs of one module."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Final, assert_never

from pegboard.core.model.text import truncate
from pegboard.core.model.tool import ToolSpec
from pegboard.prompts.stubs.names import HEADER_NAMES, ProgramFunction, is_plain_name
from pegboard.prompts.stubs.types import (
    ANY_TYPE,
    MAX_DEPTH,
    TEXT_TYPE,
    DictTypeHint,
    ListTypeHint,
    LiteralTypeHint,
    ObjectMember,
    ObjectTypeHint,
    PlainTypeHint,
    SchemaTypeReader,
    TypeHint,
    UnionTypeHint,
)
from pegboard.prompts.stubs.values import argument_names

# Descriptions as docstrings. They come from servers that nobody vouches for, and none ends the string it stands in.

MAX_DOCSTRING_LENGTH: Final = 1_600
MAX_LINE_LENGTH: Final = 300
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS: Final = re.compile(r"\s+")
_QUOTES: Final = re.compile(r'"{3,}|"+\Z')
"""That would end the string."""
_LINES: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def format_docstring(description: str, lines: Iterable[str], indent: str = "    ") -> str:
    """The whole statement, `""` where there is nothing to say."""
    text = _cut_text(_LINES.sub("\n\n", _clean_text(description).strip()), MAX_DOCSTRING_LENGTH)
    said = [*text.split("\n"), *filter(None, map(one_line, lines))]
    body = "\n".join(line.rstrip() and f"{indent}{line.rstrip()}" for line in said).strip()
    if not body:
        return ""
    quoted = _QUOTES.sub(lambda found: '\\"' * len(found.group()), body.replace("\\", "\\\\"))
    end = f"\n{indent}" if "\n" in quoted else ""
    return f'{indent}"""{quoted}{end}"""'


def one_line(text: str) -> str:
    return _cut_text(_BLANKS.sub(" ", _clean_text(text)).strip(), MAX_LINE_LENGTH)


def _clean_text(text: str) -> str:
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text[: 8 * MAX_DOCSTRING_LENGTH]))


def _cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


HEADER: Final = "from collections.abc import Sequence\nfrom typing import Any, Literal, NotRequired, TypedDict"
"""What the stubs of each module begin with."""

MAX_STUB_LENGTH: Final = 12_000
"""Characters of what is told of one function. Of one with more, less is told."""

_MAX_NAME_LENGTH: Final = 60
_WORDS: Final = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Stub:
    function: ProgramFunction
    text: str
    """The types that only this function needs, then the function."""


def module_stubs(tools: Iterable[tuple[ProgramFunction, ToolSpec | None]]) -> Iterator[Stub]:
    """Of functions of one module, in their order. Of a tool whose specification is withheld, the name alone."""
    each = [*tools]
    writer = _StubWriter({*HEADER_NAMES, *(named.function for named, _ in each)})
    for named, spec in each:
        yield Stub(
            named, unknown_function(named.function) if spec is None else writer.function_stub(named.function, spec)
        )


def unknown_function(name: str) -> str:
    return f"async def {name}(**arguments: Any) -> Any: ..."


class _StubWriter:
    """Writes the functions of one module, whose types have names that are nobody else's in it."""

    def __init__(self, taken: set[str]) -> None:
        self._taken_names = taken
        self._bodies: dict[str, str] = {}
        """Types by what stands in them: what two functions say alike is said once."""
        self._new_types: list[tuple[str, str | None]] = []
        """Names and bodies of the function that is being written."""

    def function_stub(self, name: str, spec: ToolSpec) -> str:
        for deepest in (MAX_DEPTH, 3, 2):
            self._new_types = []
            text = self._function_stub(name, spec, deepest)
            if len(text) <= MAX_STUB_LENGTH:
                return text
            for fresh, body in self._new_types:
                self._taken_names.discard(fresh)
                if body is not None:
                    del self._bodies[body]
        return "\n".join(
            (f"async def {name}(**others: Any) -> Any:", format_docstring(spec.description, ()) or "    ...")
        )

    def _function_stub(self, name: str, spec: ToolSpec, deepest: int) -> str:
        taking, giving = (
            TypeWriter(self, camel_case(name), lenient=True),
            TypeWriter(self, camel_case(name), lenient=False),
        )
        members, others = SchemaTypeReader(spec.input_schema, deepest=deepest).parameters()
        called = argument_names(member.key for member in members)
        parameters = [
            f"{called[each.key]}: {taking.type_text(each.type)}{'' if each.is_required else ' = ...'}"
            for each in members
        ]
        if others:
            parameters.append("**others: Any" if "others" not in called.values() else "**any_others: Any")
        given = giving.type_text(result_type(spec, deepest))
        head = f"async def {name}({'*, ' if members else ''}{', '.join(parameters)}) -> {given}:"
        said = format_docstring(
            spec.description,
            (f"{called[each.key]}: {each.description}" for each in members if each.description.strip()),
        )
        function = f"{head}\n{said}" if said else f"{head} ..."
        return "\n\n".join((*taking.classes, *giving.classes, function))

    def new_name(self, wanted: Sequence[str]) -> str:
        numbered = (f"{wanted[-1]}{number}" for number in count(2))
        name = next(each for each in chain(wanted, numbered) if each not in self._taken_names and is_plain_name(each))
        self._taken_names.add(name)
        self._new_types.append((name, None))
        return name

    def known_name(self, body: str) -> str | None:
        return self._bodies.get(body)

    def remember(self, body: str, name: str) -> None:
        if body not in self._bodies:
            self._bodies[body] = name
            self._new_types.append((name, body))


class TypeWriter:
    """Writes types, and collects the definitions of those that need one.

    `lenient` writes what a function takes. A program that builds its arguments piece by piece has dictionaries and
    texts of no special kind in its hands, and it is right: the gateway holds each call to the whole schema anyway.
    """

    def __init__(self, writer: _StubWriter, prefix: str, *, lenient: bool) -> None:
        self._writer = writer
        self._prefix = prefix
        self._is_lenient = lenient
        self._object_names: list[tuple[ObjectTypeHint, str]] = []
        self.classes: list[str] = []

    def type_text(self, type: TypeHint) -> str:
        return " | ".join(dict.fromkeys(self._parts(type)))

    def _parts(self, type: TypeHint) -> list[str]:
        """Of a union, each."""
        match type:
            case PlainTypeHint(word):
                return [word]
            case LiteralTypeHint(values):
                literal = f"Literal[{', '.join(map(ascii, values))}]"
                plain = self._is_lenient and any(isinstance(each, str) for each in values)
                return [literal, "str"] if plain else [literal]
            case ListTypeHint(inner):
                return [f"{self._list_word(inner)}[{self.type_text(inner)}]"]
            case DictTypeHint(inner):
                return [f"dict[str, {'Any' if self._is_lenient else self.type_text(inner)}]"]
            case UnionTypeHint(members):
                return [part for member in members for part in self._parts(member)]
            case ObjectTypeHint():
                name = self._object_name(type)
                return [name, "dict[str, Any]"] if self._is_lenient else [name]
            case _:
                assert_never(type)

    def _list_word(self, inner: TypeHint) -> str:
        """A list of one kind is not one of several to a type check, and only a sequence may be."""
        exact = not self._is_lenient or inner in (ANY_TYPE, TEXT_TYPE, PlainTypeHint("int"), PlainTypeHint("bool"))
        return "list" if exact else "Sequence"

    def _object_name(self, shape: ObjectTypeHint) -> str:
        known = next((name for each, name in self._object_names if each is shape), None)
        if known is not None:
            return known
        own = camel_case(shape.hint)
        wanted = (own, f"{self._prefix}{own}") if shape.is_named and own else (f"{self._prefix}{own}",)
        name = self._writer.new_name([each[:_MAX_NAME_LENGTH] or "Value" for each in wanted])
        self._object_names.append((shape, name))
        place = len(self.classes)
        fields = [(member.key, self._field_text(member)) for member in shape.members]
        body = "\n".join(f"{key!a}: {written}" for key, written in fields)
        same = self._writer.known_name(body)
        if same is not None and name not in body:
            self._object_names.append((shape, same))
            self._object_names.remove((shape, name))
            return same
        self._writer.remember(body, name)
        self.classes.insert(place, _typed_dict(name, fields))
        return name

    def _field_text(self, member: ObjectMember) -> str:
        written = self.type_text(member.type)
        return written if member.is_required else f"NotRequired[{written}]"


def result_type(spec: ToolSpec, deepest: int = MAX_DEPTH) -> TypeHint:
    """What a program is given: what the tool says that it gives back, and a text where it does not say."""
    if spec.output_schema is None:
        return TEXT_TYPE
    return SchemaTypeReader(spec.output_schema, giving=True, deepest=deepest).whole_type("Result")


def camel_case(text: str) -> str:
    words = _WORDS.findall(text[:200])
    name = "".join(f"{word[0].upper()}{word[1:]}" for word in words)[:_MAX_NAME_LENGTH]
    return f"T{name}" if name[:1].isdigit() else name


def _typed_dict(name: str, fields: Sequence[tuple[str, str]]) -> str:
    if fields and all(is_plain_name(key) for key, _ in fields):
        return "\n".join((f"class {name}(TypedDict):", *(f"    {key}: {written}" for key, written in fields)))
    # A key that Python cannot write as a name: the other form, in which a type may stand that comes later.
    inner = ", ".join(f"{key!a}: {_quote_type(written)}" for key, written in fields)
    return f"{name} = TypedDict({name!r}, {{{inner}}})"


def _quote_type(written: str) -> str:
    inner = written.removeprefix("NotRequired[").removesuffix("]") if written.startswith("NotRequired[") else None
    return ascii(written) if inner is None else f"NotRequired[{inner!a}]"


# A tool in one line of Python, short enough to choose by: `await github.create(*, title: str) -> {"id": int}`.

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
    key = truncate(member.key, _MAX_KEY_LENGTH)
    return f"{key!a}{'' if member.is_required else '?'}: {_type_text(member.type, depth)}"
