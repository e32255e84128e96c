"""Core values as JSON bodies: one function a value, no decision in any of them."""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Literal, NotRequired, TypeAlias, assert_never

from typing_extensions import TypedDict

from pegboard.config.masking import masked
from pegboard.core.addressed import to_you
from pegboard.core.catalogue import Asleep, Down, Flaw, Health, Listing, NeedsSignIn, Off, Starting, Up
from pegboard.core.counts import counts
from pegboard.core.explain import Trail
from pegboard.core.ids import ProviderKey, ServerKey, Source, ToolId
from pegboard.core.policy import Policy, Switch
from pegboard.core.removal import removal_remedy, removal_sentence
from pegboard.core.resolve import Absent, Locked, Open, Resolution, Verdict
from pegboard.core.rules import awaited_review
from pegboard.core.running import wanted
from pegboard.core.server import (
    AllButTools,
    Always,
    DeclaredAt,
    EveryTool,
    InstalledBy,
    OnDemand,
    OnlyTools,
    Origin,
    Protocol,
    Server,
    Trust,
    mark_of,
)
from pegboard.core.status import Status, detail, remedy, sentence
from pegboard.core.tool import Tool
from pegboard.core.unlocking import Act, Action
from pegboard.gateway.board import Board, Notice

Told: TypeAlias = Mapping[str, object]
"""An object whose members are not ours to name: a schema, arguments, a result, a configuration."""


class DeclaredShape(TypedDict):
    kind: Literal["declared"]
    file: str
    line: int


class InstalledShape(TypedDict):
    kind: Literal["installed"]
    by: str
    at: str


OriginShape: TypeAlias = DeclaredShape | InstalledShape


class FlawShape(TypedDict):
    """What a server listed and what cannot hang on the board."""

    name: str
    why: str
    sentence: str


class NoticeShape(TypedDict):
    subject: str
    text: str
    since: str


class TimeoutsShape(TypedDict):
    start: float
    call: float
    stop: float


class RunningShape(TypedDict):
    start: Literal["always", "on_demand"]
    idleStop: NotRequired[float]
    protocol: NotRequired[Protocol]
    timeouts: TimeoutsShape
    enabledTools: NotRequired[list[str]]
    disabledTools: NotRequired[list[str]]


class ActionShape(TypedDict):
    """The one act that would open a tool. Only operators are told of it: `target` may be a file with its folder."""

    kind: Act
    target: str
    label: str
    toolsets: list[str]
    """Of a grant: all that the principal may use after it."""


class VerdictShape(TypedDict):
    verdict: Literal["open", "locked", "absent"]
    status: NotRequired[Status]
    sentence: NotRequired[str]
    detail: NotRequired[str]
    """For operators alone: what the sentence leaves out."""
    remedy: NotRequired[str]
    more: NotRequired[list[str]]


class ToolShape(VerdictShape):
    id: str
    name: str
    wireName: str | None
    toolsetId: str
    serverId: str | None


class SwitchShape(TypedDict):
    on: bool
    by: str
    at: str
    note: str
    blocks: bool


class ApprovalShape(TypedDict):
    fingerprint: str
    by: str
    at: str
    firstSight: bool


class ToolInFull(ToolShape):
    title: str | None
    description: str
    inputSchema: Told
    outputSchema: Told | None
    annotations: Told | None
    requiresConfirmation: bool
    switch: SwitchShape | None
    fingerprint: str
    approval: ApprovalShape | None


class StepShape(TypedDict):
    asked: str
    lets: bool
    said: str


class TrailShape(VerdictShape):
    id: str
    wireName: str | None
    steps: list[StepShape]
    naming: list[str]


class HealthShape(TypedDict):
    state: Literal["unknown", "up", "starting", "down", "needs_sign_in", "asleep", "off"]
    sentence: str
    since: NotRequired[str]
    retryAt: NotRequired[str | None]
    """Of one that is down: when it is tried again by itself, if it is."""
    lastLines: NotRequired[list[str]]
    """What it last wrote to its error stream."""
    """Where a person signs in."""


