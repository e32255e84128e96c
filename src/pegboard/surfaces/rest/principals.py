"""Routes: principals and API tokens."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from pegboard.core.commands.access import (
    MakeToken,
    RemovePrincipal,
    RevokeToken,
    SetPrincipalConfirmation,
    starts_requiring_tokens,
)
from pegboard.core.commands.commands import SetGrants
from pegboard.core.model.confirmation import ConfirmationMode
from pegboard.core.model.ids import BUILTIN, LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import ApiToken, TokenScope, sort_scopes
from pegboard.core.model.references import closest_names
from pegboard.core.policy.policy import Policy
from pegboard.gateway.access.tokens import UsageTracker
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.ports.providers import Clock
from pegboard.surfaces.rest.auth import requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, run_command
from pegboard.surfaces.rest.responses import ProblemError, make_router

# Routes for principals: who there is, what each may use, and forgetting one.


class PrincipalInfo(TypedDict):
    id: str
    declaredAt: str | None
    """Where the file names it; null for one that was named at run time."""
    scopes: list[str]
    """Of its tokens together, those that are over left out."""
    tokens: int
    toolsets: list[str] | None
    """What it may use; null for everything on the board."""
    grantSource: str | None
    """file, or store: who set that limit; nobody, where callers have names and this is none of them."""
    interactive: bool
    """Whether answers of its clients confirm calls."""
    interactiveSetting: bool | None
    """What was set for it; null where interactive is the default."""
    confirmation: str | None
    """in_client or ticket, where one is set for this principal."""


class PrincipalsResponse(TypedDict):
    principals: list[PrincipalInfo]
    requiresTokens: bool
    """Whether /mcp and /v1 ask who calls."""
    policyVersion: int
    next: str | None


class GrantBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    toolsets: Annotated[
        list[str] | None, Field(max_length=1000, description="Exactly these; null takes the limit away.")
    ]


class ConfirmationBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    interactive: Annotated[
        bool | None, Field(description="Whether answers of its clients confirm calls; null for the default.")
    ] = None
    confirmation: Annotated[
        ConfirmationMode | None, Field(description="How its calls are confirmed; null to leave that to the others.")
    ] = None


class PrincipalResponse(TypedDict):
    principal: PrincipalInfo
    policyVersion: int


class PrincipalRemovedResponse(TypedDict):
    removed: str
    requiresTokens: bool
    policyVersion: int


def principal_routes(board: BoardState, clock: Clock, operator: Operator) -> APIRouter:
    routes = make_router("access")

    @routes.get("/principals")
    async def list_principals(
        limit: Annotated[int, Query(ge=1, le=1000)] = 200, after: Annotated[str | None, Query(max_length=256)] = None
    ) -> PrincipalsResponse:
        """Whoever has a name here, and `local`, who works at this machine."""
        policy = board.policy
        names = [name for name in known_principals(policy) if after is None or name > after]
        return {
            "principals": [_principal_info(board, clock, name) for name in names[:limit]],
            "requiresTokens": policy.requires_tokens,
            "policyVersion": policy.version,
            "next": names[limit - 1] if limit < len(names) else None,
        }

    @routes.put("/principals/{id:path}/grants")
    @requires_scopes(TokenScope.ADMIN)
    async def set_grants(id: str, body: GrantBody, if_match: IfMatchVersion = None) -> PrincipalResponse:
        """Which toolsets a principal may use. What it was not granted does not exist for it."""
        policy = board.policy
        principal = _find_principal(policy, id)
        # What is granted already stays grantable, though its toolset may have left the board.
        known = {*policy.toolsets, BUILTIN, *(policy.granted_toolsets(principal) or ())}
        for toolset in body.toolsets or ():
            if toolset not in known:
                near = closest_names(toolset, policy.toolsets)
                hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "See: pegboard toolset list"
                raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {toolset[:100]!r}. {hint}")
        granted = None if body.toolsets is None else frozenset(map(ToolsetId, body.toolsets))
        await run_command(operator, SetGrants(principal, granted), if_match)
        return {"principal": _principal_info(board, clock, principal), "policyVersion": board.policy.version}

    @routes.put("/principals/{id:path}/confirmation")
    @requires_scopes(TokenScope.ADMIN)
    async def set_confirmation(id: str, body: ConfirmationBody, if_match: IfMatchVersion = None) -> PrincipalResponse:
        """Whether answers of a principal's clients confirm calls, and how its calls are confirmed. Exactly this from
        now on."""
        principal = _find_principal(board.policy, id)
        await run_command(operator, SetPrincipalConfirmation(principal, body.interactive, body.confirmation), if_match)
        return {"principal": _principal_info(board, clock, principal), "policyVersion": board.policy.version}

    @routes.delete("/principals/{id:path}")
    @requires_scopes(TokenScope.ADMIN)
    async def remove_principal(
        id: str, reopen: bool = False, if_match: IfMatchVersion = None
    ) -> PrincipalRemovedResponse:
        """Forget a principal with its tokens and grants. The last one that calls goes only with `reopen`: without it
        whoever reaches the gateway may call every open tool."""
        principal = _find_principal(board.policy, id)
        await run_command(operator, RemovePrincipal(principal, reopen), if_match)
        policy = board.policy
        return {"removed": principal, "requiresTokens": policy.requires_tokens, "policyVersion": policy.version}

    return routes


def known_principals(policy: Policy) -> list[PrincipalId]:
    made = (token.principal for token in policy.decisions.tokens.values())
    named = (*policy.decisions.grants, *policy.declared.grants, *policy.decisions.confirmations)
    return sorted({LOCAL_PRINCIPAL, *policy.declared.principals, *made, *named})


def _find_principal(policy: Policy, id: str) -> PrincipalId:
    known = known_principals(policy)
    if id in known:
        return PrincipalId(id)
    near = closest_names(id, known)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "See: pegboard grants list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no principal {id[:100]!r}. {hint}")


def _principal_info(board: BoardState, clock: Clock, id: PrincipalId) -> PrincipalInfo:
    policy, now = board.policy, clock()
    declared = policy.declared.principals.get(id)
    tokens = [token for token in policy.tokens.values() if token.principal == id and not token.is_inactive(now)]
    scopes = {scope for token in tokens for scope in token.scopes} | (declared.scopes if declared else frozenset())
    limit, own = policy.grants_of(id), policy.principal_confirmation(id)
    return {
        "id": id,
        "declaredAt": None if declared is None else str(declared.at),
        "scopes": [scope.value for scope in sort_scopes(TokenScope if id == LOCAL_PRINCIPAL else scopes)],
        "tokens": len(tokens) + (len(declared.hashes) if declared else 0),
        "toolsets": None if limit is None else sorted(limit.toolsets),
        "grantSource": None if limit is None else limit.by,
        "interactive": policy.interactive_mark(id).is_marked,
        "interactiveSetting": own.interactive,
        "confirmation": None if own.mode is None else own.mode.value,
    }


TOKEN_PREFIX: Final = "pgb_"  # noqa: S105
"""By which people, and programs that look for leaked secrets, know a token of ours."""
SHOWN_CHARS: Final = 8
TOKEN_REQUIRED_NOTICE: Final = (
    "From now on every request to /mcp and /v1 must carry a token with the scope call: clients without one are turned "  # noqa: S105
    "away. Revoking tokens, or letting them expire, does not change that. An answer in a client confirms a call only "
    "if its principal is marked interactive; other calls that must be confirmed become tickets."
)


class TokenInfo(TypedDict):
    id: str
    principal: str
    name: str
    prefix: str
    scopes: list[str]
    state: str
    """active, expired, revoked; or overruled, when the file declares its principal."""
    createdBy: str
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedBy: str | None
    revokedAt: str | None


class TokensResponse(TypedDict):
    tokens: list[TokenInfo]
    policyVersion: int
    next: str | None


class TokenCreatedResponse(TypedDict):
    token: str
    """The token itself. It is told here and nowhere again."""
    created: TokenInfo
    notice: str | None
    """What else changed by it, if something did."""
    policyVersion: int


class TokenRevokedResponse(TypedDict):
    revoked: TokenInfo
    policyVersion: int


class TokenBody(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    principal: Annotated[str, Field(min_length=1, max_length=256, description="Whose it is: a name of your choice.")]
    name: Annotated[str, Field(min_length=1, max_length=256, description="What it is for.")]
    scopes: Annotated[list[TokenScope], Field(min_length=1, max_length=4)]
    expires_in_days: Annotated[int | None, Field(ge=1, le=3650)] = None
    expires_at: AwareDatetime | None = None
    toolsets: Annotated[
        list[str] | None,
        Field(max_length=1000, description="What its principal may use from now on; without it, as before."),
    ] = None
    interactive: Annotated[
        bool | None,
        Field(
            description="Whether answers of its principal's clients confirm calls from now on; without it, as before, "
            "and at first not. Only for clients that a person sits at."
        ),
    ] = None


def token_routes(board: BoardState, clock: Clock, operator: Operator, uses: UsageTracker) -> APIRouter:
    routes = make_router("access")

    async def describe_token(token: ApiToken) -> TokenInfo:
        return _token_info(token, board.policy, clock(), await uses.last_uses())

    @routes.get("/tokens")
    @requires_scopes(TokenScope.ADMIN)
    async def list_tokens(
        limit: Annotated[int, Query(ge=1, le=1000)] = 200, after: Annotated[str | None, Query(max_length=64)] = None
    ) -> TokensResponse:
        """Every token that was made, newest first, those that are over included. None is told whole."""
        policy, now, used = board.policy, clock(), await uses.last_uses()
        tokens = sorted(policy.decisions.tokens.values(), key=lambda one: (one.at, one.id), reverse=True)
        ids = [token.id for token in tokens]
        if after is not None and after not in ids:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no token {after!r} to go on after. Begin anew.")
        begin = 0 if after is None else ids.index(after) + 1
        page = tokens[begin : begin + limit]
        return {
            "tokens": [_token_info(token, policy, now, used) for token in page],
            "policyVersion": policy.version,
            "next": page[-1].id if begin + limit < len(tokens) else None,
        }

    @routes.post("/tokens", status_code=HTTPStatus.CREATED)
    @requires_scopes(TokenScope.ADMIN)
    async def make_token(body: TokenBody, if_match: IfMatchVersion = None) -> TokenCreatedResponse:
        """A new token for a principal. It is in this answer and nowhere else: only its hash is kept."""
        text = f"{TOKEN_PREFIX}{secrets.token_urlsafe(32)}"
        command = MakeToken(
            secrets.token_hex(6),
            PrincipalId(body.principal),
            body.name,
            text[:SHOWN_CHARS],
            sha256(text.encode()).digest(),
            frozenset(body.scopes),
            _expiry(body, clock()),
            None if body.toolsets is None else frozenset(map(ToolsetId, body.toolsets)),
            body.interactive,
        )
        closes = starts_requiring_tokens(board.policy, command.scopes)
        await run_command(operator, command, if_match)
        policy = board.policy
        return {
            "token": text,
            "created": await describe_token(policy.decisions.tokens[command.id]),
            "notice": TOKEN_REQUIRED_NOTICE if closes else None,
            "policyVersion": policy.version,
        }

    @routes.delete("/tokens/{id}")
    @requires_scopes(TokenScope.ADMIN)
    async def revoke_token(id: str, if_match: IfMatchVersion = None) -> TokenRevokedResponse:
        """From the next request on it is a stranger's; sessions, visits and streams that it opened end."""
        if id not in board.policy.decisions.tokens:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no token {id[:64]!r}. See: pegboard tokens list")
        await run_command(operator, RevokeToken(id), if_match)
        policy = board.policy
        return {"revoked": await describe_token(policy.decisions.tokens[id]), "policyVersion": policy.version}

    return routes


def _expiry(body: TokenBody, now: datetime) -> datetime | None:
    if body.expires_in_days is not None and body.expires_at is not None:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "Say expiresInDays or expiresAt, not both.")
    return body.expires_at if body.expires_in_days is None else now + timedelta(days=body.expires_in_days)


def _token_info(token: ApiToken, policy: Policy, now: datetime, used: Mapping[str, datetime]) -> TokenInfo:
    revoked, last = token.revocation, used.get(token.id)
    if revoked is not None:
        state = "revoked"
    elif token.is_inactive(now):
        state = "expired"
    else:
        state = "active" if token.id in policy.tokens else "overruled"
    return {
        "id": token.id,
        "principal": token.principal,
        "name": token.name,
        "prefix": token.prefix,
        "scopes": [scope.value for scope in sort_scopes(token.scopes)],
        "state": state,
        "createdBy": token.by,
        "createdAt": token.at.isoformat(),
        "expiresAt": None if token.expires_at is None else token.expires_at.isoformat(),
        "lastUsedAt": None if last is None else last.isoformat(),
        "revokedBy": None if revoked is None else revoked.by,
        "revokedAt": None if revoked is None else revoked.at.isoformat(),
    }
