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
from pegboard.ports.sandbox import Program, SandboxFunction
from pegboard.prompts.stubs import HEADER, ProgramNames
from pegboard.prompts.stubs.arguments import to_program_names
from pegboard.prompts.stubs.programs import stubs_for, visible_spec

OFF_LOOP_FUNCTIONS: Final = 20
"""Functions from which on their stubs are written beside the event loop."""
MAX_CACHED_VIEWS: Final = 16
MAX_FUNCTIONS: Final = 1_000
"""Functions of one program: what says more names than that is no program that anybody wrote."""


@dataclass(frozen=True)
class BoundProgram:
    """A program with its functions, and whose each is."""

    program: Program
    tools: dict[str, ToolId]
    unknown_names: tuple[str, ...]
    """What it calls in vain, in words."""
    modules: Collection[str] = ()
    """All that its caller could name."""


class ProgramFunctions:
    """Names for each caller, worked out once for each state of the board."""

    def __init__(self) -> None:
        self._cached: OrderedDict[View, tuple[Resolution, ProgramNames]] = OrderedDict()

    async def bind(self, code: str, resolution: Resolution, policy: Policy) -> BoundProgram:
        """Nothing of a tool that is not open comes near a program: no function, no stub, no word.

        What runs programs has no name there, open or not.
        """
        names = self._names(resolution)
        mentioned = [*names.mentioned_functions(code)][:MAX_FUNCTIONS]
        if len(mentioned) > OFF_LOOP_FUNCTIONS:
            stubs = await anyio.to_thread.run_sync(stubs_for, mentioned, resolution, policy, abandon_on_cancel=True)
        else:
            stubs = stubs_for(mentioned, resolution, policy)
        functions = [
            SandboxFunction(
                stub.function.module,
                stub.function.function,
                stub.text,
                input_schema=_input_schema(visible_spec(stub.function.id, resolution, None)),
            )
            for stub in stubs
        ]
        tools = {str(named): named.id for named in mentioned}
        program = Program(code, tuple(functions), HEADER, names.modules_in(code))
        return BoundProgram(program, tools, names.missing_functions(code), names.by_module.keys())

    def _names(self, resolution: Resolution) -> ProgramNames:
        known = self._cached.get(resolution.view)
        if known is None or known[0] is not resolution:
            # Locked tools rename no open one, so these are the names that a search tells.
            known = self._cached[resolution.view] = resolution, ProgramNames.of(resolution.open_ids)
            while len(self._cached) > MAX_CACHED_VIEWS:
                self._cached.popitem(last=False)
        self._cached.move_to_end(resolution.view)
        return known[1]


def _input_schema(spec: ToolSpec | None) -> JsonSchema | None:
    return None if spec is None else to_program_names(spec.input_schema)
