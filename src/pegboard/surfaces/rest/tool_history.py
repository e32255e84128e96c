"""The route for what became of one tool: decisions, the specs that are known of it, and its latest calls."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from typing_extensions import TypedDict

from pegboard.core.activity import DECISION
from pegboard.core.gone import missing_tools
from pegboard.core.ids import ToolId, parse_tool_id
from pegboard.core.policy import Approval
from pegboard.core.sections import spec_sections
from pegboard.core.tool import Tool
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.ports import AuditQuery, AuditRow

from .activity_shapes import ActivityRecord, activity_record
from .answers import make_router
from .bodies import ToolQuery
from .reviews import DiffSectionInfo
from .shapes import iso_time
from .tool_faces import ToolSpecInfo, diff_section_infos, tool_spec_info
from .tools import checked_resolution, find_tool


class HistoryQuery(ToolQuery):
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class SpecVersionInfo(TypedDict):
    what: str
    fingerprint: str
    by: str | None
    at: str | None
    firstSight: bool
    spec: ToolSpecInfo


class ToolHistoryResponse(TypedDict):
    id: str
    decisions: list[ActivityRecord]
    ofProvider: list[ActivityRecord]
    specs: list[SpecVersionInfo]
    difference: list[DiffSectionInfo]
    calls: list[ActivityRecord]
    next: int | None
    policyVersion: int


def tool_history_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("tools")
    board, audit = gateway.board, gateway.audit

    @routes.get("/tools/history")
    async def show_tool_history(asked: Annotated[HistoryQuery, Query()]) -> ToolHistoryResponse:
        """The latest decisions about a tool, about its provider and about its toolset; the spec that is offered, the
        one that was approved, and what differs between them; the latest calls and refusals. `next` is the `before` of
        `/activity?tool=…` for those before. Of a tool that is no longer offered, what is kept."""
        view = asked.view()
        resolution = checked_resolution(gateway, view)
        id = _find_removed_tool(gateway, asked.tool, view) or find_tool(gateway, asked.tool, resolution)
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
            "ofProvider": [activity_record(row) for row in of_provider[: asked.limit]],
            "specs": _spec_versions(tool, approval),
            "difference": []
            if approval is None or tool is None
            else diff_section_infos(spec_sections(approval.spec, tool.spec)),
            "calls": [activity_record(row) for row in rows],
            "next": rows[-1].number if len(rows) == asked.limit else calls.before,
            "policyVersion": policy.version,
        }

    return routes


def _find_removed_tool(gateway: Gateway, text: str, view: View) -> ToolId | None:
    """The tool by its id, if it hangs on the wall as one that is no longer offered."""
    id, board = parse_tool_id(text), gateway.board
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
                "what": "offered",
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
                "what": "approved",
                "fingerprint": approval.fingerprint,
                "by": approval.by,
                "at": iso_time(approval.at),
                "firstSight": approval.first_sight,
                "spec": tool_spec_info(approval.spec),
            }
        )
    return versions
