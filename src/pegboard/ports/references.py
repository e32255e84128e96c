"""What `${…}` stands for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class UnresolvedReference:
    """A `${…}` reference that stands for nothing: what it was, and what to do."""

    why: str


Expand: TypeAlias = Callable[[str], str | UnresolvedReference]
"""Replaces `${NAME}`, `${NAME:-default}` and `${file:path}` in a text, at the moment the value is needed."""

ExpandForCaller: TypeAlias = Callable[[Mapping[bytes, bytes]], Expand]
"""The same in the name of a caller with these headers, which are what `${request:Header}` stands for."""
