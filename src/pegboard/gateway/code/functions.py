"""The functions of one program: of the tools that are open to its caller, those that it mentions."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from pegboard.core.ids import ToolId
from pegboard.core.policy import Policy
from pegboard.core.resolve import Resolution
from pegboard.core.tool import JsonSchema, ToolSpec
from pegboard.core.view import View
from pegboard.ports.sandbox import Function, Program
from pegboard.prompts.stubs import HEADER, Names
from pegboard.prompts.stubs.arguments import as_programs_name_them
from pegboard.prompts.stubs.programs import stubs_for, told_spec

BESIDE: Final = 20
"""Functions from which on their stubs are written beside the event loop."""
REMEMBERED: Final = 16
MOST: Final = 1_000
"""Functions of one program: what says more names than that is no program that anybody wrote."""


@dataclass(frozen=True)
class Given:
    """A program with its functions, and whose each is."""

    program: Program
    tools: dict[str, ToolId]
    missing: tuple[str, ...]
    """What it calls in vain, in words."""
    modules: Collection[str] = ()
    """All that its caller could name."""


class Functions:
    """Names for each caller, worked out once for each state of the board."""

    def __init__(self) -> None:
        self._known: OrderedDict[View, tuple[Resolution, Names]] = OrderedDict()

    async def given(self, code: str, resolution: Resolution, policy: Policy) -> Given:
        """Nothing of a tool that is not open comes near a program: no function, no stub, no word.

        What runs programs has no name there, open or not.
        """
        names = self._names(resolution)
        mentioned = [*names.mentioned(code)][:MOST]
        if len(mentioned) > BESIDE:
            stubs = await anyio.to_thread.run_sync(stubs_for, mentioned, resolution, policy, abandon_on_cancel=True)
        else:
            stubs = stubs_for(mentioned, resolution, policy)
        functions = [
            Function(
                stub.named.module,
                stub.named.function,
                stub.text,
                takes=_takes(told_spec(stub.named.id, resolution, None)),
            )
            for stub in stubs
        ]
        tools = {str(named): named.id for named in mentioned}
        program = Program(code, tuple(functions), HEADER, names.modules_in(code))
        return Given(program, tools, names.missing(code), names.by_module.keys())

    def _names(self, resolution: Resolution) -> Names:
        known = self._known.get(resolution.view)
        if known is None or known[0] is not resolution:
            # Locked tools rename no open one, so these are the names that a search tells.
            known = self._known[resolution.view] = resolution, Names.of(resolution.open_ids)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(resolution.view)
        return known[1]


def _takes(spec: ToolSpec | None) -> JsonSchema | None:
    return None if spec is None else as_programs_name_them(spec.input_schema)
