"""Routes: the tools of a toolset, and its include and exclude lists."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, Literal

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.toolset_choice import (
    ChoiceEntry,
    ChoiceTarget,
    SetToolsetChoice,
    ToolChoice,
    choice_entries,
    choice_overrides,
    tool_choices,
)
from pegboard.core.explain.states import ToolState, state_of
from pegboard.core.model.ids import ToolsetId
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.auth import decision_author, requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.overrides import parse_override_place
from pegboard.surfaces.rest.requests import ToolChoiceBody
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import OriginInfo, VerdictInfo, origin_info, verdict_info
from pegboard.surfaces.rest.toolsets import find_toolset

MAX_TOOLS: Final = 5_000
"""Told one by one. Of more, those that a choice adds or removes come first."""

ChoiceAuthor = Literal["person", "file", "manifest"]


ChoiceEntryInfo = TypedDict(
    "ChoiceEntryInfo",
    {
        "target": str,
        "includes": bool,
        "matchCount": int,
        "decidedCount": int,
        "author": ChoiceAuthor,
        "from": OriginInfo | None,
    },
)
"""One line of a list: how many tools of the toolset it fits now, of how many of them it decides, and whose word
it is."""


class ToolChoiceInfo(TypedDict):
    id: str
    name: str
    change: Literal["added", "removed", "in", "out"]
    state: ToolState
    target: str | None
    """What the override is about that decides, if one does."""
    author: ChoiceAuthor | None
    verdict: VerdictInfo


class ToolChoiceCounts(TypedDict):
    all: int
    included: int
    added: int
    removed: int


class ToolChoiceResponse(TypedDict):
    toolsetId: str
    includes: list[ChoiceEntryInfo]
    excludes: list[ChoiceEntryInfo]
    declared: list[ChoiceEntryInfo]
    """What its manifest and the operator's file say: changed there, and not here."""
    tools: list[ToolChoiceInfo]
    omitted: int
    """Tools beyond those that are told."""
    counts: ToolChoiceCounts
    problems: list[str]
    policyVersion: int


def choice_routes(board: BoardState, clock: Clock, operator: Operator) -> APIRouter:
    routes = make_router("toolsets")

    async def describe_choice(
        id: ToolsetId, before: Policy, after: Policy, problems: Sequence[str] = ()
    ) -> ToolChoiceResponse:
        made = await anyio.to_thread.run_sync(
            lambda: [*tool_choices(board.catalogue, before, after, id)], abandon_on_cancel=True
        )
        return _choice_response(id, before, after, made, problems)

    @routes.get("/toolsets/{name}/choice")
    async def show_choice(name: str) -> ToolChoiceResponse:
        """What people include and exclude of a toolset's tools, and each tool: in or out, and why."""
        id, policy = find_toolset(board, name), board.policy
        return await describe_choice(id, policy, policy)

    @routes.post("/toolsets/{name}/choice/preview")
    @requires_scopes(TokenScope.READ)
    async def preview_choice(name: str, body: ToolChoiceBody) -> ToolChoiceResponse:
        """What `PUT …/choice` with the same body would add and remove. Nothing is saved. With `problems`, it would be
        refused, and the rest tells what holds now."""
        id, policy = find_toolset(board, name), board.policy
        command, wrong = _to_command(board, id, body)
        after = apply_command(policy, command, decision_author(), clock())
        if isinstance(after, CommandRejection):
            wrong.append(after.why)
        if wrong or isinstance(after, CommandRejection):
            return await describe_choice(id, policy, policy, wrong)
        return await describe_choice(id, policy, after)

    @routes.put("/toolsets/{name}/choice")
    @requires_scopes(TokenScope.OPERATE)
    async def save_choice(name: str, body: ToolChoiceBody, if_match: IfMatchVersion = None) -> ToolChoiceResponse:
        """From now on people include and exclude exactly this of the toolset's tools, by the `enabled` of their
        overrides. What those say besides stays. One write: all of it or nothing."""
        id = find_toolset(board, name)
        command, wrong = _to_command(board, id, body)
        if wrong:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(wrong), {"errors": [*wrong]})
        await run_command(operator, command, if_match)
        return await describe_choice(id, board.policy, board.policy)

    return routes


def _to_command(board: BoardState, id: ToolsetId, body: ToolChoiceBody) -> tuple[SetToolsetChoice, list[str]]:
    """And what of the body cannot be read. What is said already is taken as it stands, also of tools that are gone."""
    known = {str(row.target): row.target for row in choice_overrides(board.policy.decisions, id)}
    wrong: list[str] = []

    def parse_targets(texts: Sequence[str]) -> tuple[ChoiceTarget, ...]:
        found: dict[ChoiceTarget, None] = {}
        for text in texts:
            try:
                found[known.get(text) or parse_override_place(board, text.strip(), id)[1]] = None
            except ProblemError as problem:
                wrong.append(problem.detail)
        return tuple(found)

    return SetToolsetChoice(id, parse_targets(body.includes), parse_targets(body.excludes)), wrong


def _choice_response(
    id: ToolsetId, before: Policy, after: Policy, made: Sequence[ToolChoice], problems: Sequence[str]
) -> ToolChoiceResponse:
    found = choice_entries(after, id, made)
    people = [each for each in found if _author_of(each.row) == "person"]
    changed = [each for each in made if each.before is not each.after]
    shown = made if len(made) <= MAX_TOOLS else [*changed, *(each for each in made if each.before is each.after)]
    return {
        "toolsetId": id,
        "includes": [_entry_info(each) for each in people if each.includes],
        "excludes": [_entry_info(each) for each in people if not each.includes],
        "declared": [_entry_info(each) for each in found if each not in people],
        "tools": [_tool_choice_info(each) for each in shown[:MAX_TOOLS]],
        "omitted": max(0, len(made) - MAX_TOOLS),
        "counts": {
            "all": len(made),
            "included": sum(each.after for each in made),
            "added": sum(each.after for each in changed),
            "removed": sum(each.before for each in changed),
        },
        "problems": [*problems],
        "policyVersion": before.version,
    }


def _entry_info(entry: ChoiceEntry) -> ChoiceEntryInfo:
    row = entry.row
    origin = row.origin("enabled")
    return {
        "target": str(row.target),
        "includes": entry.includes,
        "matchCount": entry.matched_count,
        "decidedCount": entry.decided_count,
        "author": _author_of(row),
        "from": None if origin is None else origin_info(origin),
    }


def _author_of(row: Override) -> ChoiceAuthor:
    return "manifest" if row.from_manifest else "file" if row.is_declared else "person"


def _tool_choice_info(each: ToolChoice) -> ToolChoiceInfo:
    change: Literal["added", "removed", "in", "out"] = "in" if each.after else "out"
    if each.before is not each.after:
        change = "added" if each.after else "removed"
    return {
        "id": str(each.tool.id),
        "name": each.tool.id.name,
        "change": change,
        "state": state_of(each.verdict),
        "target": None if each.by is None else str(each.by.target),
        "author": None if each.by is None else _author_of(each.by),
        "verdict": {**verdict_info(each.verdict)},
    }
