"""Routes: declared databases and their checks."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.config.databases import dialect_of, display_url
from pegboard.core.databases.rows import FindingSeverity
from pegboard.core.model.databases import DatabaseId, DatabaseSettings, enabled_databases
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.gateway.board import BoardState
from pegboard.gateway.databases.lifecycle import DatabaseTools
from pegboard.gateway.doctor import BoardIssue
from pegboard.gateway.file_watch import CONFIG_RECORD_KIND
from pegboard.gateway.operator import Operator
from pegboard.ports.databases import SourceError
from pegboard.surfaces.rest.auth import decision_author, requires_scopes
from pegboard.surfaces.rest.requests import Name
from pegboard.surfaces.rest.responses import ProblemError, make_router

if TYPE_CHECKING:
    from pegboard.gateway.databases.source import ManagedDatabase, SourceCheck


class DatabaseLimitsInfo(TypedDict):
    rows: int
    bytes: int
    cell: int
    seconds: float


class DatabaseInfo(TypedDict):
    id: str
    dialect: str | None
    url: str
    """Without what is secret in it."""
    active: bool
    """Whether it can be queried."""
    description: str
    allow: list[str]
    deny: list[str]
    limits: DatabaseLimitsInfo
    samples: bool
    writes: bool
    force: bool
    declaredAt: str


class DatabasesResponse(TypedDict):
    databases: list[DatabaseInfo]


class DatabaseFindingInfo(TypedDict):
    message: str
    severity: FindingSeverity
    statements: list[str]
    """SQL that fixes it, for an administrator of the database."""


class DatabaseCheckInfo(TypedDict):
    id: str
    dialect: str | None
    served: bool
    reason: str | None
    version: str | None
    role: str | None
    tables: int | None
    columns: int | None
    writes: bool
    findings: list[DatabaseFindingInfo]


class DatabaseChecksResponse(TypedDict):
    databases: list[DatabaseCheckInfo]


class DatabaseRoleBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    adminUrl: Annotated[
        str | None,
        Field(
            max_length=4096,
            description="The URL of an administrator of the same database. It is used for this request and not kept.",
        ),
    ] = None
    apply: Annotated[bool, Field(description="Run the statements. Needs adminUrl.")] = False


class RoleScriptResponse(TypedDict):
    role: str
    """The login that the source connects with."""
    statements: list[str]
    """SQL for an administrator of the database, in this order. A password is a placeholder."""
    applied: bool


def database_routes(board: BoardState, operator: Operator, database_tools: DatabaseTools) -> APIRouter:
    routes = make_router("databases")

    @routes.get("/databases")
    async def list_databases() -> DatabasesResponse:
        """Every database of pegboard.yaml, as it is declared."""
        declared = board.policy.declared.databases
        used = enabled_databases(declared)
        return {"databases": [_database_info(declared[id], id in used) for id in sorted(declared)]}

    @routes.get("/databases/check")
    async def check_databases(source: Annotated[Name | None, Query()] = None) -> DatabaseChecksResponse:
        """Asks each database that is on, or one, who we are there and what may be seen. Changes nothing."""
        if source is not None:
            _source_in_use(board, database_tools, source)
        return {"databases": [_check_info(each) for each in await _run_checks(database_tools, source)]}

    @routes.post("/databases/{database}/role")
    @requires_scopes(TokenScope.ADMIN)
    async def role_of_database(database: Name, body: DatabaseRoleBody) -> RoleScriptResponse:
        """The statements that give a database server a login with exactly the privileges that this board allows. With
        `apply` they are run as the administrator of `adminUrl`."""
        if body.apply and not body.adminUrl:
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY, "adminUrl: to apply the statements, name an administrator."
            )
        source = _source_in_use(board, database_tools, database)
        try:
            script = await source.role_script(body.adminUrl, apply=body.apply)
        except SourceError as error:
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, f"Database {database!r}: {error}") from None
        if script is None:
            raise ProblemError(
                HTTPStatus.CONFLICT, f"Database {database!r} is a file and has no logins. Nothing to do."
            )
        if body.apply:
            source.discard_engine()
            operator.record(
                CONFIG_RECORD_KIND,
                None,
                f"the login {script.role!r} of database {database} was set up",
                decision_author(),
            )
        return {"role": script.role, "statements": list(script.statements), "applied": body.apply}

    return routes


def _source_in_use(board: BoardState, database_tools: DatabaseTools, database: str) -> "ManagedDatabase":
    declared = board.policy.declared.databases
    if database not in declared:
        near = closest_names(database, declared)
        known = f"There are: {', '.join(sorted(declared))}." if declared else "None is declared under databases."
        hint = f"Did you mean {near[0]!r}?" if near else known
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no database {database!r}. {hint}")
    toolbox = database_tools.toolbox
    source = None if toolbox is None else toolbox.sources.get(DatabaseId(database))
    if source is None:
        at = declared[DatabaseId(database)].origin
        raise ProblemError(HTTPStatus.CONFLICT, f"Database {database!r} is off. Write enabled: true at {at}.")
    return source


async def database_findings(database_tools: DatabaseTools) -> tuple[BoardIssue, ...]:
    """For the doctor: what keeps a database from being asked, and what its operator should look at."""
    found: list[BoardIssue] = []
    for each in await _run_checks(database_tools):
        database = each.source.database
        subject, again = f"database {database.id}", f"pegboard db check {database.id}"
        if each.problem is not None:
            what = f"Database {database.id} cannot be asked: {each.problem}"
            found.append(BoardIssue(subject, what, f"Correct it at {database.origin}, then look again: {again}"))
        for finding in each.findings:
            run = f"Run the statements of: pegboard db role {database.id}"
            fix = run if finding.statements else f"See {database.origin}"
            found.append(BoardIssue(subject, f"Database {database.id}: {finding.message}", fix, severity="warning"))
    return tuple(found)


async def _run_checks(database_tools: DatabaseTools, source: str | None = None) -> "list[SourceCheck]":
    toolbox = database_tools.toolbox
    if toolbox is None:
        return []
    # Only here, because most boards have no database.
    from pegboard.gateway.databases.source import run_database_checks

    sources = [each for id, each in toolbox.sources.items() if source in (None, id)]
    return await run_database_checks(sources)


def _database_info(database: DatabaseSettings, is_on: bool) -> DatabaseInfo:
    dialect = dialect_of(database.url)
    return {
        "id": str(database.id),
        "dialect": None if dialect is None else dialect.value,
        "url": display_url(database.url),
        "active": is_on,
        "description": database.description,
        "allow": [str(each) for each in database.access.allow],
        "deny": [str(each) for each in database.access.deny],
        "limits": {
            "rows": database.limits.rows,
            "bytes": database.limits.bytes,
            "cell": database.limits.cell_chars,
            "seconds": database.limits.seconds,
        },
        "samples": database.samples,
        "writes": database.writes,
        "force": database.force,
        "declaredAt": str(database.origin),
    }


def _check_info(check: "SourceCheck") -> DatabaseCheckInfo:
    checked, schema = check.result, check.schema
    dialect = check.source.dialect
    return {
        "id": str(check.source.database.id),
        "dialect": None if dialect is None else dialect.value,
        "served": check.problem is None,
        "reason": check.problem,
        "version": None if checked is None else checked.version or None,
        "role": None if checked is None else checked.role,
        "tables": None if schema is None else len(schema.tables),
        "columns": None if schema is None else sum(len(table.columns) for table in schema.tables),
        "writes": check.source.database.writes,
        "findings": [
            {"message": each.message, "severity": each.severity, "statements": list(each.statements)}
            for each in check.findings
        ],
    }
