"""The API as an ASGI application: status and the routes, behind the token."""

from collections.abc import Callable
from typing import Any

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp
from typing_extensions import TypedDict

from pegboard import __version__
from pegboard.core.review import pending_tools
from pegboard.core.view import View
from pegboard.gateway.access.keys import TokenIndex
from pegboard.gateway.access.reception import OperatorAuthentication
from pegboard.gateway.doctor import diagnose, pending_ticket_findings
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.overriding import clear_pins, unfit_overrides
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.trials import ServerTrials
from pegboard.ports import SignIns

from .access import ApiAuthMiddleware, enforce_scopes
from .activity import activity_routes
from .activity_export import activity_export_routes
from .activity_sums import activity_sum_routes
from .answer_parsing import answer_parsing_routes
from .answers import JsonRoute
from .approvals import approval_routes
from .board import board_routes
from .choices import choice_routes
from .databases import database_findings, database_routes
from .diffs import diff_routes
from .events import event_routes
from .first_run import first_run_routes
from .health import is_first_start
from .meanwhile import decision_routes
from .openapi import TITLE, operation_id
from .override_previews import override_preview_routes
from .overrides import override_routes
from .parameters import refuse_unknown_parameters
from .pegs import tool_card_routes
from .playground import playground_routes
from .policies import policy_routes
from .presentations import presentation_routes
from .principals import principal_routes
from .problem_shapes import PROBLEM_RESPONSES
from .problems import UnexpectedErrorMiddleware, register_problem_handlers
from .programs import program_routes
from .prompts import prompt_routes
from .quarantine import quarantine_routes
from .search import search_routes
from .search_queries import search_query_routes
from .server_details import server_detail_routes
from .server_sources import server_source_routes
from .server_trials import server_trial_routes
from .servers import server_routes
from .session import session_routes
from .setting_changes import setting_change_routes
from .settings import RuntimeInfo, setting_routes
from .shapes import NoticeInfo, notice_infos
from .sign_ins import sign_in_routes
from .stored_rows import stored_row_routes
from .switches import switch_routes
from .tickets import ticket_routes
from .tokens import token_routes
from .tool_history import tool_history_routes
from .tools import tool_routes
from .toolsets import no_installer, toolset_routes

API_PREFIX = "/api/v1"


class StatusResponse(TypedDict):
    version: str
    policyVersion: int
    config: str | None
    dataDir: str
    endpoint: str | None
    store: str
    servers: int
    starting: list[str]
    tools: int
    openTools: int
    waitingApprovals: int
    waitingTickets: int | None
    """`null` where the store does not tell at once."""
    notices: list[NoticeInfo]
    droppedAuditRecords: int


class DoctorFindingInfo(TypedDict):
    subject: str
    what: str
    mend: str
    grave: bool


class DoctorResponse(TypedDict):
    findings: list[DoctorFindingInfo]


def rest_app(
    gateway: Gateway,
    about: RuntimeInfo,
    reception: OperatorAuthentication | bytes,
    sign_ins: Callable[[], SignIns],
    installer: Callable[[], ToolsetInstaller] = no_installer,
) -> ASGIApp:
    """`reception` is the one that other surfaces of the same listener ask, too; or the hash of a start-up token."""
    desk = (
        OperatorAuthentication(TokenIndex(gateway.board, reception, gateway.clock))
        if isinstance(reception, bytes)
        else reception
    )
    app = build_api(gateway, about, sign_ins, installer, desk)
    return ApiAuthMiddleware(UnexpectedErrorMiddleware(app), desk, app)


