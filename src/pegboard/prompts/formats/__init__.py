"""The formats by name. A format is imported when it is first asked for: a conversation needs one of fifty."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from .format import Fed, Format, Message, Reading, parse

__all__ = ["FORMATS", "Fed", "Format", "Message", "Reading", "named", "parse"]

_MODULES: Final[Mapping[str, str]] = {
    "hermes": "hermes",
}
"""By the name of the format: the module that holds it, as `FORMAT`, or as a member of its `FORMATS`."""

_ALIASES: Final[Mapping[str, str]] = {}
"""Other names by which people and model servers know a format."""


class _Formats(Mapping[str, Format]):
    def __getitem__(self, name: str) -> Format:
        module = import_module(f".{_MODULES[name]}", __name__)
        found: Format = module.FORMATS[name] if hasattr(module, "FORMATS") else module.FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS: Final[Mapping[str, Format]] = _Formats()


def named(name: str) -> Format | None:
    """The format of that name or alias, in any case."""
    said = name.strip().casefold().replace("-", "_")
    said = _ALIASES.get(said, said)
    return FORMATS[said] if said in _MODULES else None
