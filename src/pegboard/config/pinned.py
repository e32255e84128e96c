"""Pinned values that look like secrets: what is pinned at run time is kept in the store as it was written."""

from collections.abc import Iterator
from typing import Final

from pegboard.core.argument import ArgumentOverride
from pegboard.core.redact import holds_secret, is_harmless_member, is_secret
from pegboard.core.tool import Json

from .references import Literal, parse_references

PIN_ADVICE: Final = (
    "looks like a secret, and what is pinned is kept in the store as it is written. Pin a reference instead, which is "
    "read at each call: ${NAME} for a variable of the gateway's environment, or ${file:path}"
)


def plaintext_secrets(name: str, argument: ArgumentOverride) -> tuple[str, ...]:
    """Where in what is pinned for this parameter something looks like a secret and is no reference."""
    if argument.pin is None:
        return ()
    return tuple(dict.fromkeys(_find_secrets(f"arguments.{name}.pin", name, argument.pin.value)))


def _find_secrets(path: str, name: str, value: Json) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _find_secrets(path, name, item)
        case dict():
            for inner, item in value.items():
                yield from _find_secrets(f"{path}.{inner}", inner, item)
        case str():
            written, refers = _plaintext(value)
            if holds_secret(written) or (is_secret(name) and written.strip() and not refers):
                yield path
        case _:
            if is_secret(name) and not is_harmless_member(name, value):
                yield path


def _plaintext(text: str) -> tuple[str, bool]:
    """What of a text is written out, defaults included; and whether anything of it is not."""
    split = parse_references(text)
    if not isinstance(split, tuple):
        return text, False
    said = [part.text if isinstance(part, Literal) else getattr(part, "default", None) or "" for part in split]
    return "".join(said), any(not isinstance(part, Literal) and not getattr(part, "default", None) for part in split)
