"""Routes for tools: every verdict, one tool in full, a call, and the trail of a decision."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, assert_never
from uuid import uuid4

import anyio
from fastapi import APIRouter, Query, Request

from pegboard.core.addressed import to_you
from pegboard.core.call import (
    BadArguments,
    Call,
    Cancelled,
    Demanded,
    NeedsInput,
    NotConfirmed,
    ProviderFailed,
    Returned,
    ToolFailed,
    ToolIsLocked,
    UnknownTool,
    refusal_text,
)
from pegboard.core.catalogue import Starting
from pegboard.core.elsewhere import without
from pegboard.core.explain import explain, seen_by
from pegboard.core.foreign_names import TOOLS
from pegboard.core.gone import gone, gone_remedy, gone_sentence
from pegboard.core.ids import LOCAL, CallId, PrincipalId, Source, ToolId, WireName
from pegboard.core.reference import Directory, Kind, Unknown, closest, find, reference
from pegboard.core.resolve import Locked, Open, Resolution, directory
from pegboard.core.scope import Scope
from pegboard.core.status import Unlisted, detail, remedy, sentence, status
from pegboard.core.unknown_names import UnknownName, unknown_names
from pegboard.core.unlisted import unheard
from pegboard.core.unlocking import unlocking
from pegboard.core.view import View
from pegboard.gateway.caller import Ended
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.installer import Installer
from pegboard.gateway.unlisted import listed

from .access import acting_as, needs
from .activity_shapes import TRIAL
from .answers import routes_about
from .bodies import CallBody, ToolQuery, ToolsQuery, WhyQuery
from .builtins import builtin_steps, builtin_why, is_off_board_builtin
from .override_shapes import appearance_shape, rendered_shape
from .pages import page_of
from .problem_shapes import UnheardShape
from .problems import Problem
from .rendering import render
from .shapes import action_shape, notices_shape, tool_in_full, tool_shape, trail_shape
from .tool_faces import faces_shape
from .tool_shapes import EndedShape, ShownTool, ToolsShape, TriedShape, WhyShape, WithoutShape
from .trials import trial_shape

_NAMED = 50


def tool_routes(gateway: Gateway, installer: Callable[[], Installer]) -> APIRouter:
    routes = routes_about("tools")
    board = gateway.board

    @routes.get("/tools")
    async def list_tools(asked: Annotated[ToolsQuery, Query()]) -> ToolsShape:
        """Every tool of the catalogue with its verdict for this view."""
        await gateway.unknown_names.refresh()
        resolution = resolution_of(gateway, asked.view())
        ids, following = page_of([*resolution.verdicts], str, asked.limit, asked.after)
        return {
            **following,
            "tools": [tool_shape(id, resolution) for id in ids],
            "policyVersion": resolution.policy_version,
            "notices": notices_shape(board.notices),
            "flaws": [
                {"id": str(source), "sentence": flaw.sentence}
                for source, word in board.catalogue.listings.items()
                for flaw in word.flaws
            ],
        }

    @routes.get("/tools/show")
    async def show_tool(asked: Annotated[ToolQuery, Query()]) -> ShownTool:
        """One tool in full, locked or not: this is the operator's view. `asOffered` is what its server says of it,
        `asOverridden` what a model sees, `difference` what lies between. A tool over databases is shown as over those
        that the principal may ask."""
        view = asked.view()
        resolution = resolution_of(gateway, view)
        id = tool_named(gateway, asked.tool, resolution, as_printed=True)
        tool = seen_by(board.catalogue.tools[id], board.policy, view)
        return {**tool_in_full(tool, resolution, board.policy), **faces_shape(tool, board.policy)}

    @routes.get("/why")
    async def explain_tool(asked: Annotated[WhyQuery, Query()]) -> WhyShape:
        """Every step of the decision for one tool and what it said. The gateway's own tools are known, wherever they
        are; `presentation` asks about its endpoint alone."""
        view = asked.view()
        if is_off_board_builtin(gateway, asked.tool, view):
            return builtin_why(gateway, asked.tool, view, asked.presented)
        await _listed(gateway, asked.tool, view)
        resolution = resolution_of(gateway, view)
        id = tool_named(gateway, asked.tool, resolution, as_printed=True)
        trail = explain(
            *(board.catalogue, board.policy, view, id),
            held=resolution.held,
            presented=asked.presented,
            now=gateway.clock(),
        )
        if trail is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"{id} left the board just now.")
        shape = trail_shape(trail)
        return {
            **shape,
            "steps": [*shape["steps"], *builtin_steps(gateway, id, view, asked.presented)],
            "action": action_shape(unlocking(trail.verdict, board.policy)),
            "others": others_shape(gateway, view, id),
            "overrides": appearance_shape(trail.appearance, trail.effects),
            "policyVersion": resolution.policy_version,
            "unknownNames": [str(entry) for entry in _entries(gateway) if entry.may_mean(id)],
        }

    @routes.post("/call")
    @needs(Scope.CALL, Scope.OPERATE)
    async def call_tool(body: CallBody, request: Request) -> EndedShape | TriedShape:
        """One call by the operator, through the same admission as any client's, as the principal of the token. Leaving
        gives the call up. With `trial` it is marked so in the activity, and told in each form with what it costs:
        `raw`, `asModel` and `rendered`."""
        acting = acting_as(body.principal)
        view = body.view_of(acting.principal)
        await _listed(gateway, body.tool, view)
        resolution = resolution_of(gateway, view)
        id = tool_named(gateway, body.tool, resolution)
        asked = Call(
            id=CallId(uuid4().hex),
            name=resolution.names.get(id, WireName(str(id))),
            arguments=body.arguments,
            principal=view.principal,
            at=gateway.clock(),
            client=acting.client,
            presentation=TRIAL if body.trial else "",
            made_by=acting.made_by,
        )
        ended: Ended = Cancelled()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_when_gone, request, tasks.cancel_scope)
            ended = await gateway.caller.call(asked, view)
            tasks.cancel_scope.cancel()
        told = ended_shape(ended)
        result = told.get("result")
        shown = await render(gateway, installer, id, body.arguments, result) if isinstance(result, dict) else None
        if shown is not None:
            told["rendered"] = rendered_shape(shown)
        return {**told, **trial_shape(ended, asked, told.get("rendered"))} if body.trial else told

    return routes


def others_shape(gateway: Gateway, view: View, id: ToolId) -> list[WithoutShape]:
    found = without(gateway.board.catalogue, gateway.board.policy, view, id)
    return [{"principal": each.principal, "sentence": each.sentence} for each in found]


async def _listed(gateway: Gateway, text: str, view: View) -> None:
    """Wait for a server that is starting and may have the tool."""
    board = gateway.board
    found = find(reference(text), directory(board.catalogue, board.policy), Kind.TOOL, suggest=False)
    if isinstance(found, Unknown) and WireName(text) not in board.resolution(view).by_name:
        why = await listed(board, text, view)
        if why is not None and isinstance(why.reason, Unlisted) and isinstance(why.reason.health, Starting):
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, refusal_text(why))


def tool_named(gateway: Gateway, text: str, resolution: Resolution, *, as_printed: bool = False) -> ToolId:
    """One tool, by id, by a name that a client sees or saw for it, or by its own name while only one tool has it.
    With `as_printed` also by a name with escapes, if nothing else has it: to look at, never to call or decide."""
    if (id := resolution.called(text)) is not None:
        return id
    within = directory(gateway.board.catalogue, gateway.board.policy)
    found = find(reference(text), within, Kind.TOOL)
    if as_printed and isinstance(found, Unknown):
        found = within.printed_as(text) or found
    if isinstance(found, Unknown):
        if text in TOOLS:
            # By the name that another program has for it.
            found = replace(found, near=(TOOLS[text],))
        near = [id for name in found.near for id in _named(name, within)]
        raise _gone(gateway, text, resolution.view) or _in_vain(gateway, text, str(found), near)
    if len(found) == 1:
        return found[0]
    if not found:
        raise _in_vain(gateway, text, f"No tool fits {text!r}.", ())
    ids = ", ".join(str(id) for id in found[:10])
    several = f"{len(found)} tools fit {text!r}: {ids}. Name one by its id."
    raise Problem(HTTPStatus.BAD_REQUEST, several, {"tools": [str(id) for id in found[:_NAMED]]})


def _named(text: str, within: Directory) -> tuple[ToolId, ...]:
    found = find(reference(text), within, Kind.TOOL, suggest=False)
    return () if isinstance(found, Unknown) else found


def _gone(gateway: Gateway, text: str, view: View) -> Problem | None:
    """Of a tool that its source offered once, the same is told as on the wall."""
    left = [each for each in gone(gateway.board.catalogue, gateway.board.policy, view) if each.tool == reference(text)]
    told = [f"{gone_sentence(each)} {gone_remedy(each)}" for each in left]
    return Problem(HTTPStatus.NOT_FOUND, told[0], {"tools": [], "unheard": []}) if told else None


def _in_vain(gateway: Gateway, text: str, told: str, near: Sequence[ToolId]) -> Problem:
    """A tool that is looked for in vain may belong to a server that has not listed any yet; an id names the one."""
    silent = [*unheard(gateway.board.catalogue, gateway.board.policy)]
    meant = reference(text)
    its_own = [(source, verdict) for source, verdict in silent if isinstance(meant, ToolId) and meant.source == source]
    if its_own:
        (_, verdict), silent, near = its_own[0], its_own, ()
        told = f"Whether there is a tool {text!r} is not known: its server has not listed its tools."
        if isinstance(verdict, Locked):
            told += f" {sentence(verdict.reason)} {to_you(remedy(verdict.reason))}"
    elif silent:
        names = ", ".join(str(source) for source, _ in silent[:5]) + (" and others" if len(silent) > 5 else "")
        told += f" Not up, so its tools are not known: {names}."
    told = " ".join((told, *(str(entry) for entry in _entries(gateway) if entry.text == text)))
    shapes = [_unheard_shape(gateway, source, verdict) for source, verdict in silent[:_NAMED]]
    told += "" if its_own else " See: pegboard tools list"
    return Problem(HTTPStatus.NOT_FOUND, told, {"tools": [str(id) for id in near[:_NAMED]], "unheard": shapes})


def _entries(gateway: Gateway) -> tuple[UnknownName, ...]:
    return unknown_names(gateway.board.catalogue, gateway.board.policy)


def _unheard_shape(gateway: Gateway, source: Source, verdict: Open | Locked) -> UnheardShape:
    said = sentence(verdict.reason) if isinstance(verdict, Locked) else f"{source} has not listed its tools yet."
    if isinstance(verdict, Locked) and (more := detail(verdict.reason)) is not None:
        said += f" {more}"
    return {"id": str(source), "sentence": said, "action": action_shape(unlocking(verdict, gateway.board.policy))}


async def cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    """The body was read already, so all that can still come is that the client goes."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def resolution_of(gateway: Gateway, view: View) -> Resolution:
    resolution = gateway.board.resolution(view)
    if not gateway.board.policy.knows(view.principal):
        raise Problem(HTTPStatus.NOT_FOUND, _no_caller(view.principal, gateway.board.policy.callers))
    if resolution.refused:
        told = [str(unknown) for unknown in resolution.refused]
        sets = sorted({id.toolset for id in resolution.offered})
        offered = f"Toolsets to choose from: {', '.join(sets[:_NAMED]) or 'none'}{' …' if len(sets) > _NAMED else ''}."
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            " ".join((*told, offered)),
            {"errors": told, "offered": sorted(str(id) for id in resolution.offered)[:200]},
        )
    return resolution


