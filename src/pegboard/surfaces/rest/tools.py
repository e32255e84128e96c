"""Routes: tools, calls and explanations."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, NotRequired, assert_never
from uuid import uuid4

import anyio
from fastapi import APIRouter, Query, Request
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.calls.activity import DECISION
from pegboard.core.calls.call import (
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
from pegboard.core.commands.commands import ApproveTool, SetSwitch, SetToolSwitches
from pegboard.core.decision.listing_changes import sources_without_list
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution, Verdict, build_directory
from pegboard.core.decision.status import NoToolListYet, explain_reason, operator_detail, remedy
from pegboard.core.decision.unknown_names import UnknownName, unknown_names
from pegboard.core.explain.explain import callers_without, explain, tool_seen_by
from pegboard.core.explain.states import NO_ACTION, describe_missing, missing_remedy, missing_tools, suggest_action
from pegboard.core.model.catalogue import ProviderStart
from pegboard.core.model.foreign_names import TOOLS
from pegboard.core.model.ids import (
    LOCAL_PRINCIPAL,
    BuiltinKey,
    CallId,
    PrincipalId,
    SourceKey,
    ToolId,
    WireName,
    parse_tool_id,
)
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import (
    ReferenceKind,
    ToolDirectory,
    UnknownReference,
    closest_names,
    find_tools,
    parse_reference,
)
from pegboard.core.model.selection import View
from pegboard.core.model.settings import PYTHON, SEARCH, PresentationMode
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Fingerprint, Tool
from pegboard.core.policy.policy import Approval
from pegboard.core.presentations.builtins import BUILTIN_TOOLS, BuiltinPlace
from pegboard.core.presentations.entries import estimate_tokens
from pegboard.core.review.diff import spec_sections
from pegboard.gateway.board import BoardState
from pegboard.gateway.caller import CallOutcome, wait_until_listed
from pegboard.gateway.maintenance import UnknownNames
from pegboard.gateway.operator import Operator
from pegboard.gateway.prompts import PromptBuilder
from pegboard.gateway.result_text import outcome_word
from pegboard.gateway.tool_calls import ToolCalls
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.ports.audit import Audit, AuditQuery, AuditRow
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.activity_schemas import TRIAL_PRESENTATION, ActivityRecord, activity_record
from pegboard.surfaces.rest.auth import acting_caller, requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.override_schemas import (
    EffectiveFieldInfo,
    RenderedInfo,
    effective_field_infos,
    render_tool_call,
    rendered_info,
)
from pegboard.surfaces.rest.requests import (
    ApproveBody,
    CallBody,
    ToolQuery,
    ToolsQuery,
    ToolSwitchBody,
    ToolSwitchesBody,
    WhyQuery,
)
from pegboard.surfaces.rest.responses import PageResponse, ProblemError, UnlistedProviderInfo, make_router, paginate
from pegboard.surfaces.rest.review_schemas import (
    DiffSectionInfo,
    ToolFormsInfo,
    ToolSpecInfo,
    diff_section_infos,
    tool_forms_info,
    tool_spec_info,
)
from pegboard.surfaces.rest.schemas import (
    ActionInfo,
    DecisionStepInfo,
    DecisionTrailInfo,
    FreeObject,
    FullToolInfo,
    NoticeInfo,
    ToolInfo,
    VerdictInfo,
    action_info,
    decision_trail_info,
    full_tool_info,
    iso_time,
    notice_infos,
    tool_info,
    verdict_info,
)

# A call that was made to try a tool: its result in every form, each with what it costs a model.


class TextCostInfo(TypedDict):
    text: str
    tokens: int


class CallTrialInfo(TypedDict):
    trial: bool
    callId: str
    raw: NotRequired[TextCostInfo]
    asModel: TextCostInfo
    renderedTokens: NotRequired[int]


def call_trial_info(ended: CallOutcome, call: ToolCall, rendered: RenderedInfo | None) -> CallTrialInfo:
    """`raw` is what the provider answered, where it did; `asModel` the text that a model in a chat would be given, of
    refusals too; the cost of what is rendered is that of its configuration, without the page of an artifact."""
    # Only here, because it loads all there is of prompts.
    from pegboard.gateway.result_text import describe_outcome
    from pegboard.prompts.results import shorten_result

    answer: CallTrialInfo = {
        "trial": True,
        "callId": call.id,
        "asModel": _text_cost_info(shorten_result(describe_outcome(ended, call.name, None))),
    }
    if isinstance(ended, ToolSuccess | ToolFailure | NeedsInput):
        answer["raw"] = _text_cost_info(ended.body.decode("utf-8", "replace"))
    elif isinstance(ended, ProtocolErrorReply):
        answer["raw"] = _text_cost_info(ended.error.decode("utf-8", "replace"))
    if rendered is not None:
        config = rendered["config"]
        if "artifact" in config:
            config = {name: value for name, value in config.items() if name != "content"}
        answer["renderedTokens"] = estimate_tokens(
            json.dumps({**rendered, "config": config}, ensure_ascii=False, separators=(",", ":"), default=str)
        )
    return answer


def _text_cost_info(text: str) -> TextCostInfo:
    return {"text": text, "tokens": estimate_tokens(text)}


# What routes about tools answer: lists, the trail of a decision, and how a call ended.


class ProviderProblemInfo(TypedDict):
    id: str
    """The server, or the toolset, that listed it."""
    message: str


class ToolsResponse(PageResponse):
    tools: list[ToolInfo]
    policyVersion: int
    notices: list[NoticeInfo]
    problems: list[ProviderProblemInfo]


class CallerWithoutInfo(TypedDict):
    """A caller who would not get the tool by the same request, and why."""

    principal: str
    message: str


class ExplainToolResponse(DecisionTrailInfo):
    action: ActionInfo
    otherCallers: list[CallerWithoutInfo]
    """Of a tool that this caller gets: who does not; of more than twenty the first twenty-one."""
    overrides: list[EffectiveFieldInfo]
    policyVersion: int
    """What an edit of these overrides is based on."""
    unknownNames: list[str]
    """Entries of the settings with an unknown name that may be meant for this tool."""


class CallResponse(TypedDict):
    outcome: str
    """`returned`, `tool_failed`, `needs_input`, `demanded`, `provider_failed`, `cancelled`, `unknown_tool`,
    `bad_arguments`, a way in which it was not confirmed, or the status of a locked tool."""
    result: NotRequired[FreeObject]
    """As the tool gave it."""
    error: NotRequired[object]
    message: NotRequired[str]
    mayHaveRun: NotRequired[bool]
    ticket: NotRequired[str | None]
    """Of a call that waits for a person."""
    rendered: NotRequired[RenderedInfo]


class TrialCallResponse(CallResponse, CallTrialInfo):
    """Of a trial also its forms, each with what it costs a model."""


class ShowToolResponse(FullToolInfo, ToolFormsInfo):
    """A tool as its server offers it, and as a model sees it."""


# Why the gateway's own tools are where they are, for those that are not on the board.


def is_off_board_builtin(board: BoardState, name: str, view: View) -> bool:
    """Whether the gateway itself has the tool, and no tool on the board has its name."""
    if name not in BUILTIN_TOOLS:
        return False
    catalogue = board.catalogue
    return WireName(name) not in board.resolution(view).by_name and all(id.name != name for id in catalogue.tools)


def explain_builtin(
    board: BoardState,
    tool_calls: ToolCalls,
    prompt_builder: PromptBuilder,
    name: str,
    view: View,
    presented: PresentationMode | None,
) -> ExplainToolResponse:
    # Loaded for the first who asks: it needs all there is of prompts.

    places = prompt_builder.builtin_places(view, name, presented)
    policy = board.policy
    unknown = unknown_names(board.catalogue, policy)
    ruled = _builtin_verdict(tool_calls, name, view)
    locked = ruled if isinstance(ruled, LockedTool) else None
    is_there = any(place.is_listed for place in places)
    closed = ruled if isinstance(ruled, LockedTool | HiddenTool) else None
    verdict = verdict_info(closed) if closed is not None else _verdict_info(places, is_there)
    return {
        "id": name,
        "wireName": name if is_there and closed is None else None,
        "otherReasons": [],
        **verdict,
        "steps": [*map(_step_info, places)],
        "nameNotes": [],
        "action": action_info(NO_ACTION if locked is None else suggest_action(locked, policy)),
        "otherCallers": [],
        "overrides": [],
        "policyVersion": policy.version,
        "unknownNames": [str(entry) for entry in unknown if entry.may_mean(ToolId(BuiltinKey(), name))],
    }


def _builtin_verdict(tool_calls: ToolCalls, name: str, view: View) -> Verdict | None:
    """On those of which people decide by their names; the others belong to their presentations."""
    if name == PYTHON:
        return tool_calls.verdict_on_programs(view)
    return tool_calls.verdict_on_search(view) if name == SEARCH else None


def builtin_steps(
    prompt_builder: PromptBuilder, id: ToolId, view: View, presented: PresentationMode | None
) -> list[DecisionStepInfo]:
    """What is told of the gateway's own tool on the board, behind the steps that every tool has."""
    if not isinstance(id.source, BuiltinKey):
        return []

    return [*map(_step_info, prompt_builder.builtin_places(view, id.name, presented))]


