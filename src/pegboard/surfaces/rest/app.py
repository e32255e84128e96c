"""The REST API as an ASGI application."""

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import TypeAdapter
from starlette.types import ASGIApp
from typing_extensions import TypedDict

from pegboard import __version__
from pegboard.core.model.catalogue import is_first_start
from pegboard.core.model.principals import sort_scopes
from pegboard.core.model.selection import View
from pegboard.core.review.review import pending_tools
from pegboard.gateway.access.authentication import OperatorAuthentication
from pegboard.gateway.access.tokens import TokenIndex
from pegboard.gateway.doctor import IssueSeverity, clear_pins, diagnose, pending_ticket_findings, unfit_overrides
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.trials import ServerTrials
from pegboard.ports.providers import SignIns
from pegboard.surfaces.rest.activity import activity_export_routes, activity_routes, activity_sum_routes
from pegboard.surfaces.rest.approvals import approval_routes
from pegboard.surfaces.rest.auth import ApiAuthMiddleware, enforce_scopes, required_scopes_of, session_routes
from pegboard.surfaces.rest.board import board_routes, first_run_routes, tool_card_routes
from pegboard.surfaces.rest.commands import decision_routes
from pegboard.surfaces.rest.databases import database_findings, database_routes
from pegboard.surfaces.rest.events import event_routes
from pegboard.surfaces.rest.overrides import override_preview_routes, override_routes
from pegboard.surfaces.rest.policy import diff_routes, policy_routes, stored_row_routes
from pegboard.surfaces.rest.principals import principal_routes, token_routes
from pegboard.surfaces.rest.programs import program_routes
from pegboard.surfaces.rest.prompts import answer_parsing_routes, presentation_routes, prompt_routes
from pegboard.surfaces.rest.responses import (
    PROBLEM_RESPONSES,
    JsonRoute,
    ProblemDetails,
    UnexpectedErrorMiddleware,
    refuse_unknown_parameters,
    register_problem_handlers,
    with_response_models,
)
from pegboard.surfaces.rest.schemas import NoticeInfo, notice_infos
from pegboard.surfaces.rest.search import playground_routes, search_query_routes, search_routes
from pegboard.surfaces.rest.server_setup import server_source_routes, server_trial_routes
from pegboard.surfaces.rest.servers import (
    quarantine_routes,
    server_detail_routes,
    server_routes,
    sign_in_routes,
)
from pegboard.surfaces.rest.settings import RuntimeInfo, setting_change_routes, setting_routes
from pegboard.surfaces.rest.tickets import ticket_routes
from pegboard.surfaces.rest.tools import switch_routes, tool_history_routes, tool_routes
from pegboard.surfaces.rest.toolset_tools import choice_routes
from pegboard.surfaces.rest.toolsets import no_installer, toolset_routes

# What each operation of the API was really asked and answered once: the examples of the OpenAPI document.

EXAMPLES_FILE: Final = Path(__file__).with_name("examples.json")
_JSON: Final = "application/json"


def add_examples(document: dict[str, Any]) -> None:
    """Puts an example beside each schema that has one."""
    for methods in document["paths"].values():
        for operation in methods.values():
            known = _recorded_examples().get(operation["operationId"], {})
            if "body" in known and _JSON in (content := operation.get("requestBody", {}).get("content", {})):
                content[_JSON]["example"] = known["body"]
            for status, response in operation["responses"].items():
                if "answer" in known and status.startswith("2") and _JSON in (content := response.get("content", {})):
                    content[_JSON]["example"] = known["answer"]


@cache
def _recorded_examples() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(EXAMPLES_FILE.read_text("utf-8"))
    return found


# The OpenAPI document of the API: what each route takes and answers, and that every error is a problem document.

TITLE: Final = "Pegboard"
_SCHEMES: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The start-up token, or an API token."}
}


def operation_id(route: APIRoute) -> str:
    """The name of its function: who generates a client calls it so."""
    return route.name


