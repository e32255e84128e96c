"""Response schemas of core values."""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Literal, NotRequired, TypeAlias, assert_never

from typing_extensions import TypedDict

from pegboard.config.masked_servers import mask_server
from pegboard.core.commands.first_sight import servers_to_run
from pegboard.core.decision.facts import find_quarantine
from pegboard.core.decision.resolve import HiddenTool, LockedTool, OpenTool, Resolution, Verdict
from pegboard.core.decision.status import LockStatus, explain_reason, operator_detail, remedy
from pegboard.core.decision.visibility import explain_hidden, hidden_remedy
from pegboard.core.explain.explain import DecisionTrail
from pegboard.core.explain.states import ActionKind, SuggestedAction
from pegboard.core.model.catalogue import (
    Health,
    Listing,
    ListingProblem,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ProviderKey, ServerKey, SourceKey, ToolId
from pegboard.core.model.server import (
    AllButTools,
    DeclaredAt,
    EveryTool,
    InstalledBy,
    OnlyTools,
    Origin,
    ProtocolMode,
    Server,
    StartOnDemand,
    StartWithGateway,
    Trust,
    server_fingerprint,
)
from pegboard.core.model.text import Audience
from pegboard.core.model.tool import Tool, ToolSpec
from pegboard.core.policy.policy import Policy, Switch
from pegboard.core.presentations.search import tool_counts
from pegboard.gateway.board import BoardState, Notice

FreeObject: TypeAlias = Mapping[str, object]
"""An object whose members are not ours to name: a schema, arguments, a result, a configuration."""


class DeclaredOriginInfo(TypedDict):
    kind: Literal["declared"]
    file: str
    line: int


class InstalledOriginInfo(TypedDict):
    kind: Literal["installed"]
    by: str
    at: str


OriginInfo: TypeAlias = DeclaredOriginInfo | InstalledOriginInfo


class ListingProblemInfo(TypedDict):
    """What a server listed and what cannot hang on the board."""

    name: str
    reason: str
    message: str


class NoticeInfo(TypedDict):
    subject: str
    message: str
    since: str


class TimeoutsInfo(TypedDict):
    start: float
    call: float
    stop: float


class ServerOptionsInfo(TypedDict):
    start: Literal["always", "on_demand"]
    idleStop: NotRequired[float]
    protocol: NotRequired[ProtocolMode]
    timeouts: TimeoutsInfo
    enabledTools: NotRequired[list[str]]
    disabledTools: NotRequired[list[str]]


class ActionInfo(TypedDict):
    """The one act that would open a tool. Only operators are told of it: `target` may be a file with its folder."""

    kind: ActionKind
    target: str
    label: str
    toolsets: list[str]
    """Of a grant: all that the principal may use after it."""


class VerdictInfo(TypedDict):
    verdict: Literal["open", "locked", "hidden"]
    status: NotRequired[LockStatus]
    message: NotRequired[str]
    detail: NotRequired[str]
    """For operators alone: what the sentence leaves out."""
    remedy: NotRequired[str]
    otherReasons: NotRequired[list[str]]


class ToolInfo(VerdictInfo):
    id: str
    name: str
    wireName: str | None
    toolsetId: str
    serverId: str | None


class SwitchInfo(TypedDict):
    enabled: bool
    by: str
    at: str
    note: str
    blocks: bool


class ApprovalInfo(TypedDict):
    fingerprint: str
    by: str
    at: str
    firstSight: bool


class FullToolInfo(ToolInfo):
    title: str | None
    description: str
    inputSchema: FreeObject
    outputSchema: FreeObject | None
    annotations: FreeObject | None
    requiresConfirmation: bool
    switch: SwitchInfo | None
    fingerprint: str
    approval: ApprovalInfo | None


class DecisionStepInfo(TypedDict):
    question: str
    passes: bool
    answer: str


class DecisionTrailInfo(VerdictInfo):
    id: str
    wireName: str | None
    steps: list[DecisionStepInfo]
    nameNotes: list[str]


class HealthInfo(TypedDict):
    state: Literal["unknown", "up", "starting", "down", "needs_sign_in", "asleep", "off"]
    message: str
    since: NotRequired[str]
    retryAt: NotRequired[str | None]
    """Of one that is down: when it is tried again by itself, if it is."""
    logTail: NotRequired[list[str]]
    """What it last wrote to its error stream."""
    """Where a person signs in."""


class ServerBaseInfo(ServerOptionsInfo):
    id: str
    serverId: str | None
    toolsetId: str
    userMcp: bool
    active: bool
    """Whether it runs or may be started: its own switch and that of its toolset are on."""
    trust: Trust
    review: str | None
    fingerprint: str
    connection: FreeObject
    origin: OriginInfo
    health: HealthInfo
    hiddenTools: int
    problems: list[ListingProblemInfo]


class ServerInfo(ServerBaseInfo):
    tools: Mapping[str, int]
    """How many are callable, and how many are locked by each status."""


def iso_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def health_info(health: Health | None) -> HealthInfo:
    match health:
        case None:
            return {"state": "unknown", "message": "nothing is known of it yet"}
        case ProviderUp(since):
            return {"state": "up", "since": since.isoformat(), "message": "up"}
        case ProviderStart(attempt, since):
            return {"state": "starting", "since": since.isoformat(), "message": f"starting, attempt {attempt}"}
        case ProviderDown(since, why, retry_at, last_lines):
            return {
                "state": "down",
                "since": since.isoformat(),
                "message": why,
                "retryAt": iso_time(retry_at),
                "logTail": list(last_lines),
            }
        case ProviderNeedsSignIn(since, why):
            told = f"needs sign-in: {why}" if why else "needs sign-in"
            return {"state": "needs_sign_in", "since": since.isoformat(), "message": told}
        case ProviderAsleep(since, why):
            return {"state": "asleep", "since": since.isoformat(), "message": f"asleep; {why}"}
        case ProviderOff():
            return {"state": "off", "message": "not running"}
        case _:
            assert_never(health)


def origin_info(origin: Origin) -> OriginInfo:
    match origin:
        case DeclaredAt(file, line):
            return {"kind": "declared", "file": file, "line": line}
        case InstalledBy(by, at):
            return {"kind": "installed", "by": by, "at": at.isoformat()}
        case _:
            assert_never(origin)


def server_infos(servers: Iterable[Server], board: BoardState, resolution: Resolution) -> list[ServerInfo]:
    """All tools are gone through once, however many servers there are."""
    counted, on = tool_counts(resolution), servers_to_run(board.policy)
    return [_server_info(server, board, resolution, counted, on) for server in servers]


def server_info(server: Server, board: BoardState, resolution: Resolution) -> ServerInfo:
    return server_infos((server,), board, resolution)[0]


def _server_info(
    server: Server,
    board: BoardState,
    resolution: Resolution,
    counted: Mapping[SourceKey, Mapping[str, int]],
    on: Container[ProviderKey],
) -> ServerInfo:
    listing = board.catalogue.listings.get(server.key) or Listing(server.key, ProviderOff())
    toolset = board.policy.toolsets.get(server.key.toolset)
    return {
        "id": str(server.key),
        "serverId": server.key.server if isinstance(server.key, ServerKey) else None,
        "toolsetId": server.key.toolset,
        "userMcp": toolset is not None and toolset.user_mcp,
        "active": server.key in on,
        "trust": board.policy.trust(server),
        "review": None if (reason := find_quarantine(server)) is None else explain_reason(reason),
        "fingerprint": server_fingerprint(server),
        "connection": mask_server(server),
        **_server_options_info(server),
        "origin": origin_info(server.origin),
        "health": health_info(listing.health),
        "tools": counted.get(server.key, {"callable": 0}),
        "hiddenTools": sum(isinstance(resolution.verdicts[tool.id], HiddenTool) for tool in listing.tools),
        "problems": listing_problem_infos(listing.problems),
    }


def listing_problem_infos(flaws: Iterable[ListingProblem]) -> list[ListingProblemInfo]:
    return [{"name": flaw.name, "reason": flaw.why, "message": flaw.sentence} for flaw in flaws]


def _server_options_info(server: Server) -> ServerOptionsInfo:
    """When it runs, how long it is waited for, and which of its tools the operator lets be used."""
    waits = server.timeouts
    shape: ServerOptionsInfo = {
        "start": "always",
        "timeouts": {"start": waits.start, "call": waits.call, "stop": waits.stop},
    }
    match server.starts:
        case StartWithGateway():
            pass
        case StartOnDemand(idle):
            shape["start"], shape["idleStop"] = "on_demand", idle
        case _:
            assert_never(server.starts)
    if server.protocol is not ProtocolMode.LATEST:
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


def verdict_info(verdict: Verdict) -> VerdictInfo:
    match verdict:
        case OpenTool():
            return {"verdict": "open"}
        case LockedTool(_, reason, more):
            shape: VerdictInfo = {"verdict": "locked", "status": verdict.status, "message": explain_reason(reason)}
            if (more_of_it := operator_detail(reason)) is not None:
                shape["detail"] = more_of_it
            shape["remedy"] = remedy(reason, Audience.OPERATOR)
            shape["otherReasons"] = [explain_reason(other) for other in more]
            return shape
        case HiddenTool(_, removed):
            return {
                "verdict": "hidden",
                "message": explain_hidden(removed),
                "remedy": hidden_remedy(removed, verdict.tool.id),
            }
        case _:
            assert_never(verdict)


def tool_info(id: ToolId, resolution: Resolution) -> ToolInfo:
    """One line of the list. The operator reads it, so a locked tool is told of, but its words are for `show`."""
    source = id.source
    return {
        "id": str(id),
        "name": id.name,
        "wireName": resolution.names.get(id),
        "toolsetId": id.toolset,
        "serverId": source.server if isinstance(source, ServerKey) else None,
        **verdict_info(resolution.verdicts[id]),
    }


def switch_info(switch: Switch) -> SwitchInfo:
    return {
        "enabled": switch.is_on,
        "by": switch.by,
        "at": switch.at.isoformat(),
        "note": switch.note,
        "blocks": switch.blocks,
    }


def full_tool_info(tool: Tool, resolution: Resolution, policy: Policy) -> FullToolInfo:
    appearance = policy.overrides.for_tool(tool.id)
    approval = policy.decisions.approvals.get(tool.id)
    return {
        **tool_info(tool.id, resolution),
        "title": appearance.name_override or tool.spec.title,
        "description": appearance.description_override or tool.spec.description,
        "inputSchema": dict(tool.spec.input_schema),
        "outputSchema": None if tool.spec.output_schema is None else dict(tool.spec.output_schema),
        "annotations": None if tool.spec.annotations is None else dict(tool.spec.annotations),
        "requiresConfirmation": policy.overrides.requires_confirmation(tool.id),
        "switch": None if (switch := policy.decisions.switches.get(tool.id)) is None else switch_info(switch),
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


def action_info(action: SuggestedAction) -> ActionInfo:
    return {"kind": action.kind, "target": action.target, "label": action.label, "toolsets": [*action.toolsets]}


def decision_trail_info(trail: DecisionTrail) -> DecisionTrailInfo:
    return {
        "id": str(trail.tool),
        "wireName": trail.wire_name,
        **verdict_info(trail.verdict),
        "otherReasons": [*trail.remaining_reasons],
        "steps": [{"question": step.question, "passes": step.passes, "answer": step.answer} for step in trail.steps],
        "nameNotes": [*trail.name_notes],
    }


def notice_infos(notices: Mapping[str, Notice]) -> list[NoticeInfo]:
    return [
        {"subject": notice.subject, "message": notice.text, "since": notice.since.isoformat()}
        for notice in notices.values()
    ]


# What a tool claims of itself, as a JSON body.


class ToolHintsInfo(TypedDict):
    """Claims of its provider, nothing more; `null` where it does not say."""

    readOnly: bool | None
    destructive: bool | None
    idempotent: bool | None
    openWorld: bool | None


def hints_info(spec: ToolSpec) -> ToolHintsInfo:
    claims = spec.annotations or {}

    def boolean_claim(name: str) -> bool | None:
        said = claims.get(name)
        return said if isinstance(said, bool) else None

    return {
        "readOnly": boolean_claim("readOnlyHint"),
        "destructive": boolean_claim("destructiveHint"),
        "idempotent": boolean_claim("idempotentHint"),
        "openWorld": boolean_claim("openWorldHint"),
    }