def _step_info(place: BuiltinPlace) -> DecisionStepInfo:
    asked = f"Is it listed at {place.where}?" if place.where.startswith("/") else f"Is it in {place.where}?"
    return {
        "question": asked,
        "passes": place.is_listed,
        "answer": f"{'yes' if place.is_listed else 'no'}: {place.why}",
    }


def _verdict_info(places: tuple[BuiltinPlace, ...], is_there: bool) -> VerdictInfo:
    if is_there:
        return {"verdict": "open"}
    reasons = "; ".join(dict.fromkeys(f"{place.where}: {place.why}" for place in places))
    return {"verdict": "hidden", "message": f"It is nowhere here. {reasons}."}


_MAX_NAMED = 50


def tool_routes(
    board: BoardState,
    clock: Clock,
    tool_calls: ToolCalls,
    prompt_builder: PromptBuilder,
    name_watch: UnknownNames,
    installer: Callable[[], ToolsetInstaller],
) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/tools")
    async def list_tools(asked: Annotated[ToolsQuery, Query()]) -> ToolsResponse:
        """Every tool of the catalogue with its verdict for this view."""
        await name_watch.refresh()
        resolution = checked_resolution(board, asked.view())
        ids, following = paginate([*resolution.verdicts], str, asked.limit, asked.after)
        return {
            **following,
            "tools": [tool_info(id, resolution) for id in ids],
            "policyVersion": resolution.policy_version,
            "notices": notice_infos(board.notices),
            "problems": [
                {"id": str(source), "message": flaw.sentence}
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
        resolution = checked_resolution(board, view)
        id = find_tool(board, asked.tool, resolution, as_printed=True)
        tool = tool_seen_by(board.catalogue.tools[id], board.policy, view)
        return {**full_tool_info(tool, resolution, board.policy), **tool_forms_info(tool, board.policy)}

    @routes.get("/why")
    async def explain_tool(asked: Annotated[WhyQuery, Query()]) -> ExplainToolResponse:
        """Every step of the decision for one tool and what it said. The gateway's own tools are known, wherever they
        are; `presentation` asks about its endpoint alone."""
        view = asked.view()
        if is_off_board_builtin(board, asked.tool, view):
            return explain_builtin(board, tool_calls, prompt_builder, asked.tool, view, asked.asked_presentation)
        await _wait_for_listing(board, asked.tool, view)
        resolution = checked_resolution(board, view)
        id = find_tool(board, asked.tool, resolution, as_printed=True)
        trail = explain(
            *(board.catalogue, board.policy, view, id),
            held=resolution.reserved_names,
            presented=asked.asked_presentation,
            now=clock(),
        )
        if trail is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"{id} left the board just now.")
        shape = decision_trail_info(trail)
        return {
            **shape,
            "steps": [*shape["steps"], *builtin_steps(prompt_builder, id, view, asked.asked_presentation)],
            "action": action_info(suggest_action(trail.verdict, board.policy)),
            "otherCallers": caller_without_infos(board, view, id),
            "overrides": effective_field_infos(trail.override, trail.effects),
            "policyVersion": resolution.policy_version,
            "unknownNames": [str(entry) for entry in _unknown_name_entries(board) if entry.may_mean(id)],
        }

    @routes.post("/call")
    @requires_scopes(TokenScope.CALL, TokenScope.OPERATE)
    async def call_tool(body: CallBody, request: Request) -> CallResponse | TrialCallResponse:
        """One call by the operator, through the same admission as any client's, as the principal of the token. Leaving
        gives the call up. With `trial` it is marked so in the activity, and told in each form with what it costs:
        `raw`, `asModel` and `rendered`."""
        acting = acting_caller(body.principal)
        view = body.view_of(acting.principal)
        await _wait_for_listing(board, body.tool, view)
        resolution = checked_resolution(board, view)
        id = find_tool(board, body.tool, resolution)
        asked = ToolCall(
            id=CallId(uuid4().hex),
            name=resolution.names.get(id, WireName(str(id))),
            arguments=body.arguments,
            principal=view.principal,
            at=clock(),
            client=acting.client,
            presentation=TRIAL_PRESENTATION if body.trial else "",
            made_by=acting.made_by,
            # A trial shows what a model would read.
            audience=Audience.AGENT if body.trial else Audience.OPERATOR,
        )
        ended: CallOutcome = CallCancellation()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_on_disconnect, request, tasks.cancel_scope)
            ended = await tool_calls.call(asked, view)
            tasks.cancel_scope.cancel()
        told = call_response(ended, asked.audience)
        result = told.get("result")
        shown = (
            await render_tool_call(board, installer, id, body.arguments, result) if isinstance(result, dict) else None
        )
        if shown is not None:
            told["rendered"] = rendered_info(shown)
        return {**told, **call_trial_info(ended, asked, told.get("rendered"))} if body.trial else told

    return routes