def _scopes_by_route(app: FastAPI) -> Iterator[tuple[str, str, list[str] | None]]:
    """What each route asks of a token, as the gate reads it."""
    for route in iter_route_contexts(app.routes):
        for method in route.methods or ():
            needed = required_scopes_of(route.endpoint, method)
            yield method, route.path_format or "", None if needed is None else [s.value for s in sort_scopes(needed)]


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Worked out once."""
    if app.openapi_schema is None:
        document: dict[str, Any] = get_openapi(title=TITLE, version=__version__, routes=app.routes)
        components = document.setdefault("components", {})
        told = TypeAdapter(ProblemDetails).json_schema(ref_template="#/components/schemas/{model}")
        schemas = components.setdefault("schemas", {})
        schemas.update({name: shape for name, shape in told.pop("$defs", {}).items() if name not in schemas})
        schemas["ProblemDetails"] = told
        components["securitySchemes"] = _SCHEMES
        document["security"] = [{name: []} for name in _SCHEMES]
        for method, path, scopes in _scopes_by_route(app):
            operation = document["paths"].get(path, {}).get(method.lower())
            if operation is not None:
                operation["security"] = [] if scopes is None else [{name: scopes} for name in _SCHEMES]
        add_examples(document)
        app.openapi_schema = document
    return app.openapi_schema


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
    pendingApprovals: int
    pendingTickets: int | None
    """`null` where the store does not tell at once."""
    notices: list[NoticeInfo]
    droppedAuditRecords: int


class DoctorFindingInfo(TypedDict):
    subject: str
    message: str
    fix: str
    severity: IssueSeverity


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
    app.include_router(board_routes(gateway.board, gateway.dashboards), prefix=API_PREFIX)
    app.include_router(tool_card_routes(gateway.board, gateway.dashboards), prefix=API_PREFIX)
    app.include_router(event_routes(gateway.changes), prefix=API_PREFIX)
    trials = ServerTrials(gateway.provider_for, gateway.clock, lambda key: sign_ins().sign_out(key))
    app.include_router(server_source_routes(gateway.board), prefix=API_PREFIX)
    app.include_router(server_trial_routes(gateway.board, gateway.clock, trials), prefix=API_PREFIX)
    app.include_router(
        server_routes(
            gateway.board, gateway.clock, gateway.operator, gateway.providers, gateway.unknown_names, sign_ins, trials
        ),
        prefix=API_PREFIX,
    )
    app.include_router(server_detail_routes(gateway.board, gateway.operator, gateway.providers), prefix=API_PREFIX)
    app.include_router(setting_routes(gateway.board, gateway.audit, about), prefix=API_PREFIX)
    app.include_router(setting_change_routes(gateway.board, gateway.operator), prefix=API_PREFIX)
    app.include_router(first_run_routes(gateway.board, gateway.audit, about), prefix=API_PREFIX)
    app.include_router(
        policy_routes(gateway.board, gateway.clock, gateway.operator, gateway.value_checker), prefix=API_PREFIX
    )
    app.include_router(stored_row_routes(gateway.board, gateway.operator), prefix=API_PREFIX)
    app.include_router(decision_routes(gateway.board, gateway.audit), prefix=API_PREFIX)
    app.include_router(toolset_routes(gateway.board, gateway.operator, installer), prefix=API_PREFIX)
    app.include_router(choice_routes(gateway.board, gateway.clock, gateway.operator), prefix=API_PREFIX)
    app.include_router(sign_in_routes(gateway.board, gateway.operator, gateway.providers, sign_ins), prefix=API_PREFIX)
    app.include_router(
        tool_routes(gateway.board, gateway.clock, gateway.calls, gateway.prompts, gateway.unknown_names, installer),
        prefix=API_PREFIX,
    )
    app.include_router(tool_history_routes(gateway.board, gateway.audit), prefix=API_PREFIX)
    app.include_router(search_routes(gateway.board, gateway.search), prefix=API_PREFIX)
    app.include_router(playground_routes(gateway.board, gateway.search), prefix=API_PREFIX)
    app.include_router(
        search_query_routes(gateway.board, gateway.clock, gateway.search, gateway.changes, gateway.queries),
        prefix=API_PREFIX,
    )
    app.include_router(presentation_routes(gateway.board, gateway.calls), prefix=API_PREFIX)
    app.include_router(prompt_routes(gateway.board, gateway.prompts), prefix=API_PREFIX)
    app.include_router(answer_parsing_routes(gateway.board, gateway.calls, gateway.prompts), prefix=API_PREFIX)
    app.include_router(program_routes(gateway.board, gateway.clock, gateway.calls), prefix=API_PREFIX)
    app.include_router(database_routes(gateway.board, gateway.operator, gateway.databases), prefix=API_PREFIX)
    app.include_router(switch_routes(gateway.board, gateway.operator), prefix=API_PREFIX)
    app.include_router(approval_routes(gateway.board, gateway.operator, gateway.pending_since), prefix=API_PREFIX)
    app.include_router(
        quarantine_routes(gateway.board, gateway.clock, gateway.operator, gateway.provider_for), prefix=API_PREFIX
    )
    app.include_router(override_preview_routes(gateway.board, gateway.clock, gateway.value_checker), prefix=API_PREFIX)
    app.include_router(override_routes(gateway.board, gateway.clock, gateway.operator, installer), prefix=API_PREFIX)
    app.include_router(diff_routes(gateway.board, gateway.value_checker), prefix=API_PREFIX)
    app.include_router(
        activity_sum_routes(gateway.board, gateway.clock, gateway.audit, gateway.calls), prefix=API_PREFIX
    )
    app.include_router(activity_export_routes(gateway.board, gateway.audit), prefix=API_PREFIX)
    app.include_router(activity_routes(gateway.board, gateway.audit), prefix=API_PREFIX)
    app.include_router(
        ticket_routes(gateway.board, gateway.clock, gateway.operator, gateway.tickets), prefix=API_PREFIX
    )
    desk = reception or OperatorAuthentication(TokenIndex(gateway.board, b""))
    app.include_router(session_routes(desk), prefix=API_PREFIX)
    app.include_router(
        token_routes(gateway.board, gateway.clock, gateway.operator, desk.tokens.usage), prefix=API_PREFIX
    )
    app.include_router(principal_routes(gateway.board, gateway.clock, gateway.operator), prefix=API_PREFIX)

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
            "pendingApprovals": len(pending_tools(board.resolution(View()))),
            "pendingTickets": tickets,
            "notices": notice_infos(board.notices),
            "droppedAuditRecords": gateway.audit.dropped_count,
        }

    @app.get(f"{API_PREFIX}/doctor", tags=["board"], responses=PROBLEM_RESPONSES)
    async def run_doctor() -> DoctorResponse:
        """What is wrong, and the command that fixes it."""
        # A row that became unreadable changed no version of the policy, so nobody has loaded it since.
        await gateway.operator.catch_up()
        found = (
            *diagnose(gateway.board, running=about.endpoint is not None),
            *await pending_ticket_findings(gateway.tickets),
            *unfit_overrides(gateway.board),
            *clear_pins(gateway.board),
            *await database_findings(gateway.databases),
        )
        return {
            "findings": [
                {"subject": f.subject, "message": f.message, "fix": f.fix, "severity": f.severity} for f in found
            ]
        }

    return app


def _document() -> dict[str, Any]:
    # It is made of an application of its own, and most gateways are never asked for it.

    return document()


# `python -m pegboard.surfaces.rest.app` prints the OpenAPI document. No gateway runs for it.


class _GatewayStub:
    """Stands where routes keep what they will ask later: nothing is asked of it."""

    def __getattr__(self, name: str) -> "_GatewayStub":
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _no_sign_ins() -> NoReturn:
    raise LookupError("Nobody signs in to a document.")


@cache
def document() -> dict[str, Any]:
    """Of every gateway: none has routes of its own."""
    about = RuntimeInfo(None, "", None, "")
    with with_response_models():
        return describe_api(build_api(cast(Gateway, _GatewayStub()), about, cast("type[SignIns]", _no_sign_ins)))


def main() -> None:
    json.dump(document(), sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
