"""Routes for what is in a toolset: two lists that include and exclude its tools, and the set that comes of them."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, Literal

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.choosing import ChooseTools, Chosen, Entry, Target, choice_of, chosen_tools, entries
from pegboard.core.commands import Rejected, apply
from pegboard.core.ids import ToolsetId
from pegboard.core.override import Override
from pegboard.core.policy import Policy
from pegboard.core.scope import Scope
from pegboard.core.unlocking import PegState, state_of
from pegboard.gateway.gateway import Gateway

from .access import needs, whoever
from .answers import routes_about
from .bodies import ChoiceBody
from .deciding import Version, done
from .override_places import place_named
from .problems import Problem
from .shapes import OriginShape, VerdictShape, origin_shape, verdict_shape
from .toolsets import toolset_named

MOST_TOOLS: Final = 5_000
"""Told one by one. Of more, those that a choice adds or removes come first."""

Whose = Literal["person", "file", "manifest"]


EntryShape = TypedDict(
    "EntryShape",
    {"target": str, "includes": bool, "fits": int, "decides": int, "whose": Whose, "from": OriginShape | None},
)
"""One line of a list: how many tools of the toolset it fits now, of how many of them it decides, and whose word
it is."""


class ChosenTool(TypedDict):
    id: str
    name: str
    change: Literal["added", "removed", "in", "out"]
    state: PegState
    by: str | None
    """What the override is about that decides, if one does."""
    whose: Whose | None
    verdict: VerdictShape


class ChoiceCounts(TypedDict):
    all: int
    included: int
    added: int
    removed: int


class Choice(TypedDict):
    toolsetId: str
    includes: list[EntryShape]
    excludes: list[EntryShape]
    standing: list[EntryShape]
    """What its manifest and the operator's file say: changed there, and not here."""
    tools: list[ChosenTool]
    more: int
    """Tools beyond those that are told."""
    counts: ChoiceCounts
    problems: list[str]
    policyVersion: int


def choice_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("toolsets")
    board = gateway.board

    async def told(id: ToolsetId, before: Policy, after: Policy, problems: Sequence[str] = ()) -> Choice:
        made = await anyio.to_thread.run_sync(
            lambda: [*chosen_tools(board.catalogue, before, after, id)], abandon_on_cancel=True
        )
        return _choice(id, before, after, made, problems)

    @routes.get("/toolsets/{name}/choice")
    async def show_choice(name: str) -> Choice:
        """What people include and exclude of a toolset's tools, and each tool: in or out, and why."""
        id, policy = toolset_named(gateway, name), board.policy
        return await told(id, policy, policy)

    @routes.post("/toolsets/{name}/choice/preview")
    @needs(Scope.READ)
    async def preview_choice(name: str, body: ChoiceBody) -> Choice:
        """What `PUT …/choice` with the same body would add and remove. Nothing is saved. With `problems`, it would be
        refused, and the rest tells what holds now."""
        id, policy = toolset_named(gateway, name), board.policy
        command, wrong = _command(gateway, id, body)
        after = apply(policy, command, whoever(), gateway.clock())
        if isinstance(after, Rejected):
            wrong.append(after.why)
        if wrong or isinstance(after, Rejected):
            return await told(id, policy, policy, wrong)
        return await told(id, policy, after)

    @routes.put("/toolsets/{name}/choice")
    @needs(Scope.OPERATE)
    async def save_choice(name: str, body: ChoiceBody, if_match: Version = None) -> Choice:
        """From now on people include and exclude exactly this of the toolset's tools, by the `enabled` of their
        overrides. What those say besides stays. One write: all of it or nothing."""
        id = toolset_named(gateway, name)
        command, wrong = _command(gateway, id, body)
        if wrong:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(wrong), {"errors": [*wrong]})
        await done(gateway, command, if_match)
        return await told(id, board.policy, board.policy)

    return routes


def _command(gateway: Gateway, id: ToolsetId, body: ChoiceBody) -> tuple[ChooseTools, list[str]]:
    """And what of the body cannot be read. What is said already is taken as it stands, also of tools that are gone."""
    known = {str(row.target): row.target for row in choice_of(gateway.board.policy.decided, id)}
    wrong: list[str] = []

    def read(texts: Sequence[str]) -> tuple[Target, ...]:
        found: dict[Target, None] = {}
        for text in texts:
            try:
                found[known.get(text) or place_named(gateway, text.strip(), id)[1]] = None
            except Problem as problem:
                wrong.append(problem.detail)
        return tuple(found)

    return ChooseTools(id, read(body.includes), read(body.excludes)), wrong


def _choice(id: ToolsetId, before: Policy, after: Policy, made: Sequence[Chosen], problems: Sequence[str]) -> Choice:
    found = entries(after, id, made)
    people = [each for each in found if _whose(each.row) == "person"]
    changed = [each for each in made if each.was is not each.now]
    shown = made if len(made) <= MOST_TOOLS else [*changed, *(each for each in made if each.was is each.now)]
    return {
        "toolsetId": id,
        "includes": [_entry(each) for each in people if each.includes],
        "excludes": [_entry(each) for each in people if not each.includes],
        "standing": [_entry(each) for each in found if each not in people],
        "tools": [_tool(each) for each in shown[:MOST_TOOLS]],
        "more": max(0, len(made) - MOST_TOOLS),
        "counts": {
            "all": len(made),
            "included": sum(each.now for each in made),
            "added": sum(each.now for each in changed),
            "removed": sum(each.was for each in changed),
        },
        "problems": [*problems],
        "policyVersion": before.version,
    }


def _entry(entry: Entry) -> EntryShape:
    row = entry.row
    origin = row.origin("enabled")
    return {
        "target": str(row.target),
        "includes": entry.includes,
        "fits": entry.fits,
        "decides": entry.decides,
        "whose": _whose(row),
        "from": None if origin is None else origin_shape(origin),
    }


def _whose(row: Override) -> Whose:
    return "manifest" if row.manifest else "file" if row.declared else "person"


def _tool(each: Chosen) -> ChosenTool:
    change: Literal["added", "removed", "in", "out"] = "in" if each.now else "out"
    if each.was is not each.now:
        change = "added" if each.now else "removed"
    return {
        "id": str(each.tool.id),
        "name": each.tool.id.name,
        "change": change,
        "state": state_of(each.verdict),
        "by": None if each.by is None else str(each.by.target),
        "whose": None if each.by is None else _whose(each.by),
        "verdict": {**verdict_shape(each.verdict)},
    }