def caller_without_infos(board: BoardState, view: View, id: ToolId) -> list[CallerWithoutInfo]:
    found = callers_without(board.catalogue, board.policy, view, id)
    return [{"principal": each.principal, "message": each.sentence} for each in found]


async def _wait_for_listing(board: BoardState, text: str, view: View) -> None:
    """Wait for a server that is starting and may have the tool."""
    found = find_tools(
        parse_reference(text), build_directory(board.catalogue, board.policy), ReferenceKind.TOOL, suggest=False
    )
    if isinstance(found, UnknownReference) and WireName(text) not in board.resolution(view).by_name:
        why = await wait_until_listed(board, text, view)
        if why is not None and isinstance(why.reason, NoToolListYet) and isinstance(why.reason.health, ProviderStart):
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, refusal_text(why, audience=Audience.OPERATOR))


def find_tool(board: BoardState, text: str, resolution: Resolution, *, as_printed: bool = False) -> ToolId:
    """One tool, by id, by a name that a client sees or saw for it, or by its own name while only one tool has it.
    With `as_printed` also by a name with escapes, if nothing else has it: to look at, never to call or decide."""
    if (id := resolution.find_tool(text)) is not None:
        return id
    within = build_directory(board.catalogue, board.policy)
    found = find_tools(parse_reference(text), within, ReferenceKind.TOOL)
    if as_printed and isinstance(found, UnknownReference):
        found = within.find_by_printed_form(text) or found
    if isinstance(found, UnknownReference):
        if text in TOOLS:
            # By the name that another program has for it.
            found = replace(found, suggestions=(TOOLS[text],))
        near = [id for name in found.suggestions for id in _find_by_name(name, within)]
        raise _removed_tool_problem(board, text, resolution.view) or _unknown_tool_problem(
            board, text, str(found), near
        )
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown_tool_problem(board, text, f"No tool fits {text!r}.", ())
    ids = ", ".join(str(id) for id in found[:10])
    several = f"{len(found)} tools fit {text!r}: {ids}. Name one by its id."
    raise ProblemError(HTTPStatus.BAD_REQUEST, several, {"tools": [str(id) for id in found[:_MAX_NAMED]]})


