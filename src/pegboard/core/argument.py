"""What an override says of single parameters of a tool: pinned, hidden, given a default, or put in other words."""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .tool import Json

ASPECTS: Final = ("pin", "hide", "default", "description")


@dataclass(frozen=True, slots=True)
class Held:
    """A value of any kind, null included. Kept as text, because to Python 1 and true are equal and to a server they
    are not; and never shown by accident, because a pinned value may be a secret."""

    text: str = field(repr=False)

    @property
    def value(self) -> Json:
        value: Json = json.loads(self.text)
        return value


def held(value: Json) -> Held:
    return Held(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter. `None` is "does not say"; what is pinned is hidden too, and `hide` false shows it again."""

    pin: Held | None = None
    hide: bool | None = None
    default: Held | None = None
    description: str | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether callers have no say in it."""
        return self.pin is not None or self.hide is True

    @property
    def says(self) -> tuple[str, ...]:
        return tuple(aspect for aspect in ASPECTS if getattr(self, aspect) is not None)

    def under(self, other: "Argument", *, stays: bool) -> "Argument":
        """With what a stronger override says on top. What `stays` fixed is no other's to loosen."""
        settled = stays and self.is_fixed
        own = settled or (other.pin is None and other.hide is None)
        return Argument(
            pin=self.pin if own else other.pin,
            hide=self.hide if own else other.hide,
            default=other.default or self.default,
            description=self.description if other.description is None else other.description,
        )


def changed(known: Mapping[str, Argument], said: Mapping[str, Argument]) -> Mapping[str, Argument] | None:
    """The parameters that were said now in place of what was said of them before; `None` for none at all."""
    both = {name: argument for name, argument in {**known, **said}.items() if argument.says}
    return both or None


def alike(name: str) -> str:
    """One text for all names that a careless server takes for the same: other letters' case, other normal forms, signs
    that nobody sees."""
    bare = name.strip()
    if bare.isascii():
        return bare.lower()
    plain = unicodedata.normalize("NFKC", bare)
    seen = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", seen.casefold()).strip()


def names(rows: Iterable[Mapping[str, Argument] | None]) -> frozenset[str]:
    return frozenset(name for row in rows if row is not None for name in row)