class ServerBase(RunningShape):
    id: str
    serverId: str | None
    toolsetId: str
    userMcp: bool
    on: bool
    trust: Trust
    review: str | None
    mark: str
    connection: Told
    origin: OriginShape
    health: HealthShape
    absentTools: int
    flaws: list[FlawShape]


class ServerShape(ServerBase):
    tools: Mapping[str, int]
    """How many are callable, and how many are locked by each status."""


def moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def health_shape(health: Health | None) -> HealthShape:
    match health:
        case None:
            return {"state": "unknown", "sentence": "nothing is known of it yet"}
        case Up(since):
            return {"state": "up", "since": since.isoformat(), "sentence": "up"}
        case Starting(attempt, since):
            return {"state": "starting", "since": since.isoformat(), "sentence": f"starting, attempt {attempt}"}
        case Down(since, why, retry_at, last_lines):
            return {
                "state": "down",
                "since": since.isoformat(),
                "sentence": why,
                "retryAt": moment(retry_at),
                "lastLines": list(last_lines),
            }
        case NeedsSignIn(since, why):
            told = f"needs sign-in: {why}" if why else "needs sign-in"
            return {"state": "needs_sign_in", "since": since.isoformat(), "sentence": told}
        case Asleep(since, why):
            return {"state": "asleep", "since": since.isoformat(), "sentence": f"asleep; {why}"}
        case Off():
            return {"state": "off", "sentence": "not running"}
        case _:
            assert_never(health)


def origin_shape(origin: Origin) -> OriginShape:
    match origin:
        case DeclaredAt(file, line):
            return {"kind": "declared", "file": file, "line": line}
        case InstalledBy(by, at):
            return {"kind": "installed", "by": by, "at": at.isoformat()}
        case _:
            assert_never(origin)


def server_shapes(servers: Iterable[Server], board: Board, resolution: Resolution) -> list[ServerShape]:
    """All tools are gone through once, however many servers there are."""
    counted, on = counts(resolution), wanted(board.policy)
    return [_server_shape(server, board, resolution, counted, on) for server in servers]


def server_shape(server: Server, board: Board, resolution: Resolution) -> ServerShape:
    return server_shapes((server,), board, resolution)[0]


def _server_shape(
    server: Server,
    board: Board,
    resolution: Resolution,
    counted: Mapping[Source, Mapping[str, int]],
    on: Container[ProviderKey],
) -> ServerShape:
    listing = board.catalogue.listings.get(server.key) or Listing(server.key, Off())
    toolset = board.policy.toolsets.get(server.key.toolset)
    return {
        "id": str(server.key),
        "serverId": server.key.server if isinstance(server.key, ServerKey) else None,
        "toolsetId": server.key.toolset,
        "userMcp": toolset is not None and toolset.user_mcp,
        "on": server.key in on,
        "trust": board.policy.trust(server),
        "review": None if (reason := awaited_review(server)) is None else sentence(reason),
        "mark": mark_of(server),
        "connection": masked(server),
        **_running_shape(server),
        "origin": origin_shape(server.origin),
        "health": health_shape(listing.health),
        "tools": counted.get(server.key, {"callable": 0}),
        "absentTools": sum(isinstance(resolution.verdicts[tool.id], Absent) for tool in listing.tools),
        "flaws": flaws_shape(listing.flaws),
    }


def flaws_shape(flaws: Iterable[Flaw]) -> list[FlawShape]:
    return [{"name": flaw.name, "why": flaw.why, "sentence": flaw.sentence} for flaw in flaws]


