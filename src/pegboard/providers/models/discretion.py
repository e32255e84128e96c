"""What a model server says, without the secrets that it was sent: many quote the key that they refuse."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pegboard.children.erasing import SecretFilter, substituted_values
from pegboard.ports.models import Piece, StopPiece, TextPiece, ThinkingPiece, ToolCallPiece, UsagePiece

MIN_SECRET_CHARS_IN_ANSWERS: Final = 10
"""Keys that are none (`ollama`, `lm-studio`) are words that a model may well say. In what goes wrong they are erased
all the same."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ModelSecretFilters:
    errors: SecretFilter
    answers: SecretFilter

    @classmethod
    def for_server(cls, key: str, written_url: str, url: str) -> "ModelSecretFilters":
        secrets = {key, *_url_secrets(url)}
        long = (secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS_IN_ANSWERS)
        return cls(SecretFilter(secrets | {*substituted_values(written_url, url)}), SecretFilter(long))


class PieceFilter:
    """The pieces of one message as they may be passed on. Of a text that comes in pieces, an end that may be the
    beginning of a secret, or is half of a character, waits for what follows."""

    def __init__(self, erase: SecretFilter) -> None:
        self._erase = erase
        self._kind: tuple[type[Piece], int] | None = None
        self._make_piece: Callable[[str], Piece] = TextPiece
        self._buffer = ""

    def filter_pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            yield from self._filter_piece(piece)

    def flush(self) -> Iterator[Piece]:
        held, self._buffer, self._kind = self._buffer, "", None
        if held:
            yield self._make_piece(self._erase(_join_surrogates(held)))

    def _filter_piece(self, piece: Piece) -> Iterator[Piece]:
        index = piece.index if isinstance(piece, ToolCallPiece) else 0
        if self._kind != (type(piece), index):
            yield from self.flush()
            self._kind = (type(piece), index)
        match piece:
            case TextPiece(text):
                yield from self._filter_text(text, TextPiece)
            case ThinkingPiece(text):
                yield from self._filter_text(text, ThinkingPiece)
            case ToolCallPiece(_, id, name, text):
                if id or name:
                    yield ToolCallPiece(
                        index, self._erase(_join_surrogates(id)), self._erase(_join_surrogates(name)), ""
                    )
                yield from self._filter_text(text, lambda more: ToolCallPiece(index, "", "", more))
            case StopPiece(why):
                yield StopPiece(self._erase(_join_surrogates(why)))
            case UsagePiece():
                yield piece

    def _filter_text(self, text: str, made: Callable[[str], Piece]) -> Iterator[Piece]:
        self._make_piece = made
        text = self._buffer + text
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = self._erase(_join_surrogates(text.removesuffix(half)))
        at = len(text) if half else self._erase.partial_match_at(text)
        self._buffer = text[at:] + half
        if at:
            yield made(text[:at])


def _join_surrogates(text: str) -> str:
    """Halves of characters put together; a half that stays alone is told as U+FFFD."""
    return (
        text if _SURROGATE.search(text) is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _url_secrets(url: str) -> Iterator[str]:
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
