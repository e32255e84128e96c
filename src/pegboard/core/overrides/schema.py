"""A tool's schema as callers see it, and the complete arguments for its server. A pinned argument that the schema
cannot express is reported as inapplicable.

What a schema cannot express without a parameter is told, never passed over: a pin that does not hold is no pin.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

from pegboard.core.json.schema_refs import (
    forbids_argument,
    has_anchors,
    is_entangled,
    mentions_parameter,
    pointer_step,
    prune_definitions,
    refs_in,
    refs_outside,
    takes_by_pattern,
    without_parameters,
)
from pegboard.core.json.values import MAX_SCHEMA_DEPTH, Json, JsonObject
from pegboard.core.model.server import DeclaredAt
from pegboard.core.model.tool import Fingerprint, Tool, canonical_json
from pegboard.core.overrides.model import ArgumentOverride, FrozenJson, normalize_name

# Pinned values that a server repeats in what it says: found in the forms in which they travel, and taken out.
#
# What is looked for is the text itself, as JSON writes it, and as an address writes it. A value that the server
# changed
# in any other way, cut, or wrote as a number is not found.

MIN_TEXT_CHARS: Final = 8
"""Characters. A shorter text is in many answers by chance."""

MASK: Final = "***"
_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def maskable_texts(values: Iterable[Json]) -> tuple[str, ...]:
    """The texts in these values that are long enough to be looked for, the longest first."""
    return tuple(sorted({text for text in _echo_texts(values) if len(text) >= MIN_TEXT_CHARS}, key=len, reverse=True))


def _echo_texts(values: Iterable[Json]) -> Iterator[str]:
    waiting = [*values]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
                yield text.strip()
            case list() as inner:
                waiting += inner
            case dict() as members:
                waiting += members.values()
            case _:
                pass


@dataclass(frozen=True)
class PinnedValueMask:
    texts: tuple[str, ...] = field(repr=False)

    def mask_text(self, said: str) -> str:
        return self._text_pattern.sub(MASK, said)

    def mask_json(self, body: bytes) -> bytes:
        """The same document, byte for byte, but for the strings that hold any of it."""
        if b"\\" not in body and self._json_pattern.search(body) is None:
            return body
        return _STRINGS.sub(lambda found: self._mask_string(found[0]), body)

    def mask_members(self, members: Mapping[str, Json]) -> Mapping[str, Json]:
        text = json.dumps(dict(members)).encode()
        clean = self.mask_json(text)
        if clean == text:
            return members
        read: dict[str, Json] = json.loads(clean)
        return read

    def _mask_string(self, written: bytes) -> bytes:
        if b"\\" not in written:
            return self._json_pattern.sub(MASK.encode(), written)
        try:
            said: str = json.loads(written)
        except ValueError:  # no JSON: nobody reads it as anything but these bytes
            return self._json_pattern.sub(MASK.encode(), written)
        clean = self.mask_text(said)
        return written if clean == said else json.dumps(clean).encode()

    @cached_property
    def _all_encodings(self) -> tuple[str, ...]:
        forms = {form for text in self.texts for form in _encodings(text)}
        return tuple(sorted(forms, key=len, reverse=True))

    @cached_property
    def _text_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._all_encodings)))

    @cached_property
    def _json_pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(re.escape(form.encode("utf-8", "surrogatepass")) for form in self._all_encodings))


def _encodings(text: str) -> Iterator[str]:
    yield text
    # JSON within a text, which is how most servers answer with more than words.
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    yield text.replace("/", "\\/")
    plain = text.encode("utf-8", "replace")
    for address in (quote(plain, ""), quote(plain), quote_plus(plain)):
        yield address
        yield re.sub("%[0-9A-F]{2}", lambda sign: sign[0].lower(), address)


# Examples, defaults and choices in a schema, without the arguments that callers know nothing of, and their values.

_EXAMPLE_KEYWORDS: Final = ("examples", "example", "default")
_MAP_KEYWORDS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LIST_KEYWORDS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SINGLE_KEYWORDS: Final = (
    *("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"),
    *("not", "if", "then", "else", "propertyNames"),
)


@dataclass(frozen=True)
class HiddenArgumentPruner:
    names: frozenset[str]
    texts: tuple[str, ...]
    """Values that are long enough to be told apart from what stands there by chance."""

    def prune(self, schema: JsonObject) -> JsonObject:
        """Where the schema itself gives examples of whole arguments, single members are left out of them."""
        shown = self._prune_level(schema, 0)
        for key in _EXAMPLE_KEYWORDS:
            if key in schema:
                shown.pop(key, None)
                if (kept := self._prune_example(_remove_members(schema[key], self.names))) is not None:
                    shown[key] = kept
        return shown

    def _prune_level(self, schema: JsonObject, depth: int) -> JsonObject:
        shown: JsonObject = {}
        for key, value in schema.items():
            match value:
                case _ if key in _EXAMPLE_KEYWORDS:
                    if value is None or (kept := self._prune_example(value)) is not None:
                        shown[key] = None if value is None else kept
                case list() if key == "enum":
                    # Without any choice left, nothing could be sent at all.
                    shown[key] = [one for one in value if not self._reveals_value(one)] or value
                case dict() if key in _MAP_KEYWORDS and depth < MAX_SCHEMA_DEPTH:
                    shown[key] = {name: self._prune_part(inner, depth) for name, inner in value.items()}
                case list() if key in _LIST_KEYWORDS and depth < MAX_SCHEMA_DEPTH:
                    shown[key] = [self._prune_part(inner, depth) for inner in value]
                case dict() if key in _SINGLE_KEYWORDS and depth < MAX_SCHEMA_DEPTH:
                    shown[key] = self._prune_level(value, depth + 1)
                case _:
                    shown[key] = value
        return shown

    def _prune_part(self, value: Json, depth: int) -> Json:
        return self._prune_level(value, depth + 1) if isinstance(value, dict) else value

    def _prune_example(self, value: Json) -> Json:
        """`None` for what is better left out."""
        if isinstance(value, list):
            return [one for one in value if not self._reveals(one)] or None
        return None if self._reveals(value) else value

    def _reveals(self, value: Json) -> bool:
        return any(self._name_pattern.search(text) is not None for text in _texts(value)) or self._reveals_value(value)

    def _reveals_value(self, value: Json) -> bool:
        return any(told in text for text in _texts(value) for told in self.texts)

    @cached_property
    def _name_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(self.names)))


def hidden_argument_pruner(names: Collection[str], values: Iterable[Json]) -> HiddenArgumentPruner:
    return HiddenArgumentPruner(frozenset(names), maskable_texts(values))


def _remove_members(value: Json, names: frozenset[str]) -> Json:
    match value:
        case dict():
            return {name: inner for name, inner in value.items() if name not in names}
        case list():
            return [_remove_members(inner, names) if isinstance(inner, dict) else inner for inner in value]
        case _:
            return value


def _texts(value: Json) -> Iterable[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as inner:
                waiting += inner
            case dict() as members:
                waiting += members
                waiting += members.values()
            case _:
                pass


_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Dialects in which what stands beside a `$ref` says nothing."""


