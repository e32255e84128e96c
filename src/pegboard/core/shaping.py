"""A tool as callers see it after an override of its parameters, and the whole arguments that its server gets.

What a schema cannot express without a parameter is told, never passed over: a pin that does not hold is no pin.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from .argument import ArgumentOverride, FrozenJson, normalize_name
from .inplace import forbids_argument, is_entangled, mentions_parameter, takes_by_pattern, without_parameters
from .schema_refs import has_anchors, pointer_step, prune_definitions, refs_in, refs_outside
from .server import DeclaredAt
from .tool import Json, JsonObject, Tool, canonical_json
from .unsaid import hidden_argument_pruner

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
