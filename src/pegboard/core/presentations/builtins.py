"""Where each of the gateway's own tools is: at which endpoint it is listed, at which it is not, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from pegboard.core.builtin_verdict import closed_clause
from pegboard.core.deferral import has_deferred
from pegboard.core.ids import BuiltinKey, ToolId
from pegboard.core.policy import Policy
from pegboard.core.prompting import PYTHON, SCHEMAS, SEARCH, SQL
from pegboard.core.resolve import Open, Resolution, Verdict
from pegboard.core.ticket import TICKET_TOOL

from .choice import chosen
from .costs import OWN
from .kept import kept
from .presenting import Presented

FIXED: Final = tuple(presented for presented in Presented if presented is not Presented.AUTO)
"""Those that have a path of their own."""
_FINDERS: Final[Mapping[Presented, str]] = {
    Presented.META: "list_tools",
    Presented.SEARCH: "retrieve_tools",
    Presented.CODE: "tool_search",
}

NO_SANDBOX: Final = "this gateway has no sandbox, so it runs no programs"

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
class OwnVerdicts:
    """Those on the gateway's own tools that one caller may have whether they are on the board or not."""

    search: Verdict
    programs: Verdict | None
    """`None` where this gateway runs no programs."""
    sandbox_away: str | None = None
    """Why no program can run now, as a clause. The tool that runs them is listed all the same."""

    @property
    def confirms_programs(self) -> bool:
        return isinstance(self.programs, Open) and self.programs.confirm


def endpoint(presented: Presented) -> str:
    return f"/mcp/{presented.value}"


def presentation_here(resolution: Resolution, policy: Policy) -> Presented:
    """Which one a client of /mcp gets in this view."""
    presenting = policy.declared.presenting
    auto = presenting.presentation is Presented.AUTO
    return chosen(resolution, presenting) if auto else presenting.presentation


def builtin_places(
    name: str, resolution: Resolution, policy: Policy, own: OwnVerdicts, only: Presented | None = None
) -> Iterator[BuiltinPlace]:
    """At /mcp and at each path of its own; or at the path of one presentation alone."""
    if only is not None:
        yield BuiltinPlace(endpoint(only), *_placed(name, only, resolution, policy, own))
        return
    here = presentation_here(resolution, policy)
    yield BuiltinPlace(f"/mcp and stdio, as {here.value}", *_placed(name, here, resolution, policy, own))
    for presented in FIXED:
        yield BuiltinPlace(endpoint(presented), *_placed(name, presented, resolution, policy, own))


def _placed(
    name: str, presented: Presented, resolution: Resolution, policy: Policy, own: OwnVerdicts
) -> tuple[bool, str]:
    if name in OWN.get(presented, {}):
        return _presented(name, presented, resolution, policy, own)
    if name == PYTHON and presented is Presented.CODE:
        return _running_programs(own)
    if name == TICKET_TOOL:
        return _ticket(presented, resolution, own)
    verdict = resolution.verdicts.get(ToolId(BuiltinKey(), name))
    if isinstance(verdict, Open):
        if presented is Presented.DIRECT:
            return True, "it is on the board, and open"
        if presented is Presented.DEFERRED:
            return True, "it is on the board, and listed there without a search"
        return True, f"it is on the board, and found by {_FINDERS[presented]} like any other tool"
    if verdict is not None:
        return False, closed_clause(verdict) or ""
    if name == PYTHON:
        return False, "code.listed is false, so it is not on the board"
    if name in (SQL, SCHEMAS):
        return False, "no database source is on"
    others = " and ".join(endpoint(each) for each, own in OWN.items() if name in own)
    return False, f"it belongs to {others}"


def _presented(
    name: str, presented: Presented, resolution: Resolution, policy: Policy, own: OwnVerdicts
) -> tuple[bool, str]:
    """Of one of the presentation's own tools."""
    if name == SEARCH and (closed := closed_clause(own.search)) is not None:
        return False, closed
    if presented is not Presented.DEFERRED:
        return True, f"the presentation {presented.value} has it for every client"
    if has_deferred(resolution, kept(resolution, policy.declared.presenting, OWN[presented]).values()):
        return True, "there are deferred tools in this caller's view"
    return False, "no tool is deferred in this caller's view; it can be called all the same"


def _running_programs(own: OwnVerdicts) -> tuple[bool, str]:
    if own.programs is None:
        return False, NO_SANDBOX
    if (closed := closed_clause(own.programs)) is not None:
        return False, closed
    if own.sandbox_away is not None:
        return True, f"it is listed, and no program can be run: {own.sandbox_away}"
    return True, "programs are run by it there, whether code.listed is set or not"


def _ticket(presented: Presented, resolution: Resolution, own: OwnVerdicts) -> tuple[bool, str]:
    asks = any(isinstance(each, Open) and each.confirm for each in resolution.verdicts.values())
    asks = asks or (presented is Presented.CODE and own.confirms_programs)
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