@dataclass(frozen=True, slots=True)
class InapplicableOverride:
    """Why an override of a parameter cannot be applied. `grave` when callers would have a say that they must not."""

    parameter: str
    why: str
    locks_tool: bool


@dataclass(frozen=True)
class OverriddenTool:
    tool: Tool
    """With the schema that callers see. Its fingerprint is nobody's: approvals are of the server's own tool."""
    pins: Mapping[str, FrozenJson]
    defaults: Mapping[str, FrozenJson]
    removed_names: frozenset[str]
    """Pinned or hidden: to callers there are no such arguments, whatever the tool's schema says of them."""
    unlisted_names: frozenset[str] = frozenset()
    """Of these, what the tool's schema does not name. A pin is sent all the same where the schema leaves room for it:
    otherwise a server could let go of a pin by no longer naming it."""
    inapplicable: tuple[InapplicableOverride, ...] = ()
    is_operators: bool = False
    """Whether a file of the operator's fixes any of it; of an unsound one, any of what makes it so."""
    at: DeclaredAt | None = None
    """Of an unsound one, where in the file."""

    @cached_property
    def removed_spellings(self) -> frozenset[str]:
        """What is gone, by every writing of its name."""
        return frozenset(map(normalize_name, self.removed_names))

    @cached_property
    def digest(self) -> str:
        """A digest of all that it sends, fills in or keeps callers from sending; empty where that is nothing. Of a
        pinned reference it covers the text, not what that stands for."""
        if self.fills_nothing and not self.removed_names:
            return ""
        pins, defaults = ({name: held.text for name, held in each.items()} for each in (self.pins, self.defaults))
        return hashlib.sha256(canonical_json([pins, defaults, sorted(self.removed_names)])).hexdigest()

    @property
    def fills_nothing(self) -> bool:
        return not self.pins and not self.defaults

    @property
    def is_applicable(self) -> bool:
        return not any(misfit.locks_tool for misfit in self.inapplicable)


