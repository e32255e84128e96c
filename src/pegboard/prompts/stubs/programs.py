"""The stubs that one program needs, of the tools that its caller sees: those that it mentions, and no others."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pegboard.core.ids import ToolId
from pegboard.core.override import OverrideIndex
from pegboard.core.policy import Policy
from pegboard.core.resolve import OpenTool, Resolution
from pegboard.core.tool import ToolSpec

from .names import ProgramFunction, ProgramNames
from .writing import HEADER, Stub, module_stubs, unknown_function

MAX_STUBS_LENGTH: Final = 400_000
"""Characters of all stubs of one program. What goes beyond that can be called, and its types are not told."""


def program_names(resolution: Resolution) -> ProgramNames:
    """Of all tools that this caller may know of."""
    return ProgramNames.of(resolution.names, resolution.locked_ids)


def visible_spec(id: ToolId, resolution: Resolution, overrides: OverrideIndex | None) -> ToolSpec | None:
    """As this caller sees the tool, in the words that people gave it; nothing of one that is not open to it."""
    verdict = resolution.verdicts.get(id)
    if not isinstance(verdict, OpenTool):
        return None
    spec = verdict.visible_tool.spec
    written = None if overrides is None else overrides.for_tool(id).description_override
    return spec if written is None else replace(spec, description=written)


def program_stubs(
    code: str, resolution: Resolution, policy: Policy, names: ProgramNames | None = None
) -> tuple[Stub, ...]:
    """In the order in which the program mentions them. `names` are those of the resolution, where they are known."""
    named = (program_names(resolution) if names is None else names).mentioned_functions(code)
    return stubs_for(named, resolution, policy)


def stubs_for(
    each: Iterable[ProgramFunction], resolution: Resolution, policy: Policy, *, most: int | None = MAX_STUBS_LENGTH
) -> tuple[Stub, ...]:
    """`most` characters of all of them together."""
    return stubs_with_overrides(each, resolution, policy.overrides, most=most)


def stubs_with_overrides(
    each: Iterable[ProgramFunction],
    resolution: Resolution,
    overrides: OverrideIndex | None,
    *,
    most: int | None = MAX_STUBS_LENGTH,
) -> tuple[Stub, ...]:
    modules: dict[str, list[ProgramFunction]] = {}
    for named in each:
        modules.setdefault(named.module, []).append(named)
    room = math.inf if most is None else most
    found: list[Stub] = []
    for inside in modules.values():
        for stub in module_stubs((named, visible_spec(named.id, resolution, overrides)) for named in inside):
            room -= len(stub.text)
            found.append(stub if room >= 0 else Stub(stub.function, unknown_function(stub.function.function)))
    return tuple(found)


def module_text(stubs: Iterable[Stub]) -> str:
    """A whole module, as an editor reads it."""
    return "\n\n\n".join((HEADER, *(stub.text for stub in stubs))) + "\n"
