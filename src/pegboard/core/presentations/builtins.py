"""Where each of the gateway's own tools is: at which endpoint it is listed, at which it is not, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON, SCHEMAS, SQL
from pegboard.core.resolve import Open, Resolution
from pegboard.core.ticket import TICKET_TOOL

from .choice import chosen
from .costs import OWN
from .presenting import Presented

FIXED: Final = tuple(presented for presented in Presented if presented is not Presented.AUTO)
"""Those that have a path of their own."""
_FINDERS: Final[Mapping[Presented, str]] = {
    Presented.META: "list_tools",
    Presented.SEARCH: "retrieve_tools",
    Presented.CODE: "tool_search",
}

BUILTIN_TOOLS: Final = frozenset(name for own in OWN.values() for name in own) | {PYTHON, SCHEMAS, SQL, TICKET_TOOL}
"""Every tool that the gateway itself can have."""


@dataclass(frozen=True, slots=True)
class BuiltinPlace:
    where: str
    """An endpoint, or the prompts of models."""
    is_there: bool
    why: str
    """As a clause."""


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """What the gateway knows of running programs for one caller."""

    why_not: str | None = None
    """As a clause, where none can be run."""
    confirms: bool = False
    """Whether a person is asked about each program."""


def endpoint(presented: Presented) -> str:
    return f"/mcp/{presented.value}"


def presentation_here(resolution: Resolution, policy: Policy) -> Presented:
    """Which one a client of /mcp gets in this view."""
    presenting = policy.declared.presenting
    auto = presenting.presentation is Presented.AUTO
    return chosen(resolution, presenting) if auto else presenting.presentation


def builtin_places(
    name: str, resolution: Resolution, policy: Policy, programs: ProgramFacts, only: Presented | None = None
) -> Iterator[BuiltinPlace]:
    """At /mcp and at each path of its own; or at the path of one presentation alone."""
    if only is not None:
        yield _place(name, only, endpoint(only), resolution, programs)
        return
    here = presentation_here(resolution, policy)
    yield _place(name, here, f"/mcp and stdio, as {here.value}", resolution, programs)
    for presented in FIXED:
        yield _place(name, presented, endpoint(presented), resolution, programs)


def _place(name: str, presented: Presented, where: str, resolution: Resolution, programs: ProgramFacts) -> BuiltinPlace:
    is_there, why = _placed(name, presented, resolution, programs)
    return BuiltinPlace(where, is_there, why)


def _placed(name: str, presented: Presented, resolution: Resolution, programs: ProgramFacts) -> tuple[bool, str]:
    if name in OWN.get(presented, {}):
        return True, f"the presentation {presented.value} has it for every client"
    if name == PYTHON and presented is Presented.CODE:
        if programs.why_not is not None:
            return False, programs.why_not
        return True, "programs are run by it there, whether code.listed is set or not"
    if name == TICKET_TOOL:
        return _ticket(presented, resolution, programs)
    verdict = resolution.verdicts.get(ToolId(BuiltinKey(), name))
    if isinstance(verdict, Open):
        if presented is Presented.DIRECT:
            return True, "it is on the board, and open"
        if presented is Presented.DEFERRED:
            return True, "it is on the board, and listed there without a search"
        return True, f"it is on the board, and found by {_FINDERS[presented]} like any other tool"
    if verdict is not None:
        return False, "it is on the board, and not open to this caller"
    if name == PYTHON:
        return False, "code.listed is false, so it is not on the board"
    if name in (SQL, SCHEMAS):
        return False, "no database source is on"
    others = " and ".join(endpoint(each) for each, own in OWN.items() if name in own)
    return False, f"it belongs to {others}"


def _ticket(presented: Presented, resolution: Resolution, programs: ProgramFacts) -> tuple[bool, str]:
    asks = any(isinstance(each, Open) and each.confirm for each in resolution.verdicts.values())
    asks = asks or (presented is Presented.CODE and programs.confirms)
    if not asks:
        return False, "no tool that is open to this caller must be confirmed, so no call waits for a person"
    match presented:
        case Presented.META | Presented.SEARCH:
            return False, "it is not listed there, and the answer to a call that waits tells how call_tool reaches it"
        case Presented.DEFERRED:
            return True, "it is listed as soon as a tool is that must be confirmed"
        case Presented.DIRECT | Presented.CODE | Presented.AUTO:
            return True, "calls of a tool that must be confirmed wait for a person"
        case _:
            assert_never(presented)
