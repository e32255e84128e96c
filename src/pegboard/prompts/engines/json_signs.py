"""By what a format that writes JSON tells its calls apart."""

import re
from dataclasses import dataclass
from functools import cached_property

from .json_value import ValueSyntax


@dataclass(frozen=True)
class JsonSyntax(ValueSyntax):
    header: str | None = None
    """What stands between an opener and the arguments: a pattern whose first group is the name. None: the object
    has it."""
    weak_openers: tuple[str, ...] = ()
    """Openers that count only before a call of a known tool, at the beginning of a line: a fence of Markdown."""
    allows_lists: bool = True
    """Whether an array of calls may stand where a call does."""
    name_is_key: bool = False
    """An object of one key is a call too: the key is the name, its value the arguments."""

    @property
    def strong_openers(self) -> tuple[str, ...]:
        return tuple(word for word in self.openers if word not in self.weak_openers)

    @cached_property
    def surplus_characters(self) -> str:
        """What models write once too often behind a call, where an end marker is to come."""
        firsts = {word[0] for word in self.openers}
        return "".join(character for character in "}>" if character not in firsts) if self.end_markers.words else ""

    @cached_property
    def header_pattern(self) -> "re.Pattern[str] | None":
        return re.compile(self.header + r"\s*\Z") if self.header else None
