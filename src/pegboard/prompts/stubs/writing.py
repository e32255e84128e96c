"""Types written down as Python: the stubs of one module, for a type check, for an editor and for a model to read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Final, assert_never

from pegboard.core.tool import ToolSpec

from .arguments import argument_names
from .docstrings import docstring
from .names import HEADER_NAMES, Named, is_plain
from .reading import DEEPEST, Reader
from .types import ANYTHING, TEXT, Choice, DictOf, ListOf, Member, Plain, Shape, Type, Union

HEADER: Final = "from collections.abc import Sequence\nfrom typing import Any, Literal, NotRequired, TypedDict"
"""What the stubs of each module begin with."""

LONGEST: Final = 12_000
"""Characters of what is told of one function. Of one with more, less is told."""

_LONGEST_NAME: Final = 60
_WORDS: Final = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Stub:
    named: Named
    text: str
    """The types that only this function needs, then the function."""


def stubs_of(tools: Iterable[tuple[Named, ToolSpec | None]]) -> Iterator[Stub]:
    """Of functions of one module, in their order. Of a tool whose specification is withheld, the name alone."""
    each = [*tools]
    writer = _Writer({*HEADER_NAMES, *(named.function for named, _ in each)})
    for named, spec in each:
        yield Stub(named, unknown_function(named.function) if spec is None else writer.function(named.function, spec))


def unknown_function(name: str) -> str:
    return f"async def {name}(**arguments: Any) -> Any: ..."


class _Writer:
    """Writes the functions of one module, whose types have names that are nobody else's in it."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._bodies: dict[str, str] = {}
        """Types by what stands in them: what two functions say alike is said once."""
        self._fresh: list[tuple[str, str | None]] = []
        """Names and bodies of the function that is being written."""

    def function(self, name: str, spec: ToolSpec) -> str:
        for deepest in (DEEPEST, 3, 2):
            self._fresh = []
            text = self._function(name, spec, deepest)
            if len(text) <= LONGEST:
                return text
            for fresh, body in self._fresh:
                self._taken.discard(fresh)
                if body is not None:
                    del self._bodies[body]
        return "\n".join((f"async def {name}(**others: Any) -> Any:", docstring(spec.description, ()) or "    ..."))

    def _function(self, name: str, spec: ToolSpec, deepest: int) -> str:
        taking, giving = Pen(self, camel(name), lenient=True), Pen(self, camel(name), lenient=False)
        members, others = Reader(spec.input_schema, deepest=deepest).parameters()
        called = argument_names(member.key for member in members)
        parameters = [
            f"{called[each.key]}: {taking.type(each.type)}{'' if each.needed else ' = ...'}" for each in members
        ]
        if others:
            parameters.append("**others: Any" if "others" not in called.values() else "**any_others: Any")
        given = giving.type(result_type(spec, deepest))
        head = f"async def {name}({'*, ' if members else ''}{', '.join(parameters)}) -> {given}:"
        said = docstring(
            spec.description, (f"{called[each.key]}: {each.described}" for each in members if each.described.strip())
        )
        function = f"{head}\n{said}" if said else f"{head} ..."
        return "\n\n".join((*taking.classes, *giving.classes, function))

    def name_for(self, wanted: Sequence[str]) -> str:
        numbered = (f"{wanted[-1]}{number}" for number in count(2))
        name = next(each for each in chain(wanted, numbered) if each not in self._taken and is_plain(each))
        self._taken.add(name)
        self._fresh.append((name, None))
        return name

    def known(self, body: str) -> str | None:
        return self._bodies.get(body)

    def keep(self, body: str, name: str) -> None:
        if body not in self._bodies:
            self._bodies[body] = name
            self._fresh.append((name, body))


class Pen:
    """Writes types, and collects the definitions of those that need one.

    `lenient` writes what a function takes. A program that builds its arguments piece by piece has dictionaries and
    texts of no special kind in its hands, and it is right: the gateway holds each call to the whole schema anyway.
    """

    def __init__(self, writer: _Writer, prefix: str, *, lenient: bool) -> None:
        self._writer = writer
        self._prefix = prefix
        self._lenient = lenient
        self._named: list[tuple[Shape, str]] = []
        self.classes: list[str] = []

    def type(self, type: Type) -> str:
        return " | ".join(dict.fromkeys(self._parts(type)))

    def _parts(self, type: Type) -> list[str]:
        """Of a union, each."""
        match type:
            case Plain(word):
                return [word]
            case Choice(values):
                literal = f"Literal[{', '.join(map(ascii, values))}]"
                plain = self._lenient and any(isinstance(each, str) for each in values)
                return [literal, "str"] if plain else [literal]
            case ListOf(inner):
                return [f"{self._list(inner)}[{self.type(inner)}]"]
            case DictOf(inner):
                return [f"dict[str, {'Any' if self._lenient else self.type(inner)}]"]
            case Union(members):
                return [part for member in members for part in self._parts(member)]
            case Shape():
                name = self._shape(type)
                return [name, "dict[str, Any]"] if self._lenient else [name]
            case _:
                assert_never(type)

    def _list(self, inner: Type) -> str:
        """A list of one kind is not one of several to a type check, and only a sequence may be."""
        exact = not self._lenient or inner in (ANYTHING, TEXT, Plain("int"), Plain("bool"))
        return "list" if exact else "Sequence"

    def _shape(self, shape: Shape) -> str:
        known = next((name for each, name in self._named if each is shape), None)
        if known is not None:
            return known
        own = camel(shape.hint)
        wanted = (own, f"{self._prefix}{own}") if shape.shared and own else (f"{self._prefix}{own}",)
        name = self._writer.name_for([each[:_LONGEST_NAME] or "Value" for each in wanted])
        self._named.append((shape, name))
        place = len(self.classes)
        fields = [(member.key, self._field(member)) for member in shape.members]
        body = "\n".join(f"{key!a}: {written}" for key, written in fields)
        same = self._writer.known(body)
        if same is not None and name not in body:
            self._named.append((shape, same))
            self._named.remove((shape, name))
            return same
        self._writer.keep(body, name)
        self.classes.insert(place, _typed_dict(name, fields))
        return name

    def _field(self, member: Member) -> str:
        written = self.type(member.type)
        return written if member.needed else f"NotRequired[{written}]"


def result_type(spec: ToolSpec, deepest: int = DEEPEST) -> Type:
    """What a program is given: what the tool says that it gives back, and a text where it does not say."""
    if spec.output_schema is None:
        return TEXT
    return Reader(spec.output_schema, giving=True, deepest=deepest).whole("Result")


def camel(text: str) -> str:
    words = _WORDS.findall(text[:200])
    name = "".join(f"{word[0].upper()}{word[1:]}" for word in words)[:_LONGEST_NAME]
    return f"T{name}" if name[:1].isdigit() else name


def _typed_dict(name: str, fields: Sequence[tuple[str, str]]) -> str:
    if fields and all(is_plain(key) for key, _ in fields):
        return "\n".join((f"class {name}(TypedDict):", *(f"    {key}: {written}" for key, written in fields)))
    # A key that Python cannot write as a name: the other form, in which a type may stand that comes later.
    inner = ", ".join(f"{key!a}: {_quoted(written)}" for key, written in fields)
    return f"{name} = TypedDict({name!r}, {{{inner}}})"


def _quoted(written: str) -> str:
    inner = written.removeprefix("NotRequired[").removesuffix("]") if written.startswith("NotRequired[") else None
    return ascii(written) if inner is None else f"NotRequired[{inner!a}]"
