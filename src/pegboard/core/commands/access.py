"""Commands about tokens and principals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from pegboard.core.commands.row_repair import without_confirmation
from pegboard.core.model.characters import is_deceptive_name
from pegboard.core.model.confirmation import UNSET_CONFIRMATION, ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import BUILTIN, LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import ApiToken, Revocation, TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.server import InstalledBy
from pegboard.core.policy.policy import Policy, PolicyDecisions

MAX_TOKENS: Final = 10_000
_MAX_NAME_CHARS: Final = 256
_NAME_RULE: Final = (
    f"1 to {_MAX_NAME_CHARS} characters that show as they are, without control characters and "
    "without blanks around them"
)
_RESERVED_PRINCIPALS: Final = frozenset({LOCAL_PRINCIPAL, "first-sight", "file"})
"""Names by which the activity tells who did it, where it was nobody with a token."""


@dataclass(frozen=True)
class MakeToken:
    """The text of the token is told to whoever makes it, and is no part of this."""

    id: str
    principal: PrincipalId
    name: str
    prefix: str
    digest: bytes = field(repr=False)
    scopes: frozenset[TokenScope]
    expires_at: datetime | None = None
    toolsets: frozenset[ToolsetId] | None = None
    """What its principal may use from now on; `None` leaves that as it is."""
    interactive: bool | None = None
    """Whether answers of its principal's clients confirm calls from now on; `None` leaves that as it is."""


@dataclass(frozen=True, slots=True)
class RevokeToken:
    id: str


@dataclass(frozen=True, slots=True)
class RemovePrincipal:
    """With its tokens and grants. While it is the last that is named, it takes `reopen` to let everybody in again."""

    principal: PrincipalId
    reopen: bool = False


@dataclass(frozen=True, slots=True)
class SetPrincipalConfirmation:
    """Exactly this from now on; `None` is unset."""

    principal: PrincipalId
    interactive: bool | None = None
    mode: ConfirmationMode | None = None


AccessCommand: TypeAlias = MakeToken | RevokeToken | RemovePrincipal | SetPrincipalConfirmation


def apply_access_command(
    policy: Policy, command: AccessCommand, by: PrincipalId, at: datetime
) -> PolicyDecisions | CommandRejection:
    match command:
        case MakeToken():
            return _make_token(policy, command, by, at)
        case RevokeToken(id):
            return _revoke_token(policy.decisions, id, Revocation(by, at))
        case RemovePrincipal(principal, reopen):
            return _remove_principal(policy, principal, reopen)
        case SetPrincipalConfirmation():
            return _set_confirmation(policy, command, InstalledBy(by, at))
        case _:
            assert_never(command)


def starts_requiring_tokens(policy: Policy, scopes: frozenset[TokenScope]) -> bool:
    """Whether a token with these scopes would be the first by which callers must say who they are."""
    return TokenScope.CALL in scopes and not policy.requires_tokens


def _make_token(
    policy: Policy, command: MakeToken, by: PrincipalId, at: datetime
) -> PolicyDecisions | CommandRejection:
    why = _token_problem(policy, command, at)
    if why is not None:
        return CommandRejection(why)
    decided = policy.decisions
    made = ApiToken(
        command.id,
        command.principal,
        command.name,
        command.prefix,
        command.digest,
        command.scopes,
        by,
        at,
        command.expires_at,
    )
    granted: Mapping[PrincipalId, frozenset[ToolsetId]] = decided.grants
    if command.toolsets is not None:
        granted = {**granted, command.principal: command.toolsets}
    confirmations = decided.confirmations
    if command.interactive is not None:
        known = confirmations.get(command.principal, UNSET_CONFIRMATION)
        marked = replace(known, interactive=command.interactive, interactive_at=InstalledBy(by, at))
        confirmations = {**confirmations, command.principal: marked}
    return replace(decided, tokens={**decided.tokens, made.id: made}, grants=granted, confirmations=confirmations)


