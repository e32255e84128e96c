"""Placeholders for secrets: a manifest is shared, so where one holds a secret, its written form asks for it by name."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from pegboard.config.clients.placeholders import variable_name
from pegboard.config.masking import Span, is_secret_key, secrets_in, secrets_in_args
from pegboard.config.pinned import clear_secrets
from pegboard.config.references import Literal, Variable, is_only_references, parts
from pegboard.core.argument import Argument, held
from pegboard.core.redact import holds_secret, is_secret

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_SCHEME: Final = re.compile(r"(?i)\A(?:Bearer|Basic|Token|ApiKey) +")
_RANDOM: Final = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[A-Za-z0-9+/_=.-]{24,}|[0-9a-fA-F]{32,}")
"""What nobody would write by hand: a key, whatever it is called."""


@dataclass
class Placeholders:
    """One writing of one manifest. A name stands for one secret, and for none of those that it was a name of before."""

    taken: set[str]
    names: set[str] = field(default_factory=set[str])
    """Of the secrets that placeholders stand for."""
    _named: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _numbers: dict[str, int] = field(default_factory=dict[str, int])

    def values(self, owner: str, said: Mapping[str, str]) -> dict[str, str]:
        """Environment variables or headers."""
        return {name: self._value(owner, name, value) for name, value in said.items()}

    def args(self, owner: str, args: tuple[str, ...]) -> list[str]:
        return [self._without(owner, arg, spans) for arg, spans in zip(args, secrets_in_args(args), strict=True)]

    def text(self, owner: str, text: str) -> str:
        return self._without(owner, text, secrets_in(text))

    def secret(self, owner: str, name: str, value: str) -> str:
        return value if is_only_references(value) else self._for(owner, name, value)

    def argument(self, owner: str, name: str, argument: Argument) -> Argument:
        if not clear_secrets(name, argument) or argument.pin is None:
            return argument
        return replace(argument, pin=held(self._for(owner, name, argument.pin.text)))

    def _value(self, owner: str, name: str, value: str) -> str:
        scheme = _SCHEME.match(value)
        rest = value[scheme.end() :] if scheme else value
        if is_only_references(rest):
            return value
        if scheme or is_secret_key(name) or is_secret(name) or _RANDOM.fullmatch(rest):
            return f"{scheme.group() if scheme else ''}{self._for(owner, name, rest)}"
        found = secrets_in(value)
        if not found and holds_secret(value):
            return self._for(owner, name, value)
        return self._without(owner, value, found, name)

    def _without(self, owner: str, text: str, spans: tuple[Span, ...], called: str = "") -> str:
        told, place = "", 0
        for span in spans:
            before = text[place : span.start]
            name = "_".join(filter(None, (called, span.name))) or "secret"
            if before.endswith("$"):
                # The sign and a reference after it would be read as the text of one.
                return self._for(owner, name, text)
            told += before + self._for(owner, name, text[span.start : span.end])
            place = span.end
        return told + text[place:]

    def _for(self, owner: str, name: str, value: str) -> str:
        split = parts(value)
        if isinstance(split, tuple) and split and not any(isinstance(part, Literal) for part in split):
            # A default alone gave it away: what it refers to is asked for already.
            return "".join(map(str, split))
        plain = name if _NAME.fullmatch(name) and name == name.upper() else variable_name(name)[:100]
        found = self._named.get((plain, value)) or self._fresh(owner, plain)
        self._named[plain, value] = found
        self.names.add(found)
        return f"${{{found}}}"

    def _fresh(self, owner: str, plain: str) -> str:
        for name in (plain, variable_name(owner, plain)[:110]):
            if name not in self.taken and name not in self.names:
                return name
        for number in count(self._numbers.get(plain, 2)):
            if (name := f"{plain}_{number}") not in self.taken and name not in self.names:
                self._numbers[plain] = number + 1
                return name
        raise AssertionError("there is no end of numbers")


def referred(texts: Iterable[str]) -> set[str]:
    """The names that references stand for already."""
    split = (found for text in texts if isinstance(found := parts(text), tuple))
    return {part.name for found in split for part in found if isinstance(part, Variable)}
