"""Routes for tools: every verdict, one tool in full, a call, and the trail of a decision."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, assert_never
from uuid import uuid4

import anyio
from fastapi import APIRouter, Query, Request

from pegboard.core.addressed import address_user
from pegboard.core.call import (
    BadArguments,
    CallCancellation,
    ConfirmationRefusal,
    LockedToolRefusal,
    NeedsInput,
    ProtocolErrorReply,
    ProviderFailure,
    ToolCall,
    ToolFailure,
    ToolSuccess,
    UnknownTool,
    refusal_text,
)
from pegboard.core.catalogue import ProviderStart
from pegboard.core.elsewhere import callers_without
from pegboard.core.explain import explain, tool_seen_by
from pegboard.core.foreign_names import TOOLS
from pegboard.core.gone import describe_missing, missing_remedy, missing_tools
from pegboard.core.ids import LOCAL_PRINCIPAL, CallId, PrincipalId, SourceKey, ToolId, WireName
from pegboard.core.reference import (
    ReferenceKind,
    ToolDirectory,
    UnknownReference,
    closest_names,
    find_tools,
    parse_reference,
)
from pegboard.core.resolve import LockedTool, OpenTool, Resolution, build_directory
from pegboard.core.scope import TokenScope
from pegboard.core.status import NoToolListYet, explain_reason, operator_detail, remedy_for, status_of
from pegboard.core.unknown_names import UnknownName, unknown_names
from pegboard.core.unlisted import sources_without_list
from pegboard.core.unlocking import suggest_action
from pegboard.core.view import View
from pegboard.gateway.caller import CallOutcome
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.unlisted import wait_until_listed

from .access import acting_caller, requires_scopes
from .activity_shapes import TRIAL_PRESENTATION
from .answers import make_router
from .bodies import CallBody, ToolQuery, ToolsQuery, WhyQuery
from .builtins import builtin_steps, explain_builtin, is_off_board_builtin
from .override_shapes import appearance_field_infos, rendered_info
from .pages import paginate
from .problem_shapes import UnlistedProviderInfo
from .problems import ProblemError
from .rendering import render_tool_call
from .shapes import action_info, decision_trail_info, full_tool_info, notice_infos, tool_info
from .tool_faces import tool_forms_info
from .tool_shapes import (
    CallerWithoutInfo,
    CallResponse,
    ExplainToolResponse,
    ShowToolResponse,
    ToolsResponse,
    TrialCallResponse,
)
from .trials import call_trial_info

_MAX_NAMED = 50


def tool_routes(gateway: Gateway, installer: Callable[[], ToolsetInstaller]) -> APIRouter:
    routes = make_router("tools")
    board = gateway.board

    @routes.get("/tools")
    async def list_tools(asked: Annotated[ToolsQuery, Query()]) -> ToolsResponse:
        """Every tool of the catalogue with its verdict for this view."""
        await gateway.unknown_names.refresh()
        resolution = checked_resolution(gateway, asked.view())
        ids, following = paginate([*resolution.verdicts], str, asked.limit, asked.after)
        return {
            **following,
            "tools": [tool_info(id, resolution) for id in ids],
            "policyVersion": resolution.policy_version,
            "notices": notice_infos(board.notices),
            "flaws": [
                {"id": str(source), "sentence": flaw.sentence}
                for source, word in board.catalogue.listings.items()
                for flaw in word.problems
            ],
        }

    @routes.get("/tools/show")
    async def show_tool(asked: Annotated[ToolQuery, Query()]) -> ShowToolResponse:
        """One tool in full, locked or not: this is the operator's view. `asOffered` is what its server says of it,
        `asOverridden` what a model sees, `difference` what lies between. A tool over databases is shown as over those
        that the principal may ask."""
        view = asked.view()
        resolution = checked_resolution(gateway, view)
        id = find_tool(gateway, asked.tool, resolution, as_printed=True)
        tool = tool_seen_by(board.catalogue.tools[id], board.policy, view)
        return {**full_tool_info(tool, resolution, board.policy), **tool_forms_info(tool, board.policy)}

    @routes.get("/why")
    async def explain_tool(asked: Annotated[WhyQuery, Query()]) -> ExplainToolResponse:
        """Every step of the decision for one tool and what it said. The gateway's own tools are known, wherever they
        are; `presentation` asks about its endpoint alone."""
        view = asked.view()
        if is_off_board_builtin(gateway, asked.tool, view):
            return explain_builtin(gateway, asked.tool, view, asked.asked_presentation)
        await _wait_for_listing(gateway, asked.tool, view)
        resolution = checked_resolution(gateway, view)
        id = find_tool(gateway, asked.tool, resolution, as_printed=True)
        trail = explain(
            *(board.catalogue, board.policy, view, id),
            held=resolution.reserved_names,
            presented=asked.asked_presentation,
            now=gateway.clock(),
        )
        if trail is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{id} left the board just now.")
        shape = decision_trail_info(trail)
        return {
            **shape,
            "steps": [*shape["steps"], *builtin_steps(gateway, id, view, asked.asked_presentation)],
            "action": action_info(suggest_action(trail.verdict, board.policy)),
            "others": caller_without_infos(gateway, view, id),
            "overrides": appearance_field_infos(trail.override, trail.effects),
            "policyVersion": resolution.policy_version,
            "unknownNames": [str(entry) for entry in _unknown_name_entries(gateway) if entry.may_mean(id)],
        }

    @routes.post("/call")
    @requires_scopes(TokenScope.CALL, TokenScope.OPERATE)
    async def call_tool(body: CallBody, request: Request) -> CallResponse | TrialCallResponse:
        """One call by the operator, through the same admission as any client's, as the principal of the token. Leaving
        gives the call up. With `trial` it is marked so in the activity, and told in each form with what it costs:
        `raw`, `asModel` and `rendered`."""
        acting = acting_caller(body.principal)
        view = body.view_of(acting.principal)
        await _wait_for_listing(gateway, body.tool, view)
        resolution = checked_resolution(gateway, view)
        id = find_tool(gateway, body.tool, resolution)
        asked = ToolCall(
            id=CallId(uuid4().hex),
            name=resolution.names.get(id, WireName(str(id))),
            arguments=body.arguments,
            principal=view.principal,
            at=gateway.clock(),
            client=acting.client,
            presentation=TRIAL_PRESENTATION if body.trial else "",
            made_by=acting.made_by,
        )
        ended: CallOutcome = CallCancellation()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_on_disconnect, request, tasks.cancel_scope)
            ended = await gateway.caller.call(asked, view)
            tasks.cancel_scope.cancel()
        told = call_response(ended)
        result = told.get("result")
        shown = (
            await render_tool_call(gateway, installer, id, body.arguments, result) if isinstance(result, dict) else None
        )
        if shown is not None:
            told["rendered"] = rendered_info(shown)
        return {**told, **call_trial_info(ended, asked, told.get("rendered"))} if body.trial else told

    return routes


def caller_without_infos(gateway: Gateway, view: View, id: ToolId) -> list[CallerWithoutInfo]:
    found = callers_without(gateway.board.catalogue, gateway.board.policy, view, id)
    return [{"principal": each.principal, "sentence": each.sentence} for each in found]


async def _wait_for_listing(gateway: Gateway, text: str, view: View) -> None:
    """Wait for a server that is starting and may have the tool."""
    board = gateway.board
    found = find_tools(
        parse_reference(text), build_directory(board.catalogue, board.policy), ReferenceKind.TOOL, suggest=False
    )
    if isinstance(found, UnknownReference) and WireName(text) not in board.resolution(view).by_name:
        why = await wait_until_listed(board, text, view)
        if why is not None and isinstance(why.reason, NoToolListYet) and isinstance(why.reason.health, ProviderStart):
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, refusal_text(why))


def find_tool(gateway: Gateway, text: str, resolution: Resolution, *, as_printed: bool = False) -> ToolId:
    """One tool, by id, by a name that a client sees or saw for it, or by its own name while only one tool has it.
    With `as_printed` also by a name with escapes, if nothing else has it: to look at, never to call or decide."""
    if (id := resolution.find_tool(text)) is not None:
        return id
    within = build_directory(gateway.board.catalogue, gateway.board.policy)
    found = find_tools(parse_reference(text), within, ReferenceKind.TOOL)
    if as_printed and isinstance(found, UnknownReference):
        found = within.find_by_printed_form(text) or found
    if isinstance(found, UnknownReference):
        if text in TOOLS:
            # By the name that another program has for it.
            found = replace(found, suggestions=(TOOLS[text],))
        near = [id for name in found.suggestions for id in _find_by_name(name, within)]
        raise _removed_tool_problem(gateway, text, resolution.view) or _unknown_tool_problem(
            gateway, text, str(found), near
        )
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown_tool_problem(gateway, text, f"No tool fits {text!r}.", ())
    ids = ", ".join(str(id) for id in found[:10])
    several = f"{len(found)} tools fit {text!r}: {ids}. Name one by its id."
    raise ProblemError(HTTPStatus.BAD_REQUEST, several, {"tools": [str(id) for id in found[:_MAX_NAMED]]})


def _find_by_name(text: str, within: ToolDirectory) -> tuple[ToolId, ...]:
    found = find_tools(parse_reference(text), within, ReferenceKind.TOOL, suggest=False)
    return () if isinstance(found, UnknownReference) else found


def _removed_tool_problem(gateway: Gateway, text: str, view: View) -> ProblemError | None:
    """Of a tool that its source offered once, the same is told as on the wall."""
    left = [
        each
        for each in missing_tools(gateway.board.catalogue, gateway.board.policy, view)
        if each.tool == parse_reference(text)
    ]
    told = [f"{describe_missing(each)} {missing_remedy(each)}" for each in left]
    return ProblemError(HTTPStatus.NOT_FOUND, told[0], {"tools": [], "unheard": []}) if told else None


def _unknown_tool_problem(gateway: Gateway, text: str, told: str, near: Sequence[ToolId]) -> ProblemError:
    """A tool that is looked for in vain may belong to a server that has not listed any yet; an id names the one."""
    silent = [*sources_without_list(gateway.board.catalogue, gateway.board.policy)]
    meant = parse_reference(text)
    its_own = [(source, verdict) for source, verdict in silent if isinstance(meant, ToolId) and meant.source == source]
    if its_own:
        (_, verdict), silent, near = its_own[0], its_own, ()
        told = f"Whether there is a tool {text!r} is not known: its server has not listed its tools."
        if isinstance(verdict, LockedTool):
            told += f" {explain_reason(verdict.reason)} {address_user(remedy_for(verdict.reason))}"
    elif silent:
        names = ", ".join(str(source) for source, _ in silent[:5]) + (" and others" if len(silent) > 5 else "")
        told += f" Not up, so its tools are not known: {names}."
    told = " ".join((told, *(str(entry) for entry in _unknown_name_entries(gateway) if entry.text == text)))
    shapes = [_unlisted_provider_info(gateway, source, verdict) for source, verdict in silent[:_MAX_NAMED]]
    told += "" if its_own else " See: pegboard tools list"
    return ProblemError(HTTPStatus.NOT_FOUND, told, {"tools": [str(id) for id in near[:_MAX_NAMED]], "unheard": shapes})


def _unknown_name_entries(gateway: Gateway) -> tuple[UnknownName, ...]:
    return unknown_names(gateway.board.catalogue, gateway.board.policy)


def _unlisted_provider_info(
    gateway: Gateway, source: SourceKey, verdict: OpenTool | LockedTool
) -> UnlistedProviderInfo:
    said = (
        explain_reason(verdict.reason) if isinstance(verdict, LockedTool) else f"{source} has not listed its tools yet."
    )
    if isinstance(verdict, LockedTool) and (more := operator_detail(verdict.reason)) is not None:
        said += f" {more}"
    return {"id": str(source), "sentence": said, "action": action_info(suggest_action(verdict, gateway.board.policy))}


async def cancel_on_disconnect(request: Request, scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def checked_resolution(gateway: Gateway, view: View) -> Resolution:
    resolution = gateway.board.resolution(view)
    if not gateway.board.policy.is_known_principal(view.principal):
        raise ProblemError(HTTPStatus.NOT_FOUND, _unknown_principal_text(view.principal, gateway.board.policy.callers))
    if resolution.unknown_in_narrowing:
        told = [str(unknown) for unknown in resolution.unknown_in_narrowing]
        sets = sorted({id.toolset for id in resolution.offered_tools})
        offered = (
            "Toolsets to choose from: "
            f"{', '.join(sets[:_MAX_NAMED]) or 'none'}{' …' if len(sets) > _MAX_NAMED else ''}."
        )
        raise ProblemError(
            HTTPStatus.BAD_REQUEST,
            " ".join((*told, offered)),
            {"errors": told, "offered": sorted(str(id) for id in resolution.offered_tools)[:200]},
        )
    return resolution


def _unknown_principal_text(principal: PrincipalId, known: Iterable[PrincipalId]) -> str:
    names = sorted({*known, LOCAL_PRINCIPAL})
    near = closest_names(principal, names)
    meant = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(names[:_MAX_NAMED])}."
    how = "Callers are declared under principals in pegboard.yaml, or have a token: pegboard tokens make"
    return f"There is no caller {principal!r}. {meant} {how}"


def call_response(ended: CallOutcome) -> CallResponse:
    match ended:
        case ToolSuccess(body):
            return {"ended": "returned", "result": json.loads(body)}
        case ToolFailure(body):
            return {"ended": "tool_failed", "result": json.loads(body)}
        case NeedsInput(body):
            return {"ended": "needs_input", "result": json.loads(body)}
        case ProtocolErrorReply(error):
            return {"ended": "demanded", "error": json.loads(error)}
        case ProviderFailure(why, may_have_run, error):
            told: CallResponse = {"ended": "provider_failed", "sentence": why, "mayHaveRun": may_have_run}
            return told if error is None else {**told, "error": json.loads(error)}
        case CallCancellation():
            return {"ended": "cancelled"}
        case UnknownTool():
            return {"ended": "unknown_tool", "sentence": refusal_text(ended)}
        case BadArguments():
            return {"ended": "bad_arguments", "sentence": refusal_text(ended)}
        case ConfirmationRefusal(_, how, _, ticket):
            return {"ended": how.value, "sentence": refusal_text(ended), "ticket": ticket}
        case LockedToolRefusal(_, reason):
            return {"ended": status_of(reason).value, "sentence": refusal_text(ended)}
        case _:
            assert_never(ended)
