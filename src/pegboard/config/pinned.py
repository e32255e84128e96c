"""Pinned values that look like secrets: what is pinned at run time is kept in the store as it was written."""

from collections.abc import Iterator
from typing import Final

from pegboard.core.argument import Argument
from pegboard.core.redact import holds_secret, is_plain, is_secret
from pegboard.core.tool import Json

from .references import Literal, parts

ADVICE: Final = (
    "looks like a secret, and what is pinned is kept in the store as it is written. Pin a reference instead, which is "
    "read at each call: ${NAME} for a variable of the gateway's environment, or ${file:path}"
)


def clear_secrets(name: str, argument: Argument) -> tuple[str, ...]:
    """Where in what is pinned for this parameter something looks like a secret and is no reference."""
    if argument.pin is None:
        return ()
    return tuple(dict.fromkeys(_found(f"arguments.{name}.pin", name, argument.pin.value)))


def _found(path: str, name: str, value: Json) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _found(path, name, item)
        case dict():
            for inner, item in value.items():
                yield from _found(f"{path}.{inner}", inner, item)
        case str():
            written, refers = _written(value)
            if holds_secret(written) or (is_secret(name) and written.strip() and not refers):
                yield path
        case _:
            if is_secret(name) and not is_plain(name, value):
                yield path


def _written(text: str) -> tuple[str, bool]:
    """What of a text is written out, defaults included; and whether anything of it is not."""
    split = parts(text)
    if not isinstance(split, tuple):
        return text, False
    said = [part.text if isinstance(part, Literal) else getattr(part, "default", None) or "" for part in split]
    return "".join(said), any(not isinstance(part, Literal) and not getattr(part, "default", None) for part in split)
