"""The eraser that keeps secrets out of every message."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

SECRET_PLACEHOLDER: Final = "•••"  # noqa: S105
_MIN_SECRET_LENGTH: Final = 4
"""Shorter values are no secrets, and erasing them would riddle every message with holes."""

_MIN_LINE_LENGTH: Final = 8
"""A key of many lines is printed line by line, but its shortest ones (`}`, `EOF`) are in every text."""
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|auth|credential|cookie|bearer", re.IGNORECASE)


class SecretFilter:
    """Takes secrets out of texts that people or models will read."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= _MIN_SECRET_LENGTH}
        known |= {
            part for secret in known for line in secret.splitlines() if len(part := line.strip()) >= _MIN_LINE_LENGTH
        }
        known |= {form for secret in known for form in _encoded_forms(secret)}
        # Longest first, or a secret that begins with another would leave its rest behind.
        ordered = sorted(known, key=lambda secret: (-len(secret), secret))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._secrets = tuple(ordered)

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(SECRET_PLACEHOLDER, text)

    def partial_match_at(self, text: str) -> int:
        """Where the beginning of a secret stands at the end of the text, or its length: what comes next may be the
        rest."""
        longest = len(self._secrets[0]) if self._secrets else 1
        firsts = {secret[0] for secret in self._secrets}
        for at in range(max(0, len(text) - longest + 1), len(text)):
            if text[at] in firsts and any(secret.startswith(text[at:]) for secret in self._secrets):
                return at
        return len(text)


def substituted_values(text: str, value: str) -> Iterable[str]:
    """The parts of the value that the references of the text stood for."""
    if text == value:
        return ()
    literals = _REFERENCE.split(text)
    between = re.fullmatch("(.*)".join(map(re.escape, literals)), value, re.DOTALL)
    return between.groups() if between is not None else (value,)


def is_secret_name(variable: str) -> bool:
    return _SECRET_NAME.search(variable) is not None


def _encoded_forms(secret: str) -> Iterator[str]:
    """As an address gives it, and as JSON does, with and without letters beyond ASCII."""
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
