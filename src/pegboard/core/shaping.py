"""A tool as callers see it after an override of its parameters, and the whole arguments that its server gets.

What a schema cannot express without a parameter is told, never passed over: a pin that does not hold is no pin.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from .argument import Argument, Held, alike
from .inplace import forbids, is_entangled, mentions, takes_by_pattern, without
from .schema_refs import anchors_in, local, pruned, refs_in, refs_outside
from .server import DeclaredAt
from .tool import Json, JsonObject, Tool, canonical
from .unsaid import unsaid

_OLD: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Dialects in which what stands beside a `$ref` says nothing."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an override of a parameter cannot be applied. `grave` when callers would have a say that they must not."""

    parameter: str
    why: str
    grave: bool


@dataclass(frozen=True)
class Shaped:
    tool: Tool
    """With the schema that callers see. Its fingerprint is nobody's: approvals are of the server's own tool."""
    pins: Mapping[str, Held]
    defaults: Mapping[str, Held]
    gone: frozenset[str]
    """Pinned or hidden: to callers there are no such arguments, whatever the tool's schema says of them."""
    unlisted: frozenset[str] = frozenset()
    """Of these, what the tool's schema does not name. A pin is sent all the same where the schema leaves room for it:
    otherwise a server could let go of a pin by no longer naming it."""
    unfit: tuple[Unfit, ...] = ()
    operators: bool = False
    """Whether a file of the operator's fixes any of it; of an unsound one, any of what makes it so."""
    at: DeclaredAt | None = None
    """Of an unsound one, where in the file."""

    @cached_property
    def meant(self) -> frozenset[str]:
        """What is gone, by every writing of its name."""
        return frozenset(map(alike, self.gone))

    @cached_property
    def tag(self) -> str:
        """A digest of all that it sends, fills in or keeps callers from sending; empty where that is nothing. Of a
        pinned reference it covers the text, not what that stands for."""
        if self.puts_nothing_in and not self.gone:
            return ""
        pins, defaults = ({name: held.text for name, held in each.items()} for each in (self.pins, self.defaults))
        return hashlib.sha256(canonical([pins, defaults, sorted(self.gone)])).hexdigest()

    @property
    def puts_nothing_in(self) -> bool:
        return not self.pins and not self.defaults

    @property
    def is_sound(self) -> bool:
        return not any(misfit.grave for misfit in self.unfit)


@dataclass(frozen=True, slots=True)
class FilledIn:
    """What overrides put into one call beside what its caller sent, for the person who decides about it."""

    tag: str
    defaults: Mapping[str, Json]
    """Of the arguments that the caller left out."""
    pinned: tuple[str, ...]
    """Names alone: a pinned value may be a secret."""


def filled_in(shape: Shaped | None, arguments: Mapping[str, Json]) -> FilledIn | None:
    if shape is None or not shape.tag:
        return None
    defaults = {name: held.value for name, held in shape.defaults.items() if name not in arguments}
    return FilledIn(shape.tag, defaults, tuple(sorted(shape.pins)))


def shaped(tool: Tool, said: Mapping[str, Argument], named: frozenset[str]) -> Shaped | None:
    """`None` when nothing that is said is about this tool. `named` are the parameters that an override by the tool's
    id or exact name sets. A pattern with wildcards also fits tools that do not declare its parameters."""
    schema = dict(tool.spec.input_schema)
    own = _own(schema)
    gone = frozenset(name for name, argument in said.items() if argument.is_fixed)
    unlisted = frozenset(name for name in gone if name not in own)
    applied = {name: argument for name, argument in said.items() if name in own or name in unlisted}
    unsent = frozenset(name for name in unlisted if said[name].pin is None or forbids(schema, name))
    unfit = [*_unknown(schema, own, said, named, unsent), *_unfit(schema, own, applied, unsent)]
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
    shown = _shown(schema, own, applied, gone, {*pins, *defaults})
    spec = replace(tool.spec, input_schema=shown)
    return Shaped(replace(tool, spec=spec), pins, defaults, gone, unlisted, tuple(unfit))


def barred(tool: Tool, shape: Shaped, sent: Iterable[str]) -> list[str]:
    """What callers may not send of this: every name that is pinned or hidden, and every other writing of one, unless
    the tool itself has an argument of just that name."""
    found = [name for name in sent if name in shape.gone or alike(name) in shape.meant]
    if not found:
        return []
    schema = dict(tool.spec.input_schema)
    own = _own(schema)
    return sorted(name for name in found if name in shape.gone or not (name in own or mentions(schema, name)))


