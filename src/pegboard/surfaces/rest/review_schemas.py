"""Schemas of reviews. For operators only: they contain withheld texts."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from typing_extensions import TypedDict

from pegboard.core.decision.status import SwitchedOff, explain_reason
from pegboard.core.model.catalogue import has_listed
from pegboard.core.model.ids import BuiltinKey, ToolId
from pegboard.core.model.tool import Tool, ToolSpec, canonical_json
from pegboard.core.policy.policy import Policy, Switch
from pegboard.core.presentations.entries import tool_cost
from pegboard.core.review.diff import (
    SpecChangeKind,
    SpecDifference,
    SpecSection,
    format_path,
    review_cautions,
    spec_sections,
)
from pegboard.core.review.review import (
    ApprovalState,
    PendingApproval,
    ToolReview,
    approvable_together,
    batch_fingerprint,
    group_by_server,
    overridden_spec,
)
from pegboard.core.review.text_diff import DiffPiece, PieceKind, harmless_text
from pegboard.core.scan.findings import ScanFinding, ScanFindingKind, Severity
from pegboard.gateway.trials import ServerTrial
from pegboard.surfaces.rest.responses import PageResponse
from pegboard.surfaces.rest.schemas import (
    FullToolInfo,
    HealthInfo,
    ListingProblemInfo,
    ServerBaseInfo,
    ToolInfo,
    health_info,
    listing_problem_infos,
)

_MAX_DESCRIPTION_CHARS = 500
"""Characters of a description in a list. All of it is shown where one tool is."""
_MAX_PARAMETER_CHARS = 200
_MAX_PARAMETERS = 50


class RiskInfo(TypedDict):
    level: str
    hard: int
    soft: int


class ScanFindingInfo(TypedDict):
    severity: Severity
    kind: ScanFindingKind
    path: str
    message: str
    excerpt: str


class PendingToolInfo(TypedDict):
    id: str
    name: str
    server: str | None
    kind: ApprovalState
    risk: RiskInfo
    findings: list[ScanFindingInfo]
    fingerprint: str


class PendingServerInfo(TypedDict):
    id: str
    pendingTools: int
    approvableTogether: int
    """How many of them may be approved at once, by this fingerprint."""
    fingerprint: str | None


class TextPieceInfo(TypedDict):
    kind: PieceKind
    text: str


class TextChangeInfo(TypedDict):
    path: str
    kind: SpecChangeKind
    message: str
    before: str | None
    after: str | None
    pieces: list[TextPieceInfo]


class DiffSectionInfo(TypedDict):
    section: str
    pieces: list[TextPieceInfo]
    changes: list[TextChangeInfo]
    omitted: int


class BlockInfo(TypedDict):
    id: str
    by: str
    at: str
    note: str
    message: str


class QueuedToolInfo(PendingToolInfo):
    since: str | None
    """When it was first seen to wait, exactly so."""


class ReviewInfo(TypedDict):
    title: str | None
    description: str
    kind: ApprovalState
    block: BlockInfo | None
    difference: list[DiffSectionInfo]
    findings: list[ScanFindingInfo]
    cautions: list[str]


class ToolReviewResponse(FullToolInfo):
    kind: ApprovalState
    since: str | None
    """When it was first seen to wait, exactly so; `null` when it does not."""
    block: BlockInfo | None
    difference: list[DiffSectionInfo]
    findings: list[ScanFindingInfo]
    cautions: list[str]
    policyVersion: int


class ParameterInfo(TypedDict):
    name: str
    required: bool
    schema: str
    description: str


class ToolTextInfo(TypedDict):
    """A tool's own words, made harmless and cut."""

    title: str | None
    description: str
    parameters: list[ParameterInfo]
    annotations: str | None
    cautions: list[str]


class PreviewToolInfo(PendingToolInfo, ToolTextInfo):
    """One tool of a list that was seen once."""


class ServerPreviewInfo(TypedDict):
    """What one start of a server showed."""

    health: HealthInfo
    answered: bool
    tools: list[PreviewToolInfo]
    problems: list[ListingProblemInfo]
    logTail: list[str]


class ServerReviewResponse(ServerBaseInfo):
    """A server in quarantine after one look at it: here its tools are those that it listed."""

    tools: list[PreviewToolInfo]
    answered: bool
    logTail: list[str]


class ApprovalsResponse(PageResponse):
    pending: list[QueuedToolInfo]
    """The oldest first."""
    servers: list[PendingServerInfo]
    blocked: list[BlockInfo]
    policyVersion: int


class ApproveToolsResponse(TypedDict):
    approved: list[ToolInfo]


def pending_tool_info(each: PendingApproval) -> PendingToolInfo:
    source = each.tool.id.source
    return {
        "id": str(each.tool.id),
        "name": each.tool.id.name,
        "server": None if isinstance(source, BuiltinKey) else str(source),
        "kind": each.approval_state,
        "risk": _risk_info(each),
        "findings": [scan_finding_info(finding) for finding in each.findings],
        "fingerprint": each.fingerprint,
    }


def queued_tool_info(each: PendingApproval, since: datetime | None) -> QueuedToolInfo:
    return {**pending_tool_info(each), "since": None if since is None else since.isoformat()}


