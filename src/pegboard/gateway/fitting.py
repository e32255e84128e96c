"""Whether the values that overrides put into arguments can be used: references read, and held against what tools take.

Looked at when a listing or the policy changes, and again when a call was refused for it; never in a call that runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pegboard.core.catalogue import Catalogue, Listing
from pegboard.core.ids import Source
from pegboard.core.override import Override
from pegboard.core.policy import Policy
from pegboard.core.rules import shape_of
from pegboard.core.tool import JsonObject, Tool, ToolSpec
from pegboard.core.values import Faults, Value, values_of

from .filling import Filling
from .validation import Validators

_DEFINING: Final = ("$schema", "$defs", "definitions")
_OF_OTHERS: Final = ("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames")
NO_FIT: Final = "the pinned value does not fit what the tool takes there"
NO_DEFAULT: Final = "the default does not fit what the tool takes there"


_Referring: TypeAlias = tuple[tuple[Tool, Value], ...]
"""Values that hold references, each with its tool."""
_FaultsOf: TypeAlias = Callable[[_Referring], Mapping[Value, str]]


@dataclass(frozen=True)
class _Looked:
    """What was found in one listing. References are read anew each time."""

    listing: Listing
    rows: tuple[Override, ...]
    faults: Faults
    referring: _Referring


class Fitting:
    def __init__(self, filling: Filling) -> None:
        self._filling = filling
        self._validators: Validators | None = None
        self._looked: dict[Source, _Looked] = {}

    def __call__(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The policy with what is now known of its values; the same one while nothing of that changes."""
        return self._fitted(catalogue, policy, self._unread)

    def without_resolving(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The same for a policy that somebody only proposes: of its references none is read, and only what is known of
        those that are on the board already is told. Otherwise whoever may look could ask for variables and files."""
        return self._fitted(catalogue, policy, lambda referring: _known(referring, policy))

    def _fitted(self, catalogue: Catalogue, policy: Policy, faults_of: _FaultsOf) -> Policy:
        found: dict[Value, str] = {}
        rows = tuple(row for row in policy.overrides.rows if row.arguments is not None)
        if rows:
            for source, listing in catalogue.listings.items():
                known = self._looked.get(source)
                if known is None or known.listing is not listing or known.rows != rows:
                    known = self._looked[source] = self._look(listing, rows, policy)
                found.update(known.faults)
                found.update(faults_of(known.referring))
        for source in [source for source in self._looked if not rows or source not in catalogue.listings]:
            del self._looked[source]
        return policy if found == policy.faults else replace(policy, faults=found)

    def of_tool(self, tool: Tool, policy: Policy) -> Faults:
        """Of one tool under a policy that somebody only proposes: no reference is read for it."""
        shape = shape_of(tool, policy)
        values = () if shape is None else tuple(values_of(tool, shape))
        found = {value: self._fault(tool, value) for value in values if not _refers(value)}
        referring = tuple((tool, value) for value in values if _refers(value))
        return {value: why for value, why in found.items() if why is not None} | _known(referring, policy)

    def _look(self, listing: Listing, rows: tuple[Override, ...], policy: Policy) -> _Looked:
        faults: dict[Value, str] = {}
        referring: list[tuple[Tool, Value]] = []
        for tool in listing.tools:
            shape = shape_of(tool, policy)
            for value in () if shape is None else values_of(tool, shape):
                if _refers(value):
                    referring.append((tool, value))
                elif (why := self._fault(tool, value)) is not None:
                    faults[value] = why
        return _Looked(listing, rows, faults, tuple(referring))

    def _unread(self, referring: _Referring) -> Mapping[Value, str]:
        return {value: why for tool, value in referring if (why := self._fault(tool, value)) is not None}

    def _fault(self, tool: Tool, value: Value) -> str | None:
        held = value.held
        if value.aspect == "pin":
            filled = self._filling.filled(held.value)
            if isinstance(filled, str):
                return filled.rstrip(".")
            held = filled
        if self._validators is None:
            self._validators = Validators()
        if self._validators.problems(_alone(tool, value.parameter), {value.parameter: held.value}):
            return NO_FIT if value.aspect == "pin" else NO_DEFAULT
        return None


def _refers(value: Value) -> bool:
    return value.aspect == "pin" and "$" in value.held.text


def _known(referring: _Referring, policy: Policy) -> dict[Value, str]:
    return {value: policy.faults[value] for _, value in referring if value in policy.faults}


def unchanged(catalogue: Catalogue, policy: Policy) -> Policy:
    """Where nobody can tell: every value is taken as it is."""
    return policy


def _alone(tool: Tool, name: str) -> Tool:
    """The tool with this one parameter, or with what it says of those that it does not name."""
    schema = tool.spec.input_schema
    properties = schema.get("properties")
    alone: JsonObject = {key: schema[key] for key in _DEFINING if key in schema}
    if isinstance(properties, dict) and name in properties:
        alone["properties"] = {name: properties[name]}
    else:
        alone |= {key: schema[key] for key in _OF_OTHERS if key in schema}
    # By one name for all, so that what many tools take alike is compiled once.
    return Tool(tool.id, ToolSpec("alone", input_schema=alone))
