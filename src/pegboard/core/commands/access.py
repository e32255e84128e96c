"""Commands about tokens and principals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from pegboard.core.commands.base import Command, DecisionSummary
from pegboard.core.commands.row_repair import without_confirmation
from pegboard.core.model.characters import is_deceptive_name
from pegboard.core.model.confirmation import UNSET_CONFIRMATION, ConfirmationMode, PrincipalConfirmation
from pegboard.core.model.ids import BUILTIN, LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import ApiToken, Revocation, TokenScope, sort_scopes
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
class MakeToken(Command):
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

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        why = _token_problem(policy, self, at)
        if why is not None:
            return CommandRejection(why)
        decided, principal = policy.decisions, self.principal
        made = ApiToken(self.id, principal, self.name, self.prefix, self.digest, self.scopes, by, at, self.expires_at)
        granted: Mapping[PrincipalId, frozenset[ToolsetId]] = decided.grants
        if self.toolsets is not None:
            granted = {**granted, principal: self.toolsets}
        confirmations = decided.confirmations
        if self.interactive is not None:
            known = confirmations.get(principal, UNSET_CONFIRMATION)
            marked = replace(known, interactive=self.interactive, interactive_at=InstalledBy(by, at))
            confirmations = {**confirmations, principal: marked}
        return replace(decided, tokens={**decided.tokens, made.id: made}, grants=granted, confirmations=confirmations)

    def describe(self) -> DecisionSummary:
        until = "" if self.expires_at is None else f" until {self.expires_at:%Y-%m-%d %H:%M} UTC"
        scopes = ", ".join(sort_scopes(self.scopes))
        marked = {True: ", interactive", False: ", not interactive", None: ""}[self.interactive]
        made = f"made {self.id} ({self.name!r}) for {self.principal}: {scopes}{until}{marked}"
        return DecisionSummary("token", None, made)


@dataclass(frozen=True, slots=True)
class RevokeToken(Command):
    id: str

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        tokens = policy.decisions.tokens
        token = tokens.get(self.id)
        if token is None:
            return CommandRejection(f"There is no token {self.id!r}. See: pegboard tokens list")
        if token.revocation is not None:
            return CommandRejection(f"The token {self.id!r} was revoked by {token.revocation.by} already.")
        return replace(policy.decisions, tokens={**tokens, self.id: replace(token, revocation=Revocation(by, at))})

    def describe(self) -> DecisionSummary:
        return DecisionSummary("token", None, f"revoked {self.id}")


@dataclass(frozen=True, slots=True)
class RemovePrincipal(Command):
    """With its tokens and grants. While it is the last that is named, it takes `reopen` to let everybody in again."""

    principal: PrincipalId
    reopen: bool = False

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        principal, decided = self.principal, policy.decisions
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
        if policy.callers and not replace(policy, decisions=after).callers and not self.reopen:
            return CommandRejection(
                f"{principal!r} is the last caller that has a name. Without it whoever reaches the gateway may call "
                "every open tool. If you want that, say so: --reopen"
            )
        return after

    def describe(self) -> DecisionSummary:
        return DecisionSummary("token", None, f"removed {self.principal} with its tokens and grants")

    @property
    def reopens(self) -> bool:
        return self.reopen


@dataclass(frozen=True, slots=True)
class SetPrincipalConfirmation(Command):
    """Exactly this from now on; `None` is unset."""

    principal: PrincipalId
    interactive: bool | None = None
    mode: ConfirmationMode | None = None

    def apply(self, policy: Policy, by: PrincipalId, at: datetime) -> PolicyDecisions | CommandRejection:
        principal, origin = self.principal, InstalledBy(by, at)
        if (declared := policy.declared.principals.get(principal)) is not None:
            return CommandRejection(
                f"{principal!r} is declared at {declared.at}. Set interactive and confirmation there."
            )
        # Who unsets it means the unreadable row as well.
        decided = without_confirmation(policy.decisions, principal)
        others = {who: said for who, said in decided.confirmations.items() if who != principal}
        if self.interactive is None and self.mode is None:
            return replace(decided, confirmations=others)
        said = PrincipalConfirmation(
            self.interactive,
            self.mode,
            None if self.interactive is None else origin,
            None if self.mode is None else origin,
        )
        return replace(decided, confirmations={**others, principal: said})

    def describe(self) -> DecisionSummary:
        both = f"interactive {_setting_text(self.interactive)}, confirmation {_setting_text(self.mode)}"
        return DecisionSummary("grant", None, f"{self.principal}: {both}")


def _setting_text(value: bool | str | None) -> str:
    return "unset" if value is None else str(value).lower()


def starts_requiring_tokens(policy: Policy, scopes: frozenset[TokenScope]) -> bool:
    """Whether a token with these scopes would be the first by which callers must say who they are."""
    return TokenScope.CALL in scopes and not policy.requires_tokens


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
