"""How many values a JSON text holds, told without making a single one of them.

A few bytes of text can become many of memory: two brackets are an object of sixty. Whoever reads a text of a stranger
counts first.
"""

from typing import Final

MAX_VALUES: Final = 200_000
UNCOUNTED_BYTES: Final = 65_536
"""Bytes of text that need no counting."""


def has_too_many_values(text: bytes) -> bool:
    """In pieces, so that whoever counts in a thread keeps nobody else waiting."""
    if len(text) <= UNCOUNTED_BYTES:
        return False
    values = start = 0
    is_text = False
    while start < len(text):
        piece = text[start : start + UNCOUNTED_BYTES]
        if start + UNCOUNTED_BYTES < len(text) and (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = piece[:-1]  # what is escaped comes with the next piece, and so does what escapes it
        start += len(piece)
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        bare = b"".join(parts[is_text::2])
        is_text ^= len(parts) % 2 == 0
        values += bare.count(b",") + bare.count(b"[") + bare.count(b"{")
        if values > MAX_VALUES:
            return True
    return False
