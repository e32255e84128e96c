"""What may be shown of how a server is reached: all that an export would give away, and nothing that it would replace.

One rule for all who show it and for those who give it away, so that none tells what another hides.
"""

from collections.abc import Iterable, Mapping

from .manifest.placeholders import Placeholders, referred
from .masking import MASK


def shown_args(command: str, args: tuple[str, ...]) -> tuple[str, ...]:
    held = Placeholders(taken=referred(args))
    return tuple(_masked(held, held.args("", command, args)))


def shown_values(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables or headers."""
    held = Placeholders(taken=referred(values.values()))
    told = held.values("", "", values)
    return dict(zip(told, _masked(held, told.values()), strict=True))


def shown_text(text: str) -> str:
    """A command, an address or the name of an image."""
    held = Placeholders(taken=referred((text,)))
    return _masked(held, (held.text("", "", text),))[0]


def _masked(held: Placeholders, told: Iterable[str]) -> list[str]:
    return [_without(text, held) for text in told]


def _without(text: str, held: Placeholders) -> str:
    for name in held.names:
        text = text.replace(f"${{{name}}}", MASK)
    return text