def _no_caller(principal: PrincipalId, known: Iterable[PrincipalId]) -> str:
    names = sorted({*known, LOCAL})
    near = closest(principal, names)
    meant = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(names[:_NAMED])}."
    how = "Callers are declared under principals in pegboard.yaml, or have a token: pegboard tokens make"
    return f"There is no caller {principal!r}. {meant} {how}"


def ended_shape(ended: Ended) -> EndedShape:
    match ended:
        case Returned(body):
            return {"ended": "returned", "result": json.loads(body)}
        case ToolFailed(body):
            return {"ended": "tool_failed", "result": json.loads(body)}
        case NeedsInput(body):
            return {"ended": "needs_input", "result": json.loads(body)}
        case Demanded(error):
            return {"ended": "demanded", "error": json.loads(error)}
        case ProviderFailed(why, may_have_run, error):
            told: EndedShape = {"ended": "provider_failed", "sentence": why, "mayHaveRun": may_have_run}
            return told if error is None else {**told, "error": json.loads(error)}
        case Cancelled():
            return {"ended": "cancelled"}
        case UnknownTool():
            return {"ended": "unknown_tool", "sentence": refusal_text(ended)}
        case BadArguments():
            return {"ended": "bad_arguments", "sentence": refusal_text(ended)}
        case NotConfirmed(_, how, _, ticket):
            return {"ended": how.value, "sentence": refusal_text(ended), "ticket": ticket}
        case ToolIsLocked(_, reason):
            return {"ended": status(reason).value, "sentence": refusal_text(ended)}
        case _:
            assert_never(ended)