def build_api(
    gateway: Gateway,
    about: RuntimeInfo,
    sign_ins: Callable[[], SignIns],
    installer: Callable[[], ToolsetInstaller] = no_installer,
    reception: OperatorAuthentication | None = None,
) -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API_PREFIX}/openapi.json",
        redirect_slashes=False,
        dependencies=[Depends(enforce_scopes), Depends(refuse_unknown_parameters)],
        generate_unique_id_function=operation_id,
    )
    app.openapi = _document  # type: ignore[method-assign]  # as the framework documents it
    app.router.route_class = JsonRoute
    register_problem_handlers(app)
    app.include_router(board_routes(gateway), prefix=API_PREFIX)
    app.include_router(tool_card_routes(gateway), prefix=API_PREFIX)
    app.include_router(event_routes(gateway), prefix=API_PREFIX)
    trials = ServerTrials(gateway.provider_for, gateway.clock, lambda key: sign_ins().sign_out(key))
    app.include_router(server_source_routes(gateway), prefix=API_PREFIX)
    app.include_router(server_trial_routes(gateway, trials), prefix=API_PREFIX)
    app.include_router(server_routes(gateway, sign_ins, trials), prefix=API_PREFIX)
    app.include_router(server_detail_routes(gateway), prefix=API_PREFIX)
    app.include_router(setting_routes(gateway, about), prefix=API_PREFIX)
    app.include_router(setting_change_routes(gateway), prefix=API_PREFIX)
    app.include_router(first_run_routes(gateway, about), prefix=API_PREFIX)
    app.include_router(policy_routes(gateway), prefix=API_PREFIX)
    app.include_router(stored_row_routes(gateway), prefix=API_PREFIX)
    app.include_router(decision_routes(gateway), prefix=API_PREFIX)
    app.include_router(toolset_routes(gateway, installer), prefix=API_PREFIX)
    app.include_router(choice_routes(gateway), prefix=API_PREFIX)
    app.include_router(sign_in_routes(gateway, sign_ins), prefix=API_PREFIX)
    app.include_router(tool_routes(gateway, installer), prefix=API_PREFIX)
    app.include_router(tool_history_routes(gateway), prefix=API_PREFIX)
    app.include_router(search_routes(gateway), prefix=API_PREFIX)
    app.include_router(playground_routes(gateway), prefix=API_PREFIX)
    app.include_router(search_query_routes(gateway), prefix=API_PREFIX)
    app.include_router(presentation_routes(gateway), prefix=API_PREFIX)
    app.include_router(prompt_routes(gateway), prefix=API_PREFIX)
    app.include_router(answer_parsing_routes(gateway), prefix=API_PREFIX)
    app.include_router(program_routes(gateway), prefix=API_PREFIX)
    app.include_router(database_routes(gateway), prefix=API_PREFIX)
    app.include_router(switch_routes(gateway), prefix=API_PREFIX)
    app.include_router(approval_routes(gateway), prefix=API_PREFIX)
    app.include_router(quarantine_routes(gateway), prefix=API_PREFIX)
    app.include_router(override_preview_routes(gateway), prefix=API_PREFIX)
    app.include_router(override_routes(gateway, installer), prefix=API_PREFIX)
    app.include_router(diff_routes(gateway), prefix=API_PREFIX)
    app.include_router(activity_sum_routes(gateway), prefix=API_PREFIX)
    app.include_router(activity_export_routes(gateway), prefix=API_PREFIX)
    app.include_router(activity_routes(gateway), prefix=API_PREFIX)
    app.include_router(ticket_routes(gateway), prefix=API_PREFIX)
    desk = reception or OperatorAuthentication(TokenIndex(gateway.board, b""))
    app.include_router(session_routes(desk), prefix=API_PREFIX)
    app.include_router(token_routes(gateway, desk.tokens.usage), prefix=API_PREFIX)
    app.include_router(principal_routes(gateway), prefix=API_PREFIX)

    @app.get(f"{API_PREFIX}/status", tags=["board"], responses=PROBLEM_RESPONSES)
    async def show_status() -> StatusResponse:
        """What runs, from what, and what an operator should know."""
        board = gateway.board
        await gateway.unknown_names.refresh()
        tickets = await gateway.tickets.count()
        return {
            "version": __version__,
            "policyVersion": board.policy.version,
            "config": about.config,
            "dataDir": about.data_dir,
            "endpoint": about.endpoint,
            "store": about.store,
            "servers": len(board.policy.servers),
            "starting": [
                str(source) for source, word in board.catalogue.listings.items() if is_first_start(word.health)
            ],
            "tools": len(board.catalogue.tools),
            "openTools": sum(1 for _ in board.resolution(View()).open_tools()),
            "waitingApprovals": len(pending_tools(board.resolution(View()))),
            "waitingTickets": tickets,
            "notices": notice_infos(board.notices),
            "droppedAuditRecords": gateway.audit.dropped_count,
        }

    @app.get(f"{API_PREFIX}/doctor", tags=["board"], responses=PROBLEM_RESPONSES)
    async def run_doctor() -> DoctorResponse:
        """What is wrong, and the command that mends it."""
        # A row that became unreadable changed no version of the policy, so nobody has loaded it since.
        await gateway.operator.catch_up()
        found = (
            *diagnose(gateway.board, running=about.endpoint is not None),
            *await pending_ticket_findings(gateway.tickets),
            *unfit_overrides(gateway),
            *clear_pins(gateway),
            *await database_findings(gateway),
        )
        return {"findings": [{"subject": f.subject, "what": f.what, "mend": f.mend, "grave": f.grave} for f in found]}

    return app


def _document() -> dict[str, Any]:
    # It is made of an application of its own, and most gateways are never asked for it.
    from .document import document

    return document()
