"""Whether the values that overrides put into arguments can be used. Checked when a listing or the policy changes, and
again for each call.

Looked at when a listing or the policy changes, and again when a call was refused for it; never in a call that runs.
"""

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

from pegboard.core.calls.call import (
    AdmittedCall,
    Arguments,
    CallCancellation,
    NeedsInput,
    Outcome,
    ProtocolErrorReply,
    ProviderFailure,
    ToolFailure,
    ToolSuccess,
)
from pegboard.core.decision.facts import overridden_tool_of
from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.catalogue import Catalogue, Listing
from pegboard.core.model.ids import SourceKey
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.overrides.model import FrozenJson, Override, freeze_json
from pegboard.core.overrides.schema import (
    OverriddenTool,
    OverrideValue,
    PinnedValueMask,
    ValueProblems,
    fill_arguments,
    override_values,
)
from pegboard.core.policy.policy import Policy
from pegboard.gateway.validation import Validators
from pegboard.ports.providers import ClientPeer, Expand, Progress, Provider, UnresolvedReference

# The whole arguments of a call: what overrides put in, with references read at the moment they are needed.

log = logging.getLogger(__name__)


def keep_references(text: str) -> str | UnresolvedReference:
    return text


class _NoValueError(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)


@dataclass(frozen=True)
class ArgumentFiller:
    expand: Expand = keep_references

    def __call__(self, shape: OverriddenTool, arguments: Arguments) -> Arguments | None:
        """Only pins hold references: what a caller sends is never read for any."""
        whole = fill_arguments(shape, arguments)
        try:
            return {**whole, **{name: self._expand_references(whole[name]) for name in shape.pins}}
        except _NoValueError as error:
            log.warning("%s cannot be called: an argument that an override pins has no value. %s", shape.tool.id, error)
            return None

    def fill(self, value: Json) -> FrozenJson | str:
        """A pinned value as a server gets it, or why it is not to be had now."""
        try:
            return freeze_json(self._expand_references(value))
        except _NoValueError as error:
            return str(error)

    def _expand_references(self, value: Json) -> Json:
        match value:
            case str():
                text = self.expand(value)
                if isinstance(text, UnresolvedReference):
                    raise _NoValueError(text.why)
                return text
            case list():
                return [self._expand_references(inner) for inner in value]
            case dict():
                return {name: self._expand_references(inner) for name, inner in value.items()}
            case _:
                return value


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


# A call of a tool with pinned arguments: whatever its server says of it reaches the caller without their values.


async def call_masked(
    provider: Provider,
    admitted: AdmittedCall,
    progress: Progress | None,
    peer: ClientPeer | None,
    echo: PinnedValueMask,
) -> Outcome:
    return mask_pinned(await provider.call(admitted, masked_progress(progress, echo), masked_peer(peer, echo)), echo)


def mask_pinned(ended: Outcome, echo: PinnedValueMask) -> Outcome:
    match ended:
        case ToolSuccess(body) | ToolFailure(body) | NeedsInput(body):
            return replace(ended, body=echo.mask_json(body))
        case ProtocolErrorReply(error):
            return ProtocolErrorReply(echo.mask_json(error))
        case ProviderFailure(why, may_have_run, error):
            told = None if error is None else echo.mask_json(error)
            return ProviderFailure(echo.mask_text(why), may_have_run, told)
        case CallCancellation():
            return ended
        case _:
            assert_never(ended)


def masked_progress(progress: Progress | None, echo: PinnedValueMask) -> Progress | None:
    if progress is None:
        return None

    def report(done: float, of: float | None, words: str | None) -> None:
        progress(done, of, None if words is None else echo.mask_text(words))

    return report


def masked_peer(peer: ClientPeer | None, echo: PinnedValueMask) -> ClientPeer | None:
    return None if peer is None else _MaskedPeer(peer, echo)


@dataclass(frozen=True)
class _MaskedPeer:
    peer: ClientPeer
    echo: PinnedValueMask

    @property
    def capabilities(self) -> Mapping[str, Json]:
        return self.peer.capabilities

    @property
    def connection_key(self) -> Hashable:
        return self.peer.connection_key

    def notify(self, method: str, params: Mapping[str, Json]) -> None:
        self.peer.notify(method, self.echo.mask_members(params))

    async def request(
        self, method: str, params: Mapping[str, Json], last: Callable[[], ClientPeer] | None = None
    ) -> Mapping[str, Json]:
        heard = None if last is None else lambda: _inner_peer(last())
        return await self.peer.request(method, self.echo.mask_members(params), heard)


def _inner_peer(peer: ClientPeer) -> ClientPeer:
    """By itself: whoever asked compares."""
    return peer.peer if isinstance(peer, _MaskedPeer) else peer