def _running_shape(server: Server) -> RunningShape:
    """When it runs, how long it is waited for, and which of its tools the operator lets be used."""
    waits = server.timeouts
    shape: RunningShape = {
        "start": "always",
        "timeouts": {"start": waits.start, "call": waits.call, "stop": waits.stop},
    }
    match server.starts:
        case Always():
            pass
        case OnDemand(idle):
            shape["start"], shape["idleStop"] = "on_demand", idle
        case _:
            assert_never(server.starts)
    if server.protocol is not Protocol.LATEST:
        shape["protocol"] = server.protocol
    match server.limit:
        case EveryTool():
            pass
        case OnlyTools(names):
            shape["enabledTools"] = list(names)
        case AllButTools(names):
            shape["disabledTools"] = list(names)
        case _:
            assert_never(server.limit)
    return shape


def verdict_shape(verdict: Verdict) -> VerdictShape:
    match verdict:
        case Open():
            return {"verdict": "open"}
        case Locked(_, reason, more):
            shape: VerdictShape = {"verdict": "locked", "status": verdict.status, "sentence": sentence(reason)}
            if (more_of_it := detail(reason)) is not None:
                shape["detail"] = more_of_it
            shape["remedy"] = remedy(reason)
            shape["more"] = [sentence(other) for other in more]
            return shape
        case Absent(_, removed):
            return {
                "verdict": "absent",
                "sentence": removal_sentence(removed),
                "remedy": removal_remedy(removed, verdict.tool.id),
            }
        case _:
            assert_never(verdict)


def tool_shape(id: ToolId, resolution: Resolution) -> ToolShape:
    """One line of the list. The operator reads it, so a locked tool is told of, but its words are for `show`."""
    source = id.source
    return {
        "id": str(id),
        "name": id.name,
        "wireName": resolution.names.get(id),
        "toolsetId": id.toolset,
        "serverId": source.server if isinstance(source, ServerKey) else None,
        **verdict_shape(resolution.verdicts[id]),
    }


def switch_shape(switch: Switch) -> SwitchShape:
    return {"on": switch.on, "by": switch.by, "at": switch.at.isoformat(), "note": switch.note, "blocks": switch.blocks}


def tool_in_full(tool: Tool, resolution: Resolution, policy: Policy) -> ToolInFull:
    appearance = policy.overrides.for_tool(tool.id)
    approval = policy.decided.approvals.get(tool.id)
    return {
        **tool_shape(tool.id, resolution),
        "title": appearance.name_override or tool.spec.title,
        "description": appearance.description_override or tool.spec.description,
        "inputSchema": dict(tool.spec.input_schema),
        "outputSchema": None if tool.spec.output_schema is None else dict(tool.spec.output_schema),
        "annotations": None if tool.spec.annotations is None else dict(tool.spec.annotations),
        "requiresConfirmation": policy.overrides.confirms(tool.id),
        "switch": None if (switch := policy.decided.switches.get(tool.id)) is None else switch_shape(switch),
        "fingerprint": tool.spec.fingerprint,
        "approval": None
        if approval is None
        else {
            "fingerprint": approval.fingerprint,
            "by": approval.by,
            "at": approval.at.isoformat(),
            "firstSight": approval.first_sight,
        },
    }


def action_shape(action: Action) -> ActionShape:
    return {"kind": action.act, "target": action.target, "label": action.label, "toolsets": [*action.toolsets]}


def trail_shape(trail: Trail) -> TrailShape:
    """The verdict in the words of a refusal; its steps are read by a person, not by a model that would ask one."""
    return {
        "id": str(trail.tool),
        "wireName": trail.wire_name,
        **verdict_shape(trail.verdict),
        "more": [*trail.more],
        "steps": [{"asked": step.asked, "lets": step.lets, "said": to_you(step.said)} for step in trail.steps],
        "naming": [*trail.naming],
    }


def notices_shape(notices: Mapping[str, Notice]) -> list[NoticeShape]:
    return [
        {"subject": notice.subject, "text": notice.text, "since": notice.since.isoformat()}
        for notice in notices.values()
    ]