def _own(schema: JsonObject) -> Mapping[str, Json]:
    properties = schema.get("properties")
    own = properties if isinstance(properties, dict) else {}
    return {name: subschema for name, subschema in own.items() if isinstance(subschema, dict | bool)}


def put_in(shape: Shaped, arguments: Mapping[str, Json]) -> JsonObject:
    """What the server gets, references as they are written."""
    defaults = {name: held.value for name, held in shape.defaults.items() if name not in arguments}
    return {**arguments, **defaults, **{name: held.value for name, held in shape.pins.items()}}


def _unknown(
    schema: JsonObject,
    own: Mapping[str, Json],
    said: Mapping[str, Argument],
    named: frozenset[str],
    unsent: frozenset[str],
) -> Iterator[Unfit]:
    for name, argument in said.items():
        if name in own:
            continue
        if mentions(schema, name):
            why = "the tool takes it only through another part of its schema, where it cannot be told apart"
            yield Unfit(name, why, argument.is_fixed)
        elif name in named:
            yield Unfit(name, "the tool takes no such argument", argument.is_fixed)
        elif argument.pin is not None and name not in unsent and takes_by_pattern(schema):
            yield Unfit(name, "only a pattern of names tells whether the tool takes it (patternProperties)", grave=True)


def _unfit(
    schema: JsonObject, own: Mapping[str, Json], applied: Mapping[str, Argument], unsent: frozenset[str]
) -> Iterator[Unfit]:
    required, most = schema.get("required"), schema.get("maxProperties")
    pinned = sum(argument.pin is not None and name not in unsent for name, argument in applied.items())
    referring = next(refs_in(schema), None) is not None
    for name, argument in applied.items():
        needed = isinstance(required, list) and name in required
        if name in unsent and not needed:
            continue
        if not argument.is_fixed:
            if own[name] is False:
                yield Unfit(name, "the tool's schema lets nothing be sent there", grave=False)
            continue
        if argument.pin is None and needed:
            yield Unfit(name, "the tool requires it, so it cannot be hidden without a value: pin it", grave=True)
        elif argument.pin is not None and isinstance(most, int) and most < pinned:
            yield Unfit(name, f"the tool takes at most {most} arguments at once, and more are pinned", grave=True)
        elif is_entangled(schema, name, present=argument.pin is not None):
            yield Unfit(name, "the tool's schema makes other arguments depend on it (anyOf, oneOf, if …)", grave=True)
        elif anchors_in(own.get(name)) or any(
            ref == f"#/properties/{local(name)}" or ref.startswith(f"#/properties/{local(name)}/")
            for ref in (refs_outside(schema, name) if referring else ())
        ):
            yield Unfit(name, "other parts of the tool's schema refer to it", grave=True)


def _shown(
    schema: JsonObject,
    own: Mapping[str, Json],
    applied: Mapping[str, Argument],
    gone: frozenset[str],
    present: set[str],
) -> JsonObject:
    properties: JsonObject = {
        name: _worded(subschema, applied[name], schema) if name in applied else subschema
        for name, subschema in own.items()
        if name not in gone
    }
    shown = {**without(schema, present=present, gone=gone), "properties": properties}
    pinned = len(gone & present)
    for key in ("minProperties", "maxProperties"):
        if pinned and isinstance(bound := shown.get(key), int):
            shown[key] = max(0, bound - pinned)
    if not gone:
        return shown
    values = [argument.pin.value for argument in applied.values() if argument.pin is not None]
    return unsaid(gone, values).out_of(pruned(shown, schema))


def _worded(subschema: Json, argument: Argument, schema: JsonObject) -> Json:
    words: JsonObject = {}
    if argument.description is not None:
        words["description"] = argument.description
    if argument.default is not None:
        words["default"] = argument.default.value
    if not words or not isinstance(subschema, dict):
        return words if subschema is True and words else subschema
    dialect = schema.get("$schema")
    if "$ref" in subschema and isinstance(dialect, str) and any(old in dialect for old in _OLD):
        return {"allOf": [subschema], **words}
    return {**subschema, **words}
