"""How a format writes its tags, as a value."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pegboard.prompts.marks import MarkerSet, marker_set

from .json_value import ValueSyntax


@dataclass(frozen=True)
class TagSyntax(ValueSyntax):
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
    key_close: str = ""
    """What ends the name of an argument, where its value has a tag of its own: `value_start`."""
    value_start: str = ""
    between: tuple[str, ...] = ()
    """Tags that may stand around all arguments of a call and mean nothing."""
    value_close: str = ""
    """`{key}` stands for the name of the argument."""
    trim: bool = False
    """One line break at each end of a value belongs to the tags."""
    strip: bool = False
    """All white space around a value belongs to the tags; a text that has some of its own stands in CDATA."""
    entities: bool = False
    """A value that is sound XML text has its entities resolved."""
    cdata: bool = False
    """A value may stand in <![CDATA[…]]>."""
    guesses_json: bool = True
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
    def argument_markers(self) -> MarkerSet:
        """What may stand between arguments, and behind a value."""
        return marker_set(
            (self.key_start, self.call_close, self.block_close, self.call_start, *self.openers, *self.between)
        )

    @cached_property
    def after_key(self) -> MarkerSet:
        """What may stand behind the name of an argument, where its value has a tag of its own."""
        return marker_set((self.value_start, self.key_close, *self.argument_markers.words))

    @cached_property
    def match_name(self) -> Callable[[str], re.Match[str] | None]:
        """The name of an argument with its own tags, of which the first may stand there twice."""
        start, close = re.escape(self.key_start), re.escape(self.key_close)
        return re.compile(rf"{start}(?P<twice>(?:\s*{start})*)(?P<key>[^<]*){close}").fullmatch

    @cached_property
    def after_call(self) -> frozenset[str]:
        """What may follow the end of a call."""
        return frozenset({self.block_close, self.call_start, *self.openers} - {""})

    def value_ends(self, key: str) -> MarkerSet:
        return marker_set(
            (self.value_close.format(key=key) if "{" in self.value_close else self.value_close, self.call_close)
        )