def _find_by_name(text: str, within: ToolDirectory) -> tuple[ToolId, ...]:
    found = find_tools(parse_reference(text), within, ReferenceKind.TOOL, suggest=False)
    return () if isinstance(found, UnknownReference) else found


def _removed_tool_problem(board: BoardState, text: str, view: View) -> ProblemError | None:
    """Of a tool that its source offered once, the same is told as on the wall."""
    left = [each for each in missing_tools(board.catalogue, board.policy, view) if each.tool == parse_reference(text)]
    told = [f"{describe_missing(each)} {missing_remedy(each)}" for each in left]
    return ProblemError(HTTPStatus.NOT_FOUND, told[0], {"tools": [], "unlistedProviders": []}) if told else None


def _unknown_tool_problem(board: BoardState, text: str, told: str, near: Sequence[ToolId]) -> ProblemError:
    """A tool that is looked for in vain may belong to a server that has not listed any yet; an id names the one."""
    silent = [*sources_without_list(board.catalogue, board.policy)]
    meant = parse_reference(text)
    its_own = [(source, verdict) for source, verdict in silent if isinstance(meant, ToolId) and meant.source == source]
    if its_own:
        (_, verdict), silent, near = its_own[0], its_own, ()
        told = f"Whether there is a tool {text!r} is not known: its server has not listed its tools."
        if isinstance(verdict, LockedTool):
            told += f" {explain_reason(verdict.reason)} {remedy(verdict.reason, Audience.OPERATOR)}"
    elif silent:
        names = ", ".join(str(source) for source, _ in silent[:5]) + (" and others" if len(silent) > 5 else "")
        told += f" Not up, so its tools are not known: {names}."
    told = " ".join((told, *(str(entry) for entry in _unknown_name_entries(board) if entry.text == text)))
    shapes = [_unlisted_provider_info(board, source, verdict) for source, verdict in silent[:_MAX_NAMED]]
    told += "" if its_own else " See: pegboard tools list"
    return ProblemError(
        HTTPStatus.NOT_FOUND, told, {"tools": [str(id) for id in near[:_MAX_NAMED]], "unlistedProviders": shapes}
    )


