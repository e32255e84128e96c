"""Sentences that are written for a model, which passes them on, told to the person who types."""

import re
from typing import Final

_ASKED: Final = re.compile(r"(?:(?<=[.!?:] )|(?<=\n)|\A)Ask the user to (\w)|\bask the user to (\w)")


def to_you(text: str) -> str:
    """`Ask the user to enable it` is an order to a model; whoever types is that user."""
    return _ASKED.sub(lambda found: found[1].upper() if found[1] else found[2], text)
