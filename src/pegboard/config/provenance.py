"""Where each setting comes from: the file with its line, the environment, or nobody's word and so the default.

Values are shown as they may be: what could be a secret is masked, references stay what they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pegboard.core.tool import Json

from . import keys
from .masking import is_secret_key, masked_text, masked_value
from .references import Malformed, Variable, is_only_references, parts
from .section import Key, Section
from .shape import ListOf, Text
from .tree import Items, Kind, Node, Scalar, Table, plain, under
from .written import Written

Origin: TypeAlias = Literal["default", "file", "environment"]
LONGEST: Final = 2_000
MOST: Final = 200
_AT_START: Final = frozenset({"store", "audit", "gateway", "presentation", "search", "chat", "containers"})


@dataclass(frozen=True)
class Setting:
    """`value` is what holds, masked; of a map it is the names in it. `variables` are those that a value refers to, and
    whether each is set."""

    key: str
    description: str
    value: Json
    default: Json
    origin: Origin
    line: int | None = None
    variables: tuple[tuple[str, bool], ...] = ()
    at_start: bool = False
    """Whether it is read only when the gateway starts; everything else holds as soon as the file is saved."""
    is_masked: bool = False
    """Whether the value that is shown is not the one that is written."""


def provenance(written: Written, environ: Mapping[str, str]) -> tuple[Setting, ...]:
    """Every key that there is, in the order of the documentation."""
    from .docspace_variables import are_set

    told = [*_settings(keys.PEGBOARD, written.root, "", environ)]
    if are_set(environ):
        told = [_by_variables(each) if each.key.startswith("docspace") and each.line is None else each for each in told]
    return tuple(told)


def _settings(section: Section, table: Node | None, at: str, environ: Mapping[str, str]) -> Iterator[Setting]:
    entries = table.entries if isinstance(table, Table) else ()
    said = {section.aliases.get(entry.key, entry.key): entry for entry in entries}
    for key in section.keys:
        if key.name.startswith("$"):
            continue
        here, entry = under(at, key.name), said.get(key.name)
        if isinstance(key.shape, Section) and (entry is None or isinstance(entry.value, Table)):
            yield from _settings(key.shape, None if entry is None else entry.value, here, environ)
            continue
        late = here.partition(".")[0] in _AT_START
        if entry is None:
            yield Setting(here, key.description, key.default, key.default, "default", at_start=late)
            continue
        variables = tuple((name, name in environ) for name in _variables(entry.value))
        owned = isinstance(entry.value, Scalar) and bool(variables) and is_only_references(entry.value.text)
        told = _shown(key, entry.value)
        yield Setting(
            here,
            key.description,
            told,
            key.default,
            "environment" if owned else "file",
            entry.line,
            variables,
            late,
            told != plain(entry.value),
        )


def _by_variables(setting: Setting) -> Setting:
    return Setting(setting.key, setting.description, setting.value, setting.default, "environment", at_start=True)


def _shown(key: Key[object], node: Node) -> Json:
    match node:
        case Table(entries):
            return [entry.key for entry in entries[:MOST]]
        case Items(nodes):
            item = key.shape.item if isinstance(key.shape, ListOf) else None
            return [_masked(key.name, each, item) for each in nodes[:MOST]]
        case _:
            return _masked(key.name, node, key.shape)


def _masked(name: str, node: Node, shape: object) -> Json:
    if not isinstance(node, Scalar):
        return None
    if node.kind is not Kind.TEXT:
        return plain(node)
    if is_secret_key(name):
        return masked_value(node.text)
    if isinstance(shape, Text) and shape.is_secret:
        from .shown import shown_text

        return shown_text(node.text)[:LONGEST]
    return masked_text(node.text)[:LONGEST]


def _variables(node: Node) -> Iterator[str]:
    match node:
        case Scalar(_, text):
            split = parts(text)
            yield from (
                () if isinstance(split, Malformed) else (part.name for part in split if isinstance(part, Variable))
            )
        case Items(nodes):
            for each in nodes:
                yield from _variables(each)
        case Table():
            return
