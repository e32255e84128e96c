"""Routes for principals: who there is, what each may use, and forgetting one."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from pegboard.core.commands import SetGrants
from pegboard.core.confirmation import ConfirmationMode
from pegboard.core.entitling import RemovePrincipal, SetPrincipalConfirmation
from pegboard.core.ids import BUILTIN, LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.policy import Policy
from pegboard.core.reference import closest_names
from pegboard.core.scope import TokenScope, sort_scopes
from pegboard.gateway.gateway import Gateway

from .access import requires_scopes
from .answers import make_router
from .deciding import IfMatchVersion, run_command
from .problems import ProblemError


class PrincipalInfo(TypedDict):
    id: str
    declaredAt: str | None
    """Where the file names it; null for one that was named at run time."""
    scopes: list[str]
    """Of its tokens together, those that are over left out."""
    tokens: int
    toolsets: list[str] | None
    """What it may use; null for everything on the board."""
    limitFrom: str | None
    """file, or store: who set that limit; nobody, where callers have names and this is none of them."""
    interactive: bool
    """Whether answers of its clients confirm calls."""
    interactiveSet: bool | None
    """What was set for it; null where interactive is the default."""
    confirmation: str | None
    """in_client or ticket, where one is set for this principal."""


class PrincipalsResponse(TypedDict):
    principals: list[PrincipalInfo]
    asks: bool
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
    asks: bool
    policyVersion: int


def principal_routes(gateway: Gateway) -> APIRouter:
    routes = make_router("access")

    @routes.get("/principals")
    async def list_principals(
        limit: Annotated[int, Query(ge=1, le=1000)] = 200, after: Annotated[str | None, Query(max_length=256)] = None
    ) -> PrincipalsResponse:
        """Whoever has a name here, and `local`, who works at this machine."""
        policy = gateway.board.policy
        names = [name for name in known_principals(policy) if after is None or name > after]
        return {
            "principals": [_principal_info(gateway, name) for name in names[:limit]],
            "asks": policy.requires_tokens,
            "policyVersion": policy.version,
            "next": names[limit - 1] if limit < len(names) else None,
        }

    @routes.put("/principals/{id:path}/grants")
    @requires_scopes(TokenScope.ADMIN)
    async def set_grants(id: str, body: GrantBody, if_match: IfMatchVersion = None) -> PrincipalResponse:
        """Which toolsets a principal may use. What it was not granted does not exist for it."""
        policy = gateway.board.policy
        principal = _find_principal(policy, id)
        # What is granted already stays grantable, though its toolset may have left the board.
        known = {*policy.toolsets, BUILTIN, *(policy.granted_toolsets(principal) or ())}
        for toolset in body.toolsets or ():
            if toolset not in known:
                near = closest_names(toolset, policy.toolsets)
                hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "See: pegboard toolset list"
                raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {toolset[:100]!r}. {hint}")
        granted = None if body.toolsets is None else frozenset(map(ToolsetId, body.toolsets))
        await run_command(gateway, SetGrants(principal, granted), if_match)
        return {"principal": _principal_info(gateway, principal), "policyVersion": gateway.board.policy.version}

    @routes.put("/principals/{id:path}/confirmation")
    @requires_scopes(TokenScope.ADMIN)
    async def set_confirmation(id: str, body: ConfirmationBody, if_match: IfMatchVersion = None) -> PrincipalResponse:
        """Whether answers of a principal's clients confirm calls, and how its calls are confirmed. Exactly this from
        now on."""
        principal = _find_principal(gateway.board.policy, id)
        await run_command(gateway, SetPrincipalConfirmation(principal, body.interactive, body.confirmation), if_match)
        return {"principal": _principal_info(gateway, principal), "policyVersion": gateway.board.policy.version}

    @routes.delete("/principals/{id:path}")
    @requires_scopes(TokenScope.ADMIN)
    async def remove_principal(
        id: str, reopen: bool = False, if_match: IfMatchVersion = None
    ) -> PrincipalRemovedResponse:
        """Forget a principal with its tokens and grants. The last one that calls goes only with `reopen`: without it
        whoever reaches the gateway may call every open tool."""
        principal = _find_principal(gateway.board.policy, id)
        await run_command(gateway, RemovePrincipal(principal, reopen), if_match)
        policy = gateway.board.policy
        return {"removed": principal, "asks": policy.requires_tokens, "policyVersion": policy.version}

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


def _principal_info(gateway: Gateway, id: PrincipalId) -> PrincipalInfo:
    policy, now = gateway.board.policy, gateway.clock()
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
        "limitFrom": None if limit is None else limit.by,
        "interactive": policy.interactive_mark(id).is_marked,
        "interactiveSet": own.interactive,
        "confirmation": None if own.mode is None else own.mode.value,
    }
