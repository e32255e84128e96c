"""What an override says of single parameters of a tool: pinned, hidden, given a default, or put in other words."""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .tool import Json

ASPECTS: Final = ("pin", "hide", "default", "description")


@dataclass(frozen=True, slots=True)
class FrozenJson:
    """A value of any kind, null included. Kept as text, because to Python 1 and true are equal and to a server they
    are not; and never shown by accident, because a pinned value may be a secret."""

    text: str = field(repr=False)

    @property
    def value(self) -> Json:
        value: Json = json.loads(self.text)
        return value


def freeze_json(value: Json) -> FrozenJson:
    return FrozenJson(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class ArgumentOverride:
    """One parameter. `None` is "does not say"; what is pinned is hidden too, and `hide` false shows it again."""

    pin: FrozenJson | None = None
    hide: bool | None = None
    default: FrozenJson | None = None
    description: str | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether callers have no say in it."""
        return self.pin is not None or self.hide is True

    @property
    def aspects_set(self) -> tuple[str, ...]:
        return tuple(aspect for aspect in ASPECTS if getattr(self, aspect) is not None)

    def merge(self, other: "ArgumentOverride", *, stays: bool) -> "ArgumentOverride":
        """With what a stronger override says on top. What `stays` fixed is no other's to loosen."""
        settled = stays and self.is_fixed
        own = settled or (other.pin is None and other.hide is None)
        return ArgumentOverride(
            pin=self.pin if own else other.pin,
            hide=self.hide if own else other.hide,
            default=other.default or self.default,
            description=self.description if other.description is None else other.description,
        )


def merge_arguments(
    known: Mapping[str, ArgumentOverride], said: Mapping[str, ArgumentOverride]
) -> Mapping[str, ArgumentOverride] | None:
    """The parameters that were said now in place of what was said of them before; `None` for none at all."""
    both = {name: argument for name, argument in {**known, **said}.items() if argument.aspects_set}
    return both or None


def normalize_name(name: str) -> str:
    """One text for all names that a careless server takes for the same: other letters' case, other normal forms, signs
    that nobody sees."""
    bare = name.strip()
    if bare.isascii():
        return bare.lower()
    plain = unicodedata.normalize("NFKC", bare)
    seen = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", seen.casefold()).strip()


def argument_names(rows: Iterable[Mapping[str, ArgumentOverride] | None]) -> frozenset[str]:
    return frozenset(name for row in rows if row is not None for name in row)
