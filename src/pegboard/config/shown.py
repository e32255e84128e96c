"""What may be shown of how a server is reached: all that an export would give away, and nothing that it would replace.

One rule for all who show it and for those who give it away, so that none tells what another hides.
"""

from collections.abc import Iterable, Mapping

from .manifest.placeholders import Placeholders, referenced_names
from .masking import MASK


def display_args(command: str, args: tuple[str, ...]) -> tuple[str, ...]:
    held = Placeholders(reserved_names=referenced_names(args))
    return tuple(_mask_all(held, held.replace_args("", command, args)))


def display_values(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables or headers."""
    held = Placeholders(reserved_names=referenced_names(values.values()))
    told = held.replace_values("", "", values)
    return dict(zip(told, _mask_all(held, told.values()), strict=True))


def display_text(text: str) -> str:
    """A command, an address or the name of an image."""
    held = Placeholders(reserved_names=referenced_names((text,)))
    return _mask_all(held, (held.replace_text("", "", text),))[0]


def _mask_all(held: Placeholders, told: Iterable[str]) -> list[str]:
    return [_mask_names(text, held) for text in told]


def _mask_names(text: str, held: Placeholders) -> str:
    for name in held.names:
        text = text.replace(f"${{{name}}}", MASK)
    return text