def _unknown_name_entries(board: BoardState) -> tuple[UnknownName, ...]:
    return unknown_names(board.catalogue, board.policy)


def _unlisted_provider_info(
    board: BoardState, source: SourceKey, verdict: OpenTool | LockedTool
) -> UnlistedProviderInfo:
    said = (
        explain_reason(verdict.reason) if isinstance(verdict, LockedTool) else f"{source} has not listed its tools yet."
    )
    if isinstance(verdict, LockedTool) and (more := operator_detail(verdict.reason)) is not None:
        said += f" {more}"
    return {"id": str(source), "message": said, "action": action_info(suggest_action(verdict, board.policy))}


async def cancel_on_disconnect(request: Request, scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def checked_resolution(board: BoardState, view: View) -> Resolution:
    resolution = board.resolution(view)
    if not board.policy.is_known_principal(view.principal):
        raise ProblemError(HTTPStatus.NOT_FOUND, _unknown_principal_text(view.principal, board.policy.callers))
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
            {"errors": told, "available": sorted(str(id) for id in resolution.offered_tools)[:200]},
        )
    return resolution


def _unknown_principal_text(principal: PrincipalId, known: Iterable[PrincipalId]) -> str:
    names = sorted({*known, LOCAL_PRINCIPAL})
    near = closest_names(principal, names)
    meant = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(names[:_MAX_NAMED])}."
    how = "Callers are declared under principals in pegboard.yaml, or have a token: pegboard tokens make"
    return f"There is no caller {principal!r}. {meant} {how}"