def _set_confirmation(
    policy: Policy, command: SetPrincipalConfirmation, by: InstalledBy
) -> PolicyDecisions | CommandRejection:
    principal, decided = command.principal, policy.decisions
    if (declared := policy.declared.principals.get(principal)) is not None:
        return CommandRejection(f"{principal!r} is declared at {declared.at}. Set interactive and confirmation there.")
    # Who unsets it means the unreadable row as well.
    decided = without_confirmation(decided, principal)
    others = {who: said for who, said in decided.confirmations.items() if who != principal}
    if command.interactive is None and command.mode is None:
        return replace(decided, confirmations=others)
    said = PrincipalConfirmation(
        command.interactive,
        command.mode,
        None if command.interactive is None else by,
        None if command.mode is None else by,
    )
    return replace(decided, confirmations={**others, principal: said})


def _token_problem(policy: Policy, command: MakeToken, at: datetime) -> str | None:
    principal, decided = command.principal, policy.decisions
    if not _is_name(principal):
        return f"{principal[:60]!a} is no name for a principal: use {_NAME_RULE}."
    if principal in _RESERVED_PRINCIPALS:
        return f"{principal!r} is what the gateway calls somebody else. Choose another name for the principal."
    if (declared := policy.declared.principals.get(principal)) is not None:
        return f"{principal!r} is declared at {declared.at}, and its tokens stand there. Choose another name."
    if not _is_name(command.name):
        return f"{command.name[:60]!a} does not tell what the token is for: use {_NAME_RULE}."
    if not command.scopes:
        return "A token without a scope opens nothing. Give it one or more of: read, call, operate, admin."
    if command.expires_at is not None and command.expires_at <= at:
        return "The token would have expired before it was made. Choose a later time, or none."
    if command.id in decided.tokens:
        return f"There is a token {command.id!r} already. Try again."
    if len(decided.tokens) >= MAX_TOKENS:
        return f"There are {MAX_TOKENS} tokens already. Forget principals that are not needed any more."
    unknown = sorted((command.toolsets or frozenset()) - {*policy.toolsets, BUILTIN})
    if unknown:
        near = closest_names(unknown[0], policy.toolsets)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "See: pegboard toolset list"
        return f"There is no toolset {unknown[0]!r}. {hint}"
    return None


def _is_name(text: str) -> bool:
    """What a person reads as it is: nothing in it is unseen, turns the rest round, or looks like a plain blank."""
    return 0 < len(text) <= _MAX_NAME_CHARS and text.isprintable() and not is_deceptive_name(text)


def _revoke_token(decided: PolicyDecisions, id: str, revoked: Revocation) -> PolicyDecisions | CommandRejection:
    token = decided.tokens.get(id)
    if token is None:
        return CommandRejection(f"There is no token {id!r}. See: pegboard tokens list")
    if token.revocation is not None:
        return CommandRejection(f"The token {id!r} was revoked by {token.revocation.by} already.")
    return replace(decided, tokens={**decided.tokens, id: replace(token, revocation=revoked)})


def _remove_principal(policy: Policy, principal: PrincipalId, reopen: bool) -> PolicyDecisions | CommandRejection:
    decided = policy.decisions
    if (declared := policy.declared.principals.get(principal)) is not None:
        return CommandRejection(f"{principal!r} is declared at {declared.at}. Take it out there.")
    tokens = {id: token for id, token in decided.tokens.items() if token.principal != principal}
    if len(tokens) == len(decided.tokens) and principal not in decided.grants:
        return CommandRejection(f"There is no principal {principal!r}. See: pegboard tokens list")
    after = replace(
        decided,
        tokens=tokens,
        grants={who: toolsets for who, toolsets in decided.grants.items() if who != principal},
        consents={id: consent for id, consent in decided.consents.items() if consent.principal != principal},
        confirmations={who: said for who, said in decided.confirmations.items() if who != principal},
    )
    if policy.callers and not replace(policy, decisions=after).callers and not reopen:
        return CommandRejection(
            f"{principal!r} is the last caller that has a name. Without it whoever reaches the gateway may call every "
            "open tool. If you want that, say so: --reopen"
        )
    return after
