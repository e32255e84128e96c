"""What a model server says, without the secrets that it was sent: many quote the key that they refuse."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pegboard.children.erasing import Eraser, inserted
from pegboard.ports.models import Piece, Said, Stopped, Thought, Used, Wanted

SHORTEST_IN_ANSWERS: Final = 10
"""Keys that are none (`ollama`, `lm-studio`) are words that a model may well say. In what goes wrong they are erased
all the same."""
_HALF: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Discretion:
    troubles: Eraser
    answers: Eraser

    @classmethod
    def about(cls, key: str, written_url: str, url: str) -> "Discretion":
        secrets = {key, *_of_url(url)}
        long = (secret for secret in secrets if len(secret) >= SHORTEST_IN_ANSWERS)
        return cls(Eraser(secrets | {*inserted(written_url, url)}), Eraser(long))


class Told:
    """The pieces of one message as they may be passed on. Of a text that comes in pieces, an end that may be the
    beginning of a secret, or is half of a character, waits for what follows."""

    def __init__(self, erase: Eraser) -> None:
        self._erase = erase
        self._kind: tuple[type[Piece], int] | None = None
        self._made: Callable[[str], Piece] = Said
        self._held = ""

    def on(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            yield from self._one(piece)

    def rest(self) -> Iterator[Piece]:
        held, self._held, self._kind = self._held, "", None
        if held:
            yield self._made(self._erase(_whole(held)))

    def _one(self, piece: Piece) -> Iterator[Piece]:
        index = piece.index if isinstance(piece, Wanted) else 0
        if self._kind != (type(piece), index):
            yield from self.rest()
            self._kind = (type(piece), index)
        match piece:
            case Said(text):
                yield from self._more(text, Said)
            case Thought(text):
                yield from self._more(text, Thought)
            case Wanted(_, id, name, text):
                if id or name:
                    yield Wanted(index, self._erase(_whole(id)), self._erase(_whole(name)), "")
                yield from self._more(text, lambda more: Wanted(index, "", "", more))
            case Stopped(why):
                yield Stopped(self._erase(_whole(why)))
            case Used():
                yield piece

    def _more(self, text: str, made: Callable[[str], Piece]) -> Iterator[Piece]:
        self._made = made
        text = self._held + text
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = self._erase(_whole(text.removesuffix(half)))
        at = len(text) if half else self._erase.begun(text)
        self._held = text[at:] + half
        if at:
            yield made(text[:at])


def _whole(text: str) -> str:
    """Halves of characters put together; a half that stays alone is told as U+FFFD."""
    return text if _HALF.search(text) is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _of_url(url: str) -> Iterator[str]:
    """What stands in an address and is nobody else's business."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    if password:
        yield password
        yield b64encode(f"{name}:{password}".encode()).decode()
    yield from (value for _, value in parse_qsl(parts.query))