def call_response(ended: CallOutcome, audience: Audience = Audience.OPERATOR) -> CallResponse:
    word = outcome_word(ended)
    match ended:
        case ToolSuccess(body) | ToolFailure(body) | NeedsInput(body):
            return {"outcome": word, "result": json.loads(body)}
        case ProtocolErrorReply(error):
            return {"outcome": word, "error": json.loads(error)}
        case ProviderFailure(why, may_have_run, error):
            told: CallResponse = {"outcome": word, "message": why, "mayHaveRun": may_have_run}
            return told if error is None else {**told, "error": json.loads(error)}
        case CallCancellation():
            return {"outcome": word}
        case ConfirmationRefusal(ticket=ticket):
            return {"outcome": word, "message": refusal_text(ended, audience=audience), "ticket": ticket}
        case UnknownTool() | BadArguments() | LockedToolRefusal():
            return {"outcome": word, "message": refusal_text(ended, audience=audience)}
        case _:
            assert_never(ended)


# The route for what became of one tool: decisions, the specs that are known of it, and its latest calls.


class HistoryQuery(ToolQuery):
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class SpecVersionInfo(TypedDict):
    kind: str
    fingerprint: str
    by: str | None
    at: str | None
    firstSight: bool
    spec: ToolSpecInfo


class ToolHistoryResponse(TypedDict):
    id: str
    decisions: list[ActivityRecord]
    providerDecisions: list[ActivityRecord]
    specs: list[SpecVersionInfo]
    difference: list[DiffSectionInfo]
    calls: list[ActivityRecord]
    next: int | None
    policyVersion: int


def tool_history_routes(board: BoardState, audit: Audit) -> APIRouter:
    routes = make_router("tools")

    @routes.get("/tools/history")
    async def show_tool_history(asked: Annotated[HistoryQuery, Query()]) -> ToolHistoryResponse:
        """The latest decisions about a tool, about its provider and about its toolset; the spec that is offered, the
        one that was approved, and what differs between them; the latest calls and refusals. `next` is the `before` of
        `/activity?tool=…` for those before. Of a tool that is no longer offered, what is kept."""
        view = asked.view()
        resolution = checked_resolution(board, view)
        id = _find_removed_tool(board, asked.tool, view) or find_tool(board, asked.tool, resolution)
        tool, policy = board.catalogue.tools.get(id), board.policy
        approval = policy.decisions.approvals.get(id)
        about = AuditQuery(kind=DECISION, limit=asked.limit)
        decisions = await audit.page_before(_query_about(about, str(id)))
        provider = await audit.page_before(_query_about(about, str(id.source)))
        toolset = await audit.page_before(_query_about(about, id.toolset)) if id.toolset != str(id.source) else None
        of_provider = sorted(
            (*provider.rows, *(() if toolset is None else toolset.rows)), key=_record_number, reverse=True
        )
        # Decisions about it are among these too, so as many more are asked for as there are.
        calls = await audit.page_before(AuditQuery(tool=str(id), limit=asked.limit + len(decisions.rows)))
        rows = [row for row in calls.rows if row.kind in ("call", "refusal")][: asked.limit]
        return {
            "id": str(id),
            "decisions": [activity_record(row) for row in decisions.rows],
            "providerDecisions": [activity_record(row) for row in of_provider[: asked.limit]],
            "specs": _spec_versions(tool, approval),
            "difference": []
            if approval is None or tool is None
            else diff_section_infos(spec_sections(approval.spec, tool.spec)),
            "calls": [activity_record(row) for row in rows],
            "next": rows[-1].number if len(rows) == asked.limit else calls.before,
            "policyVersion": policy.version,
        }

    return routes


