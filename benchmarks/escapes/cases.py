"""Attacks as a file records them: an array of objects with `id`, `code` and `must_not`, the effects that none may have.

In JSON, or in YAML when its name ends so.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml


class BadFileError(ValueError):
    """The file is not one of attacks; the message says where."""


@dataclass(frozen=True)
class Case:
    id: str
    category: str
    must_not: tuple[str, ...]
    code: str
    note: str = ""


def read(file: Path) -> tuple[Case, ...]:
    try:
        text = file.read_text("utf-8")
        found = yaml.safe_load(text) if file.suffix in (".yaml", ".yml") else json.loads(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadFileError(f"{file}: {error}") from None
    if not isinstance(found, list):
        raise BadFileError(f"{file}: not an array of attacks")
    return tuple(case(record, f"{file}: record {at}") for at, record in enumerate(found))


def case(record: object, where: str) -> Case:
    if not isinstance(record, Mapping):
        raise BadFileError(f"{where} is not an object")
    id, code, effects = record.get("id"), record.get("code"), record.get("must_not", [])
    if not isinstance(id, str) or not isinstance(code, str):
        raise BadFileError(f"{where} has no text under 'id' or 'code'")
    if not isinstance(effects, list) or not all(isinstance(effect, str) for effect in effects):
        raise BadFileError(f"{where} has no list of texts under 'must_not'")
    return Case(id, str(record.get("category", "")), tuple(effects), code, str(record.get("note", "")))
