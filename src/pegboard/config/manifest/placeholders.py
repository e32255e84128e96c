"""Placeholders for secrets: a manifest is shared, so where one holds a secret, its written form asks for it by name."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from pegboard.config.clients.placeholders import variable_name
from pegboard.config.masking import Span, with_whole_references
from pegboard.config.pinned import clear_secrets
from pegboard.config.references import Literal, Part, Variable, is_only_references, literal, parts
from pegboard.config.section import OWN_PREFIX
from pegboard.core.argument import Argument, held
from pegboard.core.tool import Json, JsonObject

from .harmless import is_harmless, is_harmless_beside, looks_secret, merged, speaks_of_secrets, suspects

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SCHEME: Final = re.compile(r"(?i)\A(?:Bearer|Basic|Token|ApiKey) +")
_SIGNS: Final = re.compile(r"(?s)([\s:;,&?/|]*)(.*?)([\s:;,&?/|]*)")
_PAIR: Final = re.compile(r"(?s)((?:--env=)?)([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_HEADER: Final = re.compile(r"(?s)((?:--header=)?)([A-Za-z0-9_-]+): *(.*)")
_SHORT: Final = {"-p": "password", "-P": "password", "-k": "key"}
_WHO: Final = frozenset({"-u", "--user", "--proxy-user", "-U"})
_RUNNERS: Final = re.compile(
    r"(?:.*[\\/])?(?:npx|npm|pnpm|bunx|bun|yarn|uvx|uv|pip|pipx|python[0-9.]*|node|deno|perl|ruby|(?:ba|z|da)?sh)(?:\.\w+)?"
)
"""Here `-p` is a package and `-e` a piece of a program, until the program that they run is named."""
_BEFORE_PROGRAMS: Final = frozenset(
    {"run", "exec", "dlx", "x", "tool", "-p", "-e", "-c", "--package", "--python", "--from", "--with", "--directory"}
)
_WITH_COLON: Final = re.compile(r"(?s)(-{1,2}[\w.-]+|/[\w.-]+(?=:[^/])):(?!//).*")
_LIKE_A_FILE: Final = re.compile(r"[./~@].*|.*[\w)]\.[A-Za-z]{1,5}|[0-9]{1,5}:[0-9]{1,5}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a manifest: of what, and which of its keys."""

    owner: str
    key: str

    def __str__(self) -> str:
        return f"{self.owner}: {self.key}"