@dataclass(frozen=True, slots=True)
class FilledArguments:
    """What overrides put into one call beside what its caller sent, for the person who decides about it."""

    digest: str
    defaults: Mapping[str, Json]
    """Of the arguments that the caller left out."""
    pinned_names: tuple[str, ...]
    """Names alone: a pinned value may be a secret."""


def arguments_filled_in(shape: OverriddenTool | None, arguments: Mapping[str, Json]) -> FilledArguments | None:
    if shape is None or not shape.digest:
        return None
    defaults = {name: held.value for name, held in shape.defaults.items() if name not in arguments}
    return FilledArguments(shape.digest, defaults, tuple(sorted(shape.pins)))


def override_tool(tool: Tool, said: Mapping[str, ArgumentOverride], named: frozenset[str]) -> OverriddenTool | None:
    """`None` when nothing that is said is about this tool. `named` are the parameters that an override by the tool's
    id or exact name sets. A pattern with wildcards also fits tools that do not declare its parameters."""
    schema = dict(tool.spec.input_schema)
    own = _own_properties(schema)
    gone = frozenset(name for name, argument in said.items() if argument.is_fixed)
    unlisted = frozenset(name for name in gone if name not in own)
    applied = {name: argument for name, argument in said.items() if name in own or name in unlisted}
    unsent = frozenset(name for name in unlisted if said[name].pin is None or forbids_argument(schema, name))
    unfit = [*_unknown_parameters(schema, own, said, named, unsent), *_inapplicable(schema, own, applied, unsent)]
    doubted = {misfit.parameter for misfit in unfit}
    applied = {name: argument for name, argument in applied.items() if name not in doubted}
    if not applied and not unfit:
        return None
    pins = {name: argument.pin for name, argument in applied.items() if argument.pin is not None and name not in unsent}
    defaults = {
        name: argument.default
        for name, argument in applied.items()
        if argument.default is not None and name not in gone
    }
    shown = _visible_schema(schema, own, applied, gone, {*pins, *defaults})
    spec = replace(tool.spec, input_schema=shown)
    return OverriddenTool(replace(tool, spec=spec), pins, defaults, gone, unlisted, tuple(unfit))


def unknown_arguments(tool: Tool, shape: OverriddenTool, sent: Iterable[str]) -> list[str]:
    """What callers may not send of this: every name that is pinned or hidden, and every other writing of one, unless
    the tool itself has an argument of just that name."""
    found = [name for name in sent if name in shape.removed_names or normalize_name(name) in shape.removed_spellings]
    if not found:
        return []
    schema = dict(tool.spec.input_schema)
    own = _own_properties(schema)
    return sorted(
        name for name in found if name in shape.removed_names or not (name in own or mentions_parameter(schema, name))
    )


def _own_properties(schema: JsonObject) -> Mapping[str, Json]:
    properties = schema.get("properties")
    own = properties if isinstance(properties, dict) else {}
    return {name: subschema for name, subschema in own.items() if isinstance(subschema, dict | bool)}


def fill_arguments(shape: OverriddenTool, arguments: Mapping[str, Json]) -> JsonObject:
    """What the server gets, references as they are written."""
    defaults = {name: held.value for name, held in shape.defaults.items() if name not in arguments}
    return {**arguments, **defaults, **{name: held.value for name, held in shape.pins.items()}}


def _unknown_parameters(
    schema: JsonObject,
    own: Mapping[str, Json],
    said: Mapping[str, ArgumentOverride],
    named: frozenset[str],
    unsent: frozenset[str],
) -> Iterator[InapplicableOverride]:
    for name, argument in said.items():
        if name in own:
            continue
        if mentions_parameter(schema, name):
            why = "the tool takes it only through another part of its schema, where it cannot be told apart"
            yield InapplicableOverride(name, why, argument.is_fixed)
        elif name in named:
            yield InapplicableOverride(name, "the tool takes no such argument", argument.is_fixed)
        elif argument.pin is not None and name not in unsent and takes_by_pattern(schema):
            yield InapplicableOverride(
                name, "only a pattern of names tells whether the tool takes it (patternProperties)", locks_tool=True
            )


