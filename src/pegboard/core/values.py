"""Values that overrides put into arguments, and those of which it is known that a tool cannot be called with them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from .argument import FrozenJson
from .shaping import InapplicableOverride, OverriddenTool
from .tool import Fingerprint, Tool


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