@dataclass
class Placeholders:
    """One writing of one manifest. A name stands for one secret, and for none of those that it was a name of before."""

    taken: set[str]
    places: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    """By the names of the placeholders: where each stands."""
    values_of: dict[str, str] = field(default_factory=dict[str, str])
    """What each stands for, with its references. Never told to anybody."""
    dropped: list[Place] = field(default_factory=list[Place])
    """Where something was left out that looked like a secret and that no reference can stand for, such as a default."""
    _named: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def names(self) -> Iterable[str]:
        return self.places.keys()

    def values(self, owner: str, key: str, said: Mapping[str, str]) -> dict[str, str]:
        """Environment variables or headers."""
        return {name: self._value(Place(owner, f"{key}.{name}"), name, value) for name, value in said.items()}

    def args(self, owner: str, command: str, args: tuple[str, ...]) -> list[str]:
        told: list[str] = []
        runs_another = _RUNNERS.fullmatch(command) is not None
        for at, arg in enumerate(args):
            before = args[at - 1] if at else ""
            told.append(self._arg(Place(owner, f"args[{at}]"), arg, before, short=not runs_another))
            runs_another = runs_another and (arg.startswith("-") or not _BEFORE_PROGRAMS.isdisjoint((arg, before)))
        return told

    def text(self, owner: str, key: str, text: str) -> str:
        return self._settled(Place(owner, key), text, suspects)

    def secret(self, owner: str, name: str, value: str) -> str:
        return value if is_only_references(value) else self._for(Place(owner, name), name, value)

    def argument(self, owner: str, name: str, argument: Argument) -> Argument:
        pin = argument.pin
        if pin is None or not (clear_secrets(name, argument) or (isinstance(pin.value, str) and suspects(pin.value))):
            return argument
        return replace(argument, pin=held(self._for(Place(owner, f"arguments.{name}.pin"), name, pin.text)))

    def about(self, owner: str, said: JsonObject) -> JsonObject:
        """Nothing reads it, so nothing in it can ask for a secret: what looks like one goes with its key."""
        kept: JsonObject = {}
        for key, value in said.items():
            name = key if key.startswith(OWN_PREFIX) else ""
            if _tells_secrets(name, value):
                self.dropped.append(Place(owner, key))
            else:
                kept[key] = value
        return kept

    def _arg(self, place: Place, arg: str, before: str, *, short: bool) -> str:
        for pattern, options in ((_PAIR, ("-e", "--env")), (_HEADER, ("-H", "--header"))):
            pair = pattern.fullmatch(arg)
            if pair is not None and (pair[1] or (before in options and (short or before != "-e"))):
                return f"{arg[: pair.start(3)]}{self._value(place, pair[2], pair[3])}"

        def found(arg: str) -> tuple[Span, ...]:
            named = _named_secret(arg, before, short=short)
            return merged((*(() if named is None else (named,)), *suspects(arg)))

        return self._settled(place, arg, found)

    def _settled(self, place: Place, text: str, found: Callable[[str], tuple[Span, ...]]) -> str:
        """One that stood in the way of another may have hidden it. Written again, it is the same."""
        while (told := self._without(place, text, found(text))) != text:
            text = told
        return told

    def _value(self, place: Place, name: str, value: str) -> str:
        scheme = _SCHEME.match(value)
        start = scheme.group() if scheme else ""
        rest = value[len(start) :]
        split = parts(rest)
        if isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split):
            return start + self._beside(place, name, split, is_harmless_beside)
        is_kept = not rest or (is_harmless(name, value) if not scheme else False)
        return value if is_kept else f"{start}{self._for(place, name, rest)}"

    def _beside(self, place: Place, name: str, split: Iterable[Part], is_kept: Callable[[str], bool]) -> str:
        """References stay what they are; what is written out beside them goes, unless it may stay."""
        told: list[str] = []
        for part in _joined(split):
            if not isinstance(part, Literal):
                told.append(self._reference(place, name, part))
                continue
            signs = _SIGNS.fullmatch(part.text)
            assert signs is not None
            before, core, after = signs.groups()
            scheme = _SCHEME.match(f"{core} ") if not told or before else None
            if is_kept(part.text) or not core or (scheme is not None and scheme.end() == len(core) + 1):
                told.append(literal(part.text))
            else:
                told.append(f"{literal(before)}{self._for(place, name, literal(core))}{literal(after)}")
        return "".join(told)

    def _reference(self, place: Place, name: str, part: Part) -> str:
        assert not isinstance(part, Literal)
        default = getattr(part, "default", None)
        if not default:
            return part.written
        called = speaks_of_secrets(name) or (isinstance(part, Variable) and speaks_of_secrets(part.name))
        pair = re.fullmatch(r"[^\s:/]+:(?![0-9]+\Z)[^\s:/]+", default)
        if (called and not is_harmless(name, default)) or pair or looks_secret(default):
            self.dropped.append(place)
            return str(part)
        return part.written

    def _without(self, place: Place, text: str, spans: tuple[Span, ...]) -> str:
        told, at = "", 0
        for span in _apart(with_whole_references(spans, text)):
            before, inside = text[at : span.start], text[span.start : span.end]
            if is_only_references(inside):
                continue
            if before.endswith("$"):
                # The sign and a reference after it would be read as the text of one.
                return self._for(place, span.name, text)
            split = parts(inside)
            if isinstance(split, tuple) and any(not isinstance(part, Literal) for part in split):
                told += self._rest(place, before) + self._beside(place, span.name, split, lambda text: False)
            else:
                told += self._rest(place, before) + self._for(place, span.name, inside)
            at = span.end
        return told + self._rest(place, text[at:])

    def _rest(self, place: Place, text: str) -> str:
        """Where nothing else looks like a secret, a default still may."""
        split = parts(text)
        if not isinstance(split, tuple) or not any(getattr(part, "default", None) for part in split):
            return text
        return "".join(
            literal(part.text) if isinstance(part, Literal) else self._reference(place, "", part) for part in split
        )

    def _for(self, place: Place, name: str, value: str) -> str:
        name = name or "secret"
        plain = name if _NAME.fullmatch(name) and name == name.upper() else variable_name(name)[:100]
        found = self._named.get((plain, value)) or self._fresh(place.owner, plain)
        self._named[plain, value] = found
        self.places.setdefault(found, []).append(place)
        self.values_of[found] = value
        return f"${{{found}}}"

    def _fresh(self, owner: str, plain: str) -> str:
        for name in (plain, variable_name(owner, plain)[:110]):
            if name not in self.taken and name not in self.places:
                return name
        for number in count(self._numbers.get(plain, 2)):
            if (name := f"{plain}_{number}") not in self.taken and name not in self.places:
                self._numbers[plain] = number + 1
                return name
        raise AssertionError("there is no end of numbers")