def _find_removed_tool(board: BoardState, text: str, view: View) -> ToolId | None:
    """The tool by its id, if it hangs on the wall as one that is no longer offered."""
    id = parse_tool_id(text)
    left = {each.tool for each in missing_tools(board.catalogue, board.policy, view)}
    return id if isinstance(id, ToolId) and id in left else None


def _record_number(row: AuditRow) -> int:
    return row.number


def _query_about(query: AuditQuery, what: str) -> AuditQuery:
    return AuditQuery(tool=what, kind=query.kind, limit=query.limit)


def _spec_versions(tool: Tool | None, approval: Approval | None) -> list[SpecVersionInfo]:
    """The newest first. Specs of MCP servers are not stored, so what lies between these two is not known."""
    versions: list[SpecVersionInfo] = []
    if tool is not None:
        offered = tool.spec
        versions.append(
            {
                "kind": "offered",
                "fingerprint": offered.fingerprint,
                "by": None,
                "at": None,
                "firstSight": False,
                "spec": tool_spec_info(offered),
            }
        )
    if approval is not None:
        versions.append(
            {
                "kind": "approved",
                "fingerprint": approval.fingerprint,
                "by": approval.by,
                "at": iso_time(approval.at),
                "firstSight": approval.first_sight,
                "spec": tool_spec_info(approval.spec),
            }
        )
    return versions


# Routes for what a person decides about tools: their switches, and the approval of one's exact definition.

_SWITCHES_MAX_NAMED = 5
"""Of many ids that no tool has, so many are named."""


class SwitchToolsResponse(TypedDict):
    switched: int
    policyVersion: int


def switch_routes(board: BoardState, operator: Operator) -> APIRouter:
    routes = make_router("tools")

    def resolve_tool(text: str) -> ToolId:
        return find_tool(board, text, board.resolution(View()))

    def current_tool_info(id: ToolId) -> FullToolInfo:
        return full_tool_info(board.catalogue.tools[id], board.resolution(View()), board.policy)

    @routes.post("/tools/switch")
    async def switch_tool(body: ToolSwitchBody, if_match: IfMatchVersion = None) -> FullToolInfo:
        """Switch one tool on or off."""
        id = resolve_tool(body.tool)
        await run_command(operator, SetSwitch(id, body.enabled, body.note), if_match)
        return current_tool_info(id)

    @routes.post("/tools/switches")
    async def switch_tools(body: ToolSwitchesBody, if_match: IfMatchVersion = None) -> SwitchToolsResponse:
        """Switch tools on or off, each by its id: all that are named, or none."""
        known = {str(id): id for id in board.catalogue.tools}
        if unknown := [text for text in dict.fromkeys(body.tools) if text not in known]:
            raise ProblemError(HTTPStatus.NOT_FOUND, _unknown_ids_text(unknown))
        tools = tuple(dict.fromkeys(known[text] for text in body.tools))
        await run_command(operator, SetToolSwitches(tools, body.enabled, body.note), if_match)
        return {"switched": len(tools), "policyVersion": board.policy.version}

    @routes.post("/tools/approve")
    async def approve_tool(body: ApproveBody, if_match: IfMatchVersion = None) -> FullToolInfo:
        """Approve a tool exactly as it was read."""
        id = resolve_tool(body.tool)
        await run_command(
            operator, ApproveTool(id, board.catalogue.tools[id].spec, Fingerprint(body.fingerprint)), if_match
        )
        return current_tool_info(id)

    return routes


def _unknown_ids_text(unknown: list[str]) -> str:
    told = ", ".join(map(repr, unknown[:_SWITCHES_MAX_NAMED]))
    more = f" and {len(unknown) - _SWITCHES_MAX_NAMED:,} more" if len(unknown) > _SWITCHES_MAX_NAMED else ""
    return f"No tool has the id {told}{more}. None was switched. See: pegboard tools list"
