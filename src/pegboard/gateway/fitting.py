"""Whether the values that overrides put into arguments can be used: references read, and held against what tools take.

Looked at when a listing or the policy changes, and again when a call was refused for it; never in a call that runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pegboard.core.catalogue import Catalogue, Listing
from pegboard.core.ids import SourceKey
from pegboard.core.override import Override
from pegboard.core.policy import Policy
from pegboard.core.rules import overridden_tool_of
from pegboard.core.tool import JsonObject, Tool, ToolSpec
from pegboard.core.values import OverrideValue, ValueProblems, override_values

from .filling import ArgumentFiller
from .validation import Validators

_DEFINITION_KEYWORDS: Final = ("$schema", "$defs", "definitions")
_OTHER_PROPERTIES_KEYWORDS: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
)
PIN_MISMATCH: Final = "the pinned value does not fit what the tool takes there"
DEFAULT_MISMATCH: Final = "the default does not fit what the tool takes there"


_ValuesWithReferences: TypeAlias = tuple[tuple[Tool, OverrideValue], ...]
"""Values that hold references, each with its tool."""
_FindFaults: TypeAlias = Callable[[_ValuesWithReferences], Mapping[OverrideValue, str]]


@dataclass(frozen=True)
class _ListingCheck:
    """What was found in one listing. References are read anew each time."""

    listing: Listing
    rows: tuple[Override, ...]
    faults: ValueProblems
    with_references: _ValuesWithReferences


class ArgumentValueChecker:
    def __init__(self, filling: ArgumentFiller) -> None:
        self._filler = filling
        self._validators: Validators | None = None
        self._checks: dict[SourceKey, _ListingCheck] = {}

    def __call__(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The policy with what is now known of its values; the same one while nothing of that changes."""
        return self._with_faults(catalogue, policy, self._faults_of_references)

    def without_resolving(self, catalogue: Catalogue, policy: Policy) -> Policy:
        """The same for a policy that somebody only proposes: of its references none is read, and only what is known of
        those that are on the board already is told. Otherwise whoever may look could ask for variables and files."""
        return self._with_faults(catalogue, policy, lambda referring: _known_faults(referring, policy))

    def _with_faults(self, catalogue: Catalogue, policy: Policy, faults_of: _FindFaults) -> Policy:
        found: dict[OverrideValue, str] = {}
        rows = tuple(row for row in policy.overrides.rows if row.arguments is not None)
        if rows:
            for source, listing in catalogue.listings.items():
                known = self._checks.get(source)
                if known is None or known.listing is not listing or known.rows != rows:
                    known = self._checks[source] = self._check_listing(listing, rows, policy)
                found.update(known.faults)
                found.update(faults_of(known.with_references))
        for source in [source for source in self._checks if not rows or source not in catalogue.listings]:
            del self._checks[source]
        return policy if found == policy.value_problems else replace(policy, value_problems=found)

    def faults_of_tool(self, tool: Tool, policy: Policy) -> ValueProblems:
        """Of one tool under a policy that somebody only proposes: no reference is read for it."""
        shape = overridden_tool_of(tool, policy)
        values = () if shape is None else tuple(override_values(tool, shape))
        found = {value: self._fault(tool, value) for value in values if not _has_reference(value)}
        referring = tuple((tool, value) for value in values if _has_reference(value))
        return {value: why for value, why in found.items() if why is not None} | _known_faults(referring, policy)

    def _check_listing(self, listing: Listing, rows: tuple[Override, ...], policy: Policy) -> _ListingCheck:
        faults: dict[OverrideValue, str] = {}
        referring: list[tuple[Tool, OverrideValue]] = []
        for tool in listing.tools:
            shape = overridden_tool_of(tool, policy)
            for value in () if shape is None else override_values(tool, shape):
                if _has_reference(value):
                    referring.append((tool, value))
                elif (why := self._fault(tool, value)) is not None:
                    faults[value] = why
        return _ListingCheck(listing, rows, faults, tuple(referring))

    def _faults_of_references(self, referring: _ValuesWithReferences) -> Mapping[OverrideValue, str]:
        return {value: why for tool, value in referring if (why := self._fault(tool, value)) is not None}

    def _fault(self, tool: Tool, value: OverrideValue) -> str | None:
        held = value.value
        if value.aspect == "pin":
            filled = self._filler.fill(held.value)
            if isinstance(filled, str):
                return filled.rstrip(".")
            held = filled
        if self._validators is None:
            self._validators = Validators()
        if self._validators.problems(_tool_with_one_parameter(tool, value.parameter), {value.parameter: held.value}):
            return PIN_MISMATCH if value.aspect == "pin" else DEFAULT_MISMATCH
        return None


def _has_reference(value: OverrideValue) -> bool:
    return value.aspect == "pin" and "$" in value.value.text


def _known_faults(referring: _ValuesWithReferences, policy: Policy) -> dict[OverrideValue, str]:
    return {value: policy.value_problems[value] for _, value in referring if value in policy.value_problems}


def keep_policy(catalogue: Catalogue, policy: Policy) -> Policy:
    """Where nobody can tell: every value is taken as it is."""
    return policy


def _tool_with_one_parameter(tool: Tool, name: str) -> Tool:
    """The tool with this one parameter, or with what it says of those that it does not name."""
    schema = tool.spec.input_schema
    properties = schema.get("properties")
    alone: JsonObject = {key: schema[key] for key in _DEFINITION_KEYWORDS if key in schema}
    if isinstance(properties, dict) and name in properties:
        alone["properties"] = {name: properties[name]}
    else:
        alone |= {key: schema[key] for key in _OTHER_PROPERTIES_KEYWORDS if key in schema}
    # By one name for all, so that what many tools take alike is compiled once.
    return Tool(tool.id, ToolSpec("alone", input_schema=alone))