def pending_server_infos(waiting: Iterable[PendingApproval]) -> list[PendingServerInfo]:
    """What may be approved at once of each server, and by which fingerprint."""
    shapes: list[PendingServerInfo] = []
    for key, tools in group_by_server(waiting).items():
        at_once = approvable_together(tools)
        shapes.append(
            {
                "id": str(key),
                "pendingTools": len(tools),
                "approvableTogether": len(at_once),
                "fingerprint": batch_fingerprint(at_once) if at_once else None,
            }
        )
    return shapes


def review_info(review: ToolReview) -> ReviewInfo:
    """Beside the tool in full. Its title and description as the server wrote them, whatever people put in their place:
    those are what is approved."""
    return {
        "title": review.tool.spec.title,
        "description": review.tool.spec.description,
        "kind": review.approval_state,
        "block": None if review.block is None else block_info(review.tool.id, review.block),
        "difference": [diff_section_info(section) for section in review.difference],
        "findings": [scan_finding_info(finding) for finding in review.findings],
        "cautions": list(review.cautions),
    }


def server_preview_info(trial: ServerTrial, waiting: Iterable[PendingApproval]) -> ServerPreviewInfo:
    return {
        "health": health_info(trial.listing.health),
        "answered": has_listed(trial.listing),
        "tools": [{**pending_tool_info(each), **tool_text_info(each)} for each in waiting],
        "problems": listing_problem_infos(trial.listing.problems),
        "logTail": list(trial.lines),
    }


def scan_finding_info(finding: ScanFinding) -> ScanFindingInfo:
    return {
        "severity": finding.severity,
        "kind": finding.kind,
        "path": format_path(finding.path),
        "message": finding.sentence,
        "excerpt": finding.excerpt,
    }


def diff_section_info(section: SpecSection) -> DiffSectionInfo:
    return {
        "section": section.name,
        "pieces": [_text_piece_info(piece) for piece in section.words],
        "changes": [_text_change_info(change) for change in section.changes],
        "omitted": section.more_count,
    }


def block_info(tool: ToolId, switch: Switch) -> BlockInfo:
    return {
        "id": str(tool),
        "by": switch.by,
        "at": switch.at.isoformat(),
        "note": switch.note,
        "message": explain_reason(SwitchedOff(tool, switch)),
    }


def tool_text_info(each: PendingApproval) -> ToolTextInfo:
    spec = each.tool.spec
    said = spec.annotations
    return {
        "title": spec.title and harmless_text(spec.title, 200),
        "description": harmless_text(spec.description, _MAX_DESCRIPTION_CHARS),
        "parameters": [*islice(_parameter_infos(spec), _MAX_PARAMETERS)],
        "annotations": None
        if said is None
        else harmless_text(canonical_json(said).decode("utf-8", "replace"), _MAX_DESCRIPTION_CHARS),
        "cautions": list(review_cautions(None, spec)),
    }


def _parameter_infos(spec: ToolSpec) -> Iterator[ParameterInfo]:
    """Each in short. What a server puts in the place of a schema is shown as what it is."""
    properties, required = spec.input_schema.get("properties"), spec.input_schema.get("required")
    needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        rest, words = schema, None
        if isinstance(schema, dict):
            words = schema.get("description")
            rest = {key: value for key, value in schema.items() if key != "description" or not isinstance(value, str)}
        yield {
            "name": harmless_text(name, 100),
            "required": name in needed,
            "schema": harmless_text(canonical_json(rest).decode("utf-8", "replace"), _MAX_PARAMETER_CHARS),
            "description": harmless_text(words, _MAX_PARAMETER_CHARS) if isinstance(words, str) else "",
        }


def _risk_info(each: PendingApproval) -> RiskInfo:
    risk = each.risk
    return {"level": risk.word, "hard": risk.hard, "soft": risk.soft}


def _text_piece_info(piece: DiffPiece) -> TextPieceInfo:
    return {"kind": piece.kind, "text": piece.text}


def _text_change_info(change: SpecDifference) -> TextChangeInfo:
    return {
        "path": change.path,
        "kind": change.kind,
        "message": change.sentence,
        "before": change.before,
        "after": change.after,
        "pieces": [_text_piece_info(piece) for piece in change.words],
    }


# A tool as its server offers it, as a model sees it, and the difference, as JSON bodies.


class ToolSpecInfo(TypedDict):
    name: str
    title: str | None
    description: str
    inputSchema: dict[str, object]
    outputSchema: dict[str, object] | None
    annotations: dict[str, object] | None
    tokens: int


class ToolFormsInfo(TypedDict):
    asOffered: ToolSpecInfo
    asOverridden: ToolSpecInfo
    difference: list[DiffSectionInfo]


def tool_spec_info(spec: ToolSpec) -> ToolSpecInfo:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": {**spec.input_schema},
        "outputSchema": None if spec.output_schema is None else {**spec.output_schema},
        "annotations": None if spec.annotations is None else {**spec.annotations},
        "tokens": tool_cost(spec),
    }


def tool_forms_info(tool: Tool, policy: Policy) -> ToolFormsInfo:
    now = overridden_spec(tool, policy)
    return {
        "asOffered": tool_spec_info(tool.spec),
        "asOverridden": tool_spec_info(now),
        "difference": diff_section_infos(spec_sections(tool.spec, now)),
    }


def diff_section_infos(found: tuple[SpecSection, ...]) -> list[DiffSectionInfo]:
    return [diff_section_info(section) for section in found]
