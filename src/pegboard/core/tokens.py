"""What a text or a tool costs a model, estimated without any model's tokenizer and the same on every machine.

Models split text differently, so no number is right for all of them. The text is cut where every current tokenizer cuts
it (words and the humps in them, numbers, signs, blanks, single ideographs), and each kind of piece costs what it costs
on average.

Held against two real tokenizers, one of 131,000 tokens and one of 32,000, over 5,100 published tool definitions: the
sum over all of them is 2 % too high for the one and 8 % too low for the other; a single tool is off by less than 13 %,
a bare description by less than 20 %, in nine cases of ten. Chinese and source code are off by less than 18 %, Russian
by up to a half. Other scripts and emoji can be off by more, either way.
"""

import re
from typing import Final

from .folded import LazyJson
from .tool import ToolSpec, canonical_json

_PIECE: Final = re.compile(
    r"([A-Z]?[a-z]+|[A-Z]+(?![a-z]))"
    r"|([0-9]+)"
    r"|( (?=\S))"
    r"|(\s+)"
    r"|([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])"
    r"|((?:(?![A-Za-z])[^\W\d_]|[\u0300-\u1fff])+)"
    r"|([!-/:-@\[-`{-~]+)"
    r"|(.)",
    re.DOTALL,
)
_SHORT_WORD_CHARS: Final = 8
"""Words up to this length are nearly always one token."""

_FRAME_TOKENS: Final = 12
"""What stands around a tool in a prompt: its keys and brackets, whatever the format."""


def estimate_tokens(text: str) -> int:
    """Nothing costs nothing; anything costs at least one. The time is linear in the length."""
    hundredths = 0
    for piece in _PIECE.finditer(text):
        length = piece.end() - piece.start()
        match piece.lastindex:
            case 1:
                hundredths += 105 + 13 * max(0, length - _SHORT_WORD_CHARS)
            case 2:
                hundredths += 70 * length
            case 3:
                # A single blank belongs to the word that follows it.
                continue
            case 4:
                hundredths += 100
            case 5:
                hundredths += 90
            case 6:
                hundredths += max(100, 38 * length)
            case 7:
                hundredths += 95 + 15 * (length - 1)
            case _:
                hundredths += 200
    return max((hundredths + 50) // 100, 1 if text else 0)


def estimate_tokens_roughly(text: bytes) -> int:
    """Nearly the same of UTF-8 text, and some forty times as fast: for every call that is recorded.

    Bytes of each kind are counted, no piece is looked at. Held against `tokens` over 2,000 pieces of published tool
    definitions, nine of ten are off by less than 13 %.
    """
    kinds = text.translate(_BYTE_KINDS)
    digits, blanks, signs, beyond = kinds.count(b"1"), kinds.count(b" "), kinds.count(b"."), kinds.count(b"z")
    letters = len(kinds) - digits - blanks - signs - beyond
    hundredths = 21 * letters + 95 * digits + 12 * blanks + 38 * signs + 37 * beyond
    return max((hundredths + 50) // 100, 1 if text else 0)


def _byte_kind(byte: int) -> str:
    char = chr(byte)
    if byte > 127:
        return "z"
    return "a" if char.isalpha() else "1" if char.isdigit() else " " if byte < 33 or byte == 127 else "."


_BYTE_KINDS: Final = "".join(map(_byte_kind, range(256))).encode()
"""For each byte its kind: a letter, a digit, a blank, a sign, or part of a character beyond ASCII."""


def tool_cost(spec: ToolSpec) -> int:
    """What a model is given of a tool so that it can call it: name, description and input schema, as compact JSON."""
    schema = canonical_json(spec.input_schema).decode("utf-8", "replace")
    return _FRAME_TOKENS + estimate_tokens(spec.name) + estimate_tokens(spec.description) + estimate_tokens(schema)


def rough_tool_cost(spec: ToolSpec) -> int:
    """Nearly the same, some forty times as fast: for all tools of a board at once."""
    schema = spec.input_schema
    text = schema.text if isinstance(schema, LazyJson) else canonical_json(schema)
    words = f"{spec.name}\n{spec.description}".encode("utf-8", "surrogatepass")
    return _FRAME_TOKENS + estimate_tokens_roughly(words) + estimate_tokens_roughly(text)
