"""Routes for API tokens: which there are, making one, which is told once, and revoking one."""

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

from pegboard.core.api_token import ApiToken
from pegboard.core.entitling import MakeToken, RevokeToken, closes_the_endpoint
from pegboard.core.ids import PrincipalId, ToolsetId
from pegboard.core.policy import Policy
from pegboard.core.scope import Scope, in_order
from pegboard.gateway.access.uses import Uses
from pegboard.gateway.gateway import Gateway

from .access import needs
from .answers import routes_about
from .deciding import Version, done
from .problems import Problem

PREFIX: Final = "pgb_"
"""By which people, and programs that look for leaked secrets, know a token of ours."""
SHOWN: Final = 8
CLOSES: Final = (
    "From now on every request to /mcp and /v1 must carry a token with the scope call: clients without one are turned "
    "away. Revoking tokens, or letting them expire, does not change that. An answer in a client confirms a call only "
    "if its principal is marked interactive; other calls that must be confirmed become tickets."
)


class TokenShape(TypedDict):
    id: str
    principal: str
    name: str
    prefix: str
    scopes: list[str]
    state: str
    """active, expired, revoked; or overruled, when the file declares its principal."""
    madeBy: str
    madeAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    revokedBy: str | None
    revokedAt: str | None


class TokensShape(TypedDict):
    tokens: list[TokenShape]
    policyVersion: int
    next: str | None


class MadeShape(TypedDict):
    token: str
    """The token itself. It is told here and nowhere again."""
    made: TokenShape
    notice: str | None
    """What else changed by it, if something did."""
    policyVersion: int


class RevokedShape(TypedDict):
    revoked: TokenShape
    policyVersion: int


class TokenBody(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    principal: Annotated[str, Field(min_length=1, max_length=256, description="Whose it is: a name of your choice.")]
    name: Annotated[str, Field(min_length=1, max_length=256, description="What it is for.")]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
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


def token_routes(gateway: Gateway, uses: Uses) -> APIRouter:
    routes = routes_about("access")

    async def shaped(token: ApiToken) -> TokenShape:
        return _shape(token, gateway.board.policy, gateway.clock(), await uses.latest())

    @routes.get("/tokens")
    @needs(Scope.ADMIN)
    async def list_tokens(
        limit: Annotated[int, Query(ge=1, le=1000)] = 200, after: Annotated[str | None, Query(max_length=64)] = None
    ) -> TokensShape:
        """Every token that was made, newest first, those that are over included. None is told whole."""
        policy, now, used = gateway.board.policy, gateway.clock(), await uses.latest()
        tokens = sorted(policy.decided.tokens.values(), key=lambda one: (one.at, one.id), reverse=True)
        ids = [token.id for token in tokens]
        if after is not None and after not in ids:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no token {after!r} to go on after. Begin anew.")
        begin = 0 if after is None else ids.index(after) + 1
        page = tokens[begin : begin + limit]
        return {
            "tokens": [_shape(token, policy, now, used) for token in page],
            "policyVersion": policy.version,
            "next": page[-1].id if begin + limit < len(tokens) else None,
        }

    @routes.post("/tokens", status_code=HTTPStatus.CREATED)
    @needs(Scope.ADMIN)
    async def make_token(body: TokenBody, if_match: Version = None) -> MadeShape:
        """A new token for a principal. It is in this answer and nowhere else: only its hash is kept."""
        text = f"{PREFIX}{secrets.token_urlsafe(32)}"
        command = MakeToken(
            secrets.token_hex(6),
            PrincipalId(body.principal),
            body.name,
            text[:SHOWN],
            sha256(text.encode()).digest(),
            frozenset(body.scopes),
            _expiry(body, gateway.clock()),
            None if body.toolsets is None else frozenset(map(ToolsetId, body.toolsets)),
            body.interactive,
        )
        closes = closes_the_endpoint(gateway.board.policy, command.scopes)
        await done(gateway, command, if_match)
        policy = gateway.board.policy
        return {
            "token": text,
            "made": await shaped(policy.decided.tokens[command.id]),
            "notice": CLOSES if closes else None,
            "policyVersion": policy.version,
        }

    @routes.delete("/tokens/{id}")
    @needs(Scope.ADMIN)
    async def revoke_token(id: str, if_match: Version = None) -> RevokedShape:
        """From the next request on it is a stranger's; sessions, visits and streams that it opened end."""
        if id not in gateway.board.policy.decided.tokens:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no token {id[:64]!r}. See: pegboard tokens list")
        await done(gateway, RevokeToken(id), if_match)
        policy = gateway.board.policy
        return {"revoked": await shaped(policy.decided.tokens[id]), "policyVersion": policy.version}

    return routes


def _expiry(body: TokenBody, now: datetime) -> datetime | None:
    if body.expires_in_days is not None and body.expires_at is not None:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "Say expiresInDays or expiresAt, not both.")
    return body.expires_at if body.expires_in_days is None else now + timedelta(days=body.expires_in_days)


def _shape(token: ApiToken, policy: Policy, now: datetime, used: Mapping[str, datetime]) -> TokenShape:
    revoked, last = token.revoked, used.get(token.id)
    if revoked is not None:
        state = "revoked"
    elif token.is_over(now):
        state = "expired"
    else:
        state = "active" if token.id in policy.tokens else "overruled"
    return {
        "id": token.id,
        "principal": token.principal,
        "name": token.name,
        "prefix": token.prefix,
        "scopes": [scope.value for scope in in_order(token.scopes)],
        "state": state,
        "madeBy": token.by,
        "madeAt": token.at.isoformat(),
        "expiresAt": None if token.expires is None else token.expires.isoformat(),
        "lastUsedAt": None if last is None else last.isoformat(),
        "revokedBy": None if revoked is None else revoked.by,
        "revokedAt": None if revoked is None else revoked.at.isoformat(),
    }
