"""Where each setting comes from: a line of the file, the environment, or the default. Secrets are masked.

Values are shown as they may be: what could be a secret is masked, references stay what they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pegboard.config.keys import root
from pegboard.config.masked_servers import is_secret_key, mask_text, mask_value
from pegboard.config.paths import SettingsSource
from pegboard.config.references import MalformedText, VariableReference, is_only_references, parse_references
from pegboard.config.schema.document import ListNode, MapNode, Node, ScalarKind, ScalarNode, join_key, to_json
from pegboard.config.schema.fields import ListField, TextField
from pegboard.config.schema.section import ConfigKey, ConfigSection
from pegboard.core.json.values import Json

SettingOrigin: TypeAlias = Literal["default", "file", "environment"]
MAX_VALUE_LENGTH: Final = 2_000
MAX_SHOWN_VALUES: Final = 200
_START_ONLY_SECTIONS: Final = frozenset({"store", "audit", "gateway", "presentation", "search", "chat", "containers"})


@dataclass(frozen=True)
class Setting:
    """`value` is what holds, masked; of a map it is the names in it. `variables` are those that a value refers to, and
    whether each is set."""

    key: str
    description: str
    value: Json
    default: Json
    origin: SettingOrigin
    line: int | None = None
    variables: tuple[tuple[str, bool], ...] = ()
    at_start: bool = False
    """Whether it is read only when the gateway starts; everything else holds as soon as the file is saved."""
    is_masked: bool = False
    """Whether the value that is shown is not the one that is written."""


def list_settings(written: SettingsSource, environ: Mapping[str, str]) -> tuple[Setting, ...]:
    """Every key that there is, in the order of the documentation."""
    from pegboard.config.docspace import are_any_set

    told = [*_settings(root.PEGBOARD, written.root, "", environ)]
    if are_any_set(environ):
        told = [
            _from_environment(each) if each.key.startswith("docspace") and each.line is None else each for each in told
        ]
    return tuple(told)


def _settings(section: ConfigSection, table: Node | None, at: str, environ: Mapping[str, str]) -> Iterator[Setting]:
    entries = table.entries if isinstance(table, MapNode) else ()
    said = {section.aliases.get(entry.key, entry.key): entry for entry in entries}
    for key in section.keys:
        if key.name.startswith("$"):
            continue
        here, entry = join_key(at, key.name), said.get(key.name)
        if isinstance(key.field_type, ConfigSection) and (entry is None or isinstance(entry.value, MapNode)):
            yield from _settings(key.field_type, None if entry is None else entry.value, here, environ)
            continue
        late = here.partition(".")[0] in _START_ONLY_SECTIONS
        if entry is None:
            yield Setting(here, key.description, key.default, key.default, "default", at_start=late)
            continue
        variables = tuple((name, name in environ) for name in _variables(entry.value))
        owned = isinstance(entry.value, ScalarNode) and bool(variables) and is_only_references(entry.value.text)
        told = _display_value(key, entry.value)
        yield Setting(
            here,
            key.description,
            told,
            key.default,
            "environment" if owned else "file",
            entry.line,
            variables,
            late,
            told != to_json(entry.value),
        )


def _from_environment(setting: Setting) -> Setting:
    return Setting(setting.key, setting.description, setting.value, setting.default, "environment", at_start=True)


def _display_value(key: ConfigKey[object], node: Node) -> Json:
    match node:
        case MapNode(entries):
            return [entry.key for entry in entries[:MAX_SHOWN_VALUES]]
        case ListNode(nodes):
            item = key.field_type.item if isinstance(key.field_type, ListField) else None
            return [_mask_node(key.name, each, item) for each in nodes[:MAX_SHOWN_VALUES]]
        case _:
            return _mask_node(key.name, node, key.field_type)


def _mask_node(name: str, node: Node, shape: object) -> Json:
    if not isinstance(node, ScalarNode):
        return None
    if node.kind is not ScalarKind.TEXT:
        return to_json(node)
    if is_secret_key(name):
        return mask_value(node.text)
    if isinstance(shape, TextField) and shape.is_secret:
        from pegboard.config.manifest.secrets import display_text

        return display_text(node.text)[:MAX_VALUE_LENGTH]
    return mask_text(node.text)[:MAX_VALUE_LENGTH]


def _variables(node: Node) -> Iterator[str]:
    match node:
        case ScalarNode(_, text):
            split = parse_references(text)
            yield from (
                ()
                if isinstance(split, MalformedText)
                else (part.name for part in split if isinstance(part, VariableReference))
            )
        case ListNode(nodes):
            for each in nodes:
                yield from _variables(each)
        case MapNode():
            return
