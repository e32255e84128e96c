"""Programs with what CPython prints for each: a JSON array of objects with `id`, `code` and `expected_stdout`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class BadFileError(ValueError):
    """The file is not one of snippets; the message says where."""


@dataclass(frozen=True)
class Snippet:
    id: str
    code: str
    expected: str
    features: str


def read(file: Path) -> tuple[Snippet, ...]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadFileError(f"{file}: {error}") from None
    if not isinstance(found, list):
        raise BadFileError(f"{file}: not a JSON array of snippets")
    return tuple(_snippet(record, f"{file}: record {at}") for at, record in enumerate(found))


def _snippet(record: object, where: str) -> Snippet:
    if not isinstance(record, Mapping):
        raise BadFileError(f"{where} is not an object")
    texts: dict[str, str] = {}
    for key in ("id", "code", "expected_stdout"):
        text = record.get(key)
        if not isinstance(text, str):
            raise BadFileError(f"{where} has no text under {key!r}")
        texts[key] = text
    return Snippet(texts["id"], texts["code"], texts["expected_stdout"], str(record.get("features", "")))