def _tells_secrets(name: str, value: Json) -> bool:
    match value:
        case dict():
            return any(_tells_secrets(key, each) or looks_secret(key) for key, each in value.items())
        case list():
            return any(_tells_secrets(name, each) for each in value)
        case None | bool():
            return False
        case _:
            text = str(value)
            return looks_secret(text) or (speaks_of_secrets(name) and not is_harmless(name, text))


def _named_secret(arg: str, before: str, *, short: bool) -> Span | None:
    """The value of an option whose name speaks of secrets: X of `--token X`, `--token=X`, `-p X` and `-u me:X`."""
    if before in _WHO and ":" in arg and "://" not in arg:
        return Span(arg.index(":") + 1, len(arg), "password")
    if short and before in _SHORT and not arg.startswith("-"):
        kept = is_harmless("", arg) or _LIKE_A_FILE.fullmatch(arg)
        return None if kept else Span(0, len(arg), _SHORT[before])
    is_option = before.startswith("-") and not before.startswith("--no-") and _option(before) is None
    if is_option and not arg.startswith("-") and len(before) > 2 and _is_secret_of(before, arg):
        return Span(0, len(arg), before.strip("-"))
    option = _option(arg)
    if option is not None and "://" not in option and "${" not in option:
        start = len(option) + 1
        return Span(start, len(arg), option.strip("-/")) if _is_secret_of(option, arg[start:]) else None
    return None


def _option(arg: str) -> str | None:
    """The name of one that holds its value: `--token=X`, `TOKEN=X`, and `--token:X` or `/token:X` as some write it."""
    name, equals, _ = arg.partition("=")
    colon = _WITH_COLON.fullmatch(arg)
    if colon is not None and len(colon[1]) < len(name):
        return colon[1]
    return name if equals else None


def _is_secret_of(option: str, value: str) -> bool:
    return speaks_of_secrets(option) and not is_harmless(option.strip("-"), value)


def _apart(spans: Iterable[Span]) -> Iterator[Span]:
    """Two may have met in a reference."""
    end = 0
    for span in spans:
        if (start := max(span.start, end)) < span.end:
            yield Span(start, span.end, span.name)
            end = span.end


def _joined(split: Iterable[Part]) -> list[Part]:
    """A text is taken apart at each sign that stands for itself too."""
    joined: list[Part] = []
    for part in split:
        if isinstance(part, Literal) and joined and isinstance(last := joined[-1], Literal):
            joined[-1] = Literal(last.text + part.text)
        else:
            joined.append(part)
    return joined


def referred(texts: Iterable[str]) -> set[str]:
    """The names that references stand for already."""
    split = (found for text in texts if isinstance(found := parts(text), tuple))
    return {part.name for found in split for part in found if isinstance(part, Variable)}
