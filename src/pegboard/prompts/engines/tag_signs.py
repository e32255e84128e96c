"""How a format writes its tags, as a value."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pegboard.prompts.marks import Marks, marks

from .json_value import ValueSigns


@dataclass(frozen=True)
class Tags(ValueSigns):
    """The openers are those of a block, and `call_start` where a block may be left out."""

    call_start: str = ""
    """What the tag of a call begins with. Empty: the name alone follows the opener."""
    call: str = ""
    """A pattern for the whole tag of a call, with the group `name`."""
    call_close: str = ""
    block_close: str = ""
    key_start: str = ""
    key: str = ""
    """A pattern for the whole tag of an argument, with the group `key`. `kind` may tell its type."""
    tag_end: str = ">"
    key_end: str = ""
    """What the tag of an argument ends in, where that is not `tag_end`."""
    value_close: str = ""
    """`{key}` stands for the name of the argument."""
    trim: bool = False
    """One line break at each end of a value belongs to the tags."""
    cdata: bool = False
    """A value may stand in <![CDATA[…]]>."""
    guess: bool = True
    """What no schema speaks of is read as JSON where it is JSON."""

    @cached_property
    def match_call(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.call).fullmatch

    @cached_property
    def match_key(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self.key).fullmatch

    @cached_property
    def find_keys(self) -> Callable[[str], Iterator[re.Match[str]]]:
        return re.compile(self.key).finditer

    @cached_property
    def body(self) -> Marks:
        """What may stand between arguments, and behind a value."""
        return marks((self.key_start, self.call_close, self.block_close, self.call_start, *self.openers))

    @cached_property
    def behind(self) -> frozenset[str]:
        """What may follow the end of a call."""
        return frozenset({self.block_close, self.call_start, *self.openers} - {""})

    def value_ends(self, key: str) -> Marks:
        return marks(
            (self.value_close.format(key=key) if "{" in self.value_close else self.value_close, self.call_close)
        )
