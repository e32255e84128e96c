"""The stubs that one program needs, of the tools that its caller sees: those that it mentions, and no others."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.override import OverrideIndex
from pegboard.core.policy import Policy
from pegboard.core.resolve import Open, Resolution
from pegboard.core.tool import ToolSpec

from .names import Named, Names
from .writing import HEADER, Stub, stubs_of, unknown_function

MOST: Final = 400_000
"""Characters of all stubs of one program. What goes beyond that can be called, and its types are not told."""


def names_of(resolution: Resolution) -> Names:
    """Of all tools that this caller may know of."""
    return Names.of(resolution.names, resolution.locked_ids)


def told_spec(id: ToolId, resolution: Resolution, overrides: OverrideIndex | None) -> ToolSpec | None:
    """As this caller sees the tool, in the words that people gave it; nothing of one that is not open to it."""
    verdict = resolution.verdicts.get(id)
    if not isinstance(verdict, Open):
        return None
    spec = verdict.shown.spec
    written = None if overrides is None else overrides.for_tool(id).description_override
    return spec if written is None else replace(spec, description=written)


def program_stubs(code: str, resolution: Resolution, policy: Policy, names: Names | None = None) -> tuple[Stub, ...]:
    """In the order in which the program mentions them. `names` are those of the resolution, where they are known."""
    named = (names_of(resolution) if names is None else names).mentioned(code)
    return stubs_for(named, resolution, policy)


def stubs_for(
    each: Iterable[Named], resolution: Resolution, policy: Policy, *, most: int | None = MOST
) -> tuple[Stub, ...]:
    """`most` characters of all of them together."""
    return stubs_told(each, resolution, policy.overrides, most=most)


def stubs_told(
    each: Iterable[Named], resolution: Resolution, overrides: OverrideIndex | None, *, most: int | None = MOST
) -> tuple[Stub, ...]:
    modules: dict[str, list[Named]] = {}
    for named in each:
        modules.setdefault(named.module, []).append(named)
    room = math.inf if most is None else most
    found: list[Stub] = []
    for inside in modules.values():
        for stub in stubs_of((named, told_spec(named.id, resolution, overrides)) for named in inside):
            room -= len(stub.text)
            found.append(stub if room >= 0 else Stub(stub.named, unknown_function(stub.named.function)))
    return tuple(found)


def module_text(stubs: Iterable[Stub]) -> str:
    """A whole module, as an editor reads it."""
    return "\n\n\n".join((HEADER, *(stub.text for stub in stubs))) + "\n"
