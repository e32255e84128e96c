"""Sentences that are written for a model, which passes them on, told to the person who reads them instead."""

import re
from typing import Final

_ASK_THE_USER: Final = re.compile(r"(?:(?<=[.!?:] )|(?<=\n)|\A)Ask the user to (\w)|\bask the user to (\w)")
_OR_TICKET_TOOL: Final = re.compile(
    r'; or call pegboard_ticket with \{"ticket": "\w+"\}, which waits for the decision and answers with the result'
)
"""A way that only a model's client has."""


def address_user(text: str) -> str:
    """`Ask the user to enable it` is an order to a model; whoever reads this is that user."""
    text = _OR_TICKET_TOOL.sub("", text)
    return _ASK_THE_USER.sub(lambda found: found[1].upper() if found[1] else found[2], text)