def _inapplicable(
    schema: JsonObject, own: Mapping[str, Json], applied: Mapping[str, ArgumentOverride], unsent: frozenset[str]
) -> Iterator[InapplicableOverride]:
    required, most = schema.get("required"), schema.get("maxProperties")
    pinned = sum(argument.pin is not None and name not in unsent for name, argument in applied.items())
    referring = next(refs_in(schema), None) is not None
    for name, argument in applied.items():
        needed = isinstance(required, list) and name in required
        if name in unsent and not needed:
            continue
        if not argument.is_fixed:
            if own[name] is False:
                yield InapplicableOverride(name, "the tool's schema lets nothing be sent there", locks_tool=False)
            continue
        if argument.pin is None and needed:
            yield InapplicableOverride(
                name, "the tool requires it, so it cannot be hidden without a value: pin it", locks_tool=True
            )
        elif argument.pin is not None and isinstance(most, int) and most < pinned:
            yield InapplicableOverride(
                name, f"the tool takes at most {most} arguments at once, and more are pinned", locks_tool=True
            )
        elif is_entangled(schema, name, present=argument.pin is not None):
            yield InapplicableOverride(
                name, "the tool's schema makes other arguments depend on it (anyOf, oneOf, if …)", locks_tool=True
            )
        elif has_anchors(own.get(name)) or any(
            ref == f"#/properties/{pointer_step(name)}" or ref.startswith(f"#/properties/{pointer_step(name)}/")
            for ref in (refs_outside(schema, name) if referring else ())
        ):
            yield InapplicableOverride(name, "other parts of the tool's schema refer to it", locks_tool=True)


def _visible_schema(
    schema: JsonObject,
    own: Mapping[str, Json],
    applied: Mapping[str, ArgumentOverride],
    gone: frozenset[str],
    present: set[str],
) -> JsonObject:
    properties: JsonObject = {
        name: _with_description(subschema, applied[name], schema) if name in applied else subschema
        for name, subschema in own.items()
        if name not in gone
    }
    shown = {**without_parameters(schema, present=present, gone=gone), "properties": properties}
    pinned = len(gone & present)
    for key in ("minProperties", "maxProperties"):
        if pinned and isinstance(bound := shown.get(key), int):
            shown[key] = max(0, bound - pinned)
    if not gone:
        return shown
    values = [argument.pin.value for argument in applied.values() if argument.pin is not None]
    return hidden_argument_pruner(gone, values).prune(prune_definitions(shown, schema))


def _with_description(subschema: Json, argument: ArgumentOverride, schema: JsonObject) -> Json:
    words: JsonObject = {}
    if argument.description is not None:
        words["description"] = argument.description
    if argument.default is not None:
        words["default"] = argument.default.value
    if not words or not isinstance(subschema, dict):
        return words if subschema is True and words else subschema
    dialect = schema.get("$schema")
    if "$ref" in subschema and isinstance(dialect, str) and any(old in dialect for old in _OLD_DRAFTS):
        return {"allOf": [subschema], **words}
    return {**subschema, **words}


# Values that overrides put into arguments, and those of which it is known that a tool cannot be called with them.


class OverrideValue(NamedTuple):
    """Named by all that it depends on, so that what is known of it never goes out of date with a policy."""

    tool: Fingerprint
    parameter: str
    aspect: str
    """`pin` or `default`: only a pin may hold references."""
    value: FrozenJson


ValueProblems: TypeAlias = Mapping[OverrideValue, str]
"""Why a value cannot be used. Found out by whoever can read references and check schemas; what is not in it fits, as
far as is known. Nothing of a value itself is in the words: it may be a secret."""


def override_values(tool: Tool, shape: OverriddenTool) -> Iterator[OverrideValue]:
    for name, held in shape.pins.items():
        yield OverrideValue(tool.spec.fingerprint, name, "pin", held)
    for name, held in shape.defaults.items():
        yield OverrideValue(tool.spec.fingerprint, name, "default", held)


def problems_of_values(tool: Tool, shape: OverriddenTool, faults: ValueProblems) -> tuple[InapplicableOverride, ...]:
    """Grave all of them: with a pin that has no value a call cannot be made, with a wrong default none can be right."""
    found = ((value, faults.get(value)) for value in override_values(tool, shape))
    return tuple(InapplicableOverride(value.parameter, why, locks_tool=True) for value, why in found if why is not None)
