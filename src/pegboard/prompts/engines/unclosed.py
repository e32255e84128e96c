"""Arguments whose closing tag a model forgot, so that the tags of the next ones stand in their text."""

from collections.abc import Collection, Iterator
from typing import Final

from .tag_signs import TagSyntax

MAX_TAGS: Final = 64
"""Tags in one text that are looked at: a text that speaks of tags has more, and means them."""


def split_arguments(key: str, raw: str, missing: Collection[str], signs: TagSyntax) -> Iterator[tuple[str, str]]:
    """The arguments that one text is. A tag in it begins one only if it names a parameter that the call lacks
    otherwise: every other tag is what the text speaks of."""
    left = set(missing) - {key}
    start = 0
    for number, found in enumerate(signs.find_keys(raw)):
        named = found["key"].strip()
        if number >= MAX_TAGS:
            break
        if named in left:
            left.discard(named)
            yield key, raw[start : found.start()]
            key, start = named, found.end()
    yield key, raw[start:]
