"""The policy: one immutable value of declared settings and stored decisions."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from functools import cached_property
from itertools import zip_longest
from typing import Final, TypeAlias

from pegboard.core.model.catalogue import Catalogue
from pegboard.core.model.confirmation import (
    UNSET_CONFIRMATION,
    ConfirmationLevel,
    ConfirmationRoute,
    ConfirmationSetting,
    InteractiveMark,
    PrincipalConfirmation,
    choose_route,
)
from pegboard.core.model.databases import DatabaseId, DatabaseSettings
from pegboard.core.model.ids import LOCAL_PRINCIPAL, BadId, PrincipalId, ProviderKey, ServerKey, ToolId, ToolsetId
from pegboard.core.model.patterns import Pattern, PatternSet, is_pattern, parse_pattern
from pegboard.core.model.principals import ApiToken, Principal, TokenScope
from pegboard.core.model.redaction import Redaction
from pegboard.core.model.references import NameReference, Reference, ToolsetReference, parse_reference
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import Selection
from pegboard.core.model.server import AllButTools, DeclaredAt, Origin, Server, Trust
from pegboard.core.model.settings import CodeSettings, PresentationSettings, PromptSettings
from pegboard.core.model.tool import Fingerprint, Tool, ToolSpec
from pegboard.core.model.toolset import Toolset, ToolsetFile
from pegboard.core.model.web_api import WebApi
from pegboard.core.model.wire_names import ApprovedTools
from pegboard.core.overrides.model import Override, OverrideIndex
from pegboard.core.overrides.schema import OverriddenTool, OverrideValue, ValueProblems
from pegboard.core.policy.unreadable_rows import UnreadableIndex, UnreadableRow

# In whose name a call runs, where the caller's own request may say so: what a person's yes to it is bound to.


@dataclass(frozen=True, slots=True)
class CredentialIdentity:
    tag: str
    """A keyed hash of the place and of the credentials: equal for the same ones, and telling nothing of them."""
    description: str = field(compare=False)
    """For the person who decides. Without secrets."""

    def __str__(self) -> str:
        return f"{self.tag} {self.description}"


def parse_identity(text: str | None) -> CredentialIdentity | None:
    """What `str` made of one."""
    if text is None:
        return None
    tag, _, told = text.partition(" ")
    return CredentialIdentity(tag, told)


def other_identity_text(ticket: str) -> str:
    """To a request that would run the call of a ticket in another name than the one that was asked about."""
    return (
        f"Ticket {ticket} is for a call with other credentials than this request brings, so it has not run. "
        "Come back with the request's credentials as they were, or make the call anew to ask again."
    )


# A standing permission: a person's yes to all further calls of one tool as it is now, for one principal.

DEFAULT_CONSENT_DAYS: Final = 30
MAX_CONSENT_DAYS: Final = 3650


@dataclass(frozen=True, slots=True)
class Consent:
    """Bound to the fingerprint: a tool that changed, or into whose calls overrides put something else, is asked about
    again."""

    id: str
    tool: ToolId
    fingerprint: Fingerprint
    """By `call_fingerprint`."""
    principal: PrincipalId
    client: str | None
    """The client as it calls itself; `None` for any client that the principal uses."""
    by: PrincipalId
    at: datetime
    until: datetime | None
    """From this moment on it covers no call. `None` only where the board says that permissions never end."""
    identity: CredentialIdentity | None = None
    """In whose name its calls run, where callers may bring that: no other caller has any of it."""

    def covers(
        self,
        tool: Tool,
        principal: PrincipalId,
        client: str,
        now: datetime,
        whose: CredentialIdentity | None = None,
        overrides: str = "",
    ) -> bool:
        return (
            (self.tool, self.principal, self.identity) == (tool.id, principal, whose)
            and self.client in (None, client)
            and self.fingerprint == call_fingerprint(tool.spec.fingerprint, overrides)
            and not self.is_expired(now)
        )

    def is_expired(self, now: datetime) -> bool:
        return self.until is not None and now >= self.until

    @property
    def scope_key(self) -> tuple[ToolId, PrincipalId, str | None, CredentialIdentity | None]:
        """What it is about. One place has one standing permission: the latest."""
        return self.tool, self.principal, self.client, self.identity

    @property
    def caller_text(self) -> str:
        client = "" if self.client is None else f" with {self.client!r}"
        return f"{self.principal}{client}" + ("" if self.identity is None else f", {self.identity.description}")

    @property
    def end_text(self) -> str:
        return format_end(self.until)


def find_consent(
    consents: Iterable[Consent],
    tool: Tool,
    principal: PrincipalId,
    client: str,
    now: datetime,
    whose: CredentialIdentity | None = None,
    overrides: str = "",
) -> Consent | None:
    wanted = (tool, principal, client, now, whose, overrides)
    return next((consent for consent in consents if consent.covers(*wanted)), None)


def call_fingerprint(tool: Fingerprint, overrides: str) -> Fingerprint:
    """Of a tool together with what overrides put into its calls (`OverriddenTool.tag`)."""
    return Fingerprint(hashlib.sha256(f"{tool} {overrides}".encode()).hexdigest()) if overrides else tool


def revoked_consents(
    before: Mapping[str, Consent], after: Mapping[str, Consent], at: datetime
) -> frozenset[tuple[ToolId, PrincipalId]]:
    """Of which tools and principals a standing permission was taken back. One that ended by itself was not, and neither
    was one that the same place has another for."""
    kept = {consent.scope_key for consent in after.values()}
    gone = (consent for id, consent in before.items() if id not in after)
    return frozenset(
        (each.tool, each.principal) for each in gone if each.scope_key not in kept and not each.is_expired(at)
    )


class NoExpiry(Enum):
    NEVER = "never"


Lifetime: TypeAlias = timedelta | datetime | NoExpiry
"""For how long a person wants a standing permission: a duration, an end, or without an end."""


def consent_end(lifetime: Lifetime | None, board_days: int | None, at: datetime) -> datetime | CommandRejection | None:
    """When a standing permission given now ends; `None` for never. Without a `lifetime` the board decides."""
    if lifetime is None:
        return None if board_days is None else at + timedelta(days=board_days)
    if isinstance(lifetime, NoExpiry):
        if board_days is None:
            return None
        return CommandRejection(
            "On this board every standing permission has an end. Choose a date; or write consent_days: never under "
            "confirmation in pegboard.yaml."
        )
    longest = timedelta(days=MAX_CONSENT_DAYS)
    remaining = lifetime - at if isinstance(lifetime, datetime) else lifetime
    if remaining <= timedelta():
        return CommandRejection("The end of the standing permission is in the past. Choose a later one.")
    if remaining > longest:
        return CommandRejection(f"A standing permission lasts {MAX_CONSENT_DAYS} days at most. Choose an earlier end.")
    return at + remaining


def format_end(until: datetime | None) -> str:
    return "without an end" if until is None else f"until {until:%Y-%m-%d}"


TOOLSETS_SETTING: Final = "toolsets"
_OPERATE: Final = frozenset({TokenScope.OPERATE, TokenScope.ADMIN})


@dataclass(frozen=True, slots=True)
class Switch:
    """A decision with its author: a switch nobody threw cannot exist."""

    is_on: bool
    by: PrincipalId
    at: datetime
    note: str = ""
    blocks: bool = False
    """A tool's own, thrown at its review: somebody read it and said no. Never on."""


Switchable: TypeAlias = ToolId | ServerKey | ToolsetId


@dataclass(frozen=True)
class Approval:
    """A person accepted this exact spec. Any other fingerprint is unapproved, with no flag to forget to clear."""

    spec: ToolSpec
    by: PrincipalId
    at: datetime
    first_sight: bool = False
    """Recorded when the server was first seen, because its trust says so; nobody read it one by one."""

    @property
    def fingerprint(self) -> Fingerprint:
        return self.spec.fingerprint


@dataclass(frozen=True, slots=True)
class Denial:
    """An operator's deny pattern, and where it was written."""

    pattern: Pattern
    at: DeclaredAt
    optional: bool = False
    """Whether it may fit no tool at all."""


@dataclass(frozen=True, slots=True)
class ExactDenial:
    """A tool that an operator denies or restricts by its name. If no tool has it, the nearest are locked (ADR 16)."""

    setting: str
    text: str
    """As it is written."""
    at: Origin | None
    reference: Reference
    within: ProviderKey | ToolsetId | None = None
    """The server or toolset whose setting it is; only its tools can be meant."""
    unreviewed_match: ToolId | None = None
    """A tool that has the name and that no person has reviewed: it may be a decoy, so it does not count."""


class GrantSource(StrEnum):
    """Who said what a principal may use."""

    STORE = "store"
    FILE = "file"
    NOBODY = "nobody"
    """Callers have names, and this is none of them."""
    UNREADABLE = "unreadable"
    """A row of the store that cannot be read: until it is fixed, the principal may use nothing."""


@dataclass(frozen=True, slots=True)
class PrincipalGrants:
    """The toolsets that a principal may use, and where that is changed."""

    principal: PrincipalId
    toolsets: frozenset[ToolsetId]
    by: GrantSource
    at: DeclaredAt | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DeclaredSettings:
    """The operator's file: read-only to everything else."""

    servers: Mapping[ProviderKey, Server] = field(default_factory=dict[ProviderKey, Server])
    toolsets: Mapping[ToolsetId, Toolset] = field(default_factory=dict[ToolsetId, Toolset])
    selection: Selection = field(default_factory=Selection)
    denials: tuple[Denial, ...] = ()
    overrides: tuple[Override, ...] = ()
    grants: Mapping[PrincipalId, frozenset[ToolsetId]] = field(default_factory=dict[PrincipalId, frozenset[ToolsetId]])
    principals: Mapping[PrincipalId, Principal] = field(default_factory=dict[PrincipalId, Principal])
    """Who may come in over HTTP. While nobody is named, whoever reaches the gateway is `LOCAL`."""
    redaction: Redaction = field(default_factory=Redaction)
    presentation: PresentationSettings = field(default_factory=PresentationSettings)
    prompts: PromptSettings = field(default_factory=PromptSettings)
    code: CodeSettings = field(default_factory=CodeSettings)
    confirmation_seconds: float = 300.0
    """How long a person has to decide about one call, and a caller to use the decision."""
    consent_days: int | None = DEFAULT_CONSENT_DAYS
    """How long a standing permission lasts unless the person who gives it says otherwise; `None` for ever."""
    confirm_manifest_servers: DeclaredAt | None = None
    """Where the file says that calls of servers that imported toolsets bring are confirmed, as Covalt has it."""
    confirmation: ConfirmationSetting | None = None
    """How calls are confirmed on this board, where the file sets it."""
    databases: Mapping[DatabaseId, DatabaseSettings] = field(default_factory=dict[DatabaseId, DatabaseSettings])
    optional_names: frozenset[str] = frozenset()
    """Those of the selection's names that need not exist. A denial of any other unknown name fails closed (ADR 16)."""
    chosen_elsewhere: Mapping[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)
    """Tools that the selection leaves out because another section of the file does, with what that is about."""
    selected_at: DeclaredAt | None = field(default=None, compare=False)
    selection_lines: Mapping[str, DeclaredAt] = field(default_factory=dict[str, DeclaredAt], compare=False, repr=False)
    """Where each name of the selection is written."""
    granted_at: Mapping[PrincipalId, DeclaredAt] = field(
        default_factory=dict[PrincipalId, DeclaredAt], compare=False, repr=False
    )

    def selection_line(self, name: str) -> DeclaredAt | None:
        return self.selection_lines.get(name, self.selected_at)


@dataclass(frozen=True)
class PolicyDecisions:
    """What the store keeps. Every change makes a new value with the next version."""

    version: int = 0
    servers: Mapping[ProviderKey, Server] = field(default_factory=dict[ProviderKey, Server])
    toolsets: Mapping[ToolsetId, Toolset] = field(default_factory=dict[ToolsetId, Toolset])
    switches: Mapping[Switchable, Switch] = field(default_factory=dict[Switchable, Switch])
    approvals: Mapping[ToolId, Approval] = field(default_factory=dict[ToolId, Approval])
    first_seen: Mapping[ProviderKey, datetime] = field(default_factory=dict[ProviderKey, datetime])
    """When a server's tools were first seen. Whatever it lists later is new."""
    overrides: tuple[Override, ...] = ()
    trust: Mapping[ProviderKey, Trust] = field(default_factory=dict[ProviderKey, Trust])
    grants: Mapping[PrincipalId, frozenset[ToolsetId]] = field(default_factory=dict[PrincipalId, frozenset[ToolsetId]])
    consents: Mapping[str, Consent] = field(default_factory=dict[str, Consent])
    """Standing permissions, by their ids."""
    files: Mapping[ToolsetId, tuple[ToolsetFile, ...]] = field(default_factory=dict[ToolsetId, tuple[ToolsetFile, ...]])
    """Of each toolset that was imported, and of no other."""
    manifest_overrides: tuple[Override, ...] = ()
    """What imported toolsets say of their own tools: another import replaces it, and people's words lie on top."""
    tokens: Mapping[str, ApiToken] = field(default_factory=dict[str, ApiToken])
    """By their ids; those that are over, too, because who once had to show a token must go on doing so."""
    confirmations: Mapping[PrincipalId, PrincipalConfirmation] = field(
        default_factory=dict[PrincipalId, PrincipalConfirmation]
    )
    """How calls of principals are confirmed, where somebody set it at run time."""
    unreadable: tuple[UnreadableRow, ...] = ()
    """Rows of the store that could not be read. What each may have closed is locked."""

    @cached_property
    def unreadable_index(self) -> UnreadableIndex:
        return UnreadableIndex(self.unreadable)

    def was_seen(self, key: ProviderKey) -> bool:
        """Whether its tools were seen before, so that nothing of it is approved at first sight any more."""
        return key in self.first_seen or self.unreadable_index.hides_baseline(key)


def removed_principals(before: PolicyDecisions, after: PolicyDecisions) -> frozenset[PrincipalId]:
    """Whom the store knew and knows nothing of any more. A principal whose tokens are all revoked is still known."""

    def known_principals(decided: PolicyDecisions) -> set[PrincipalId]:
        return {*decided.grants, *(token.principal for token in decided.tokens.values())}

    left = {*known_principals(after), *after.confirmations, *(consent.principal for consent in after.consents.values())}
    return frozenset(known_principals(before) - left)


def replaced_sources(before: PolicyDecisions, after: PolicyDecisions) -> frozenset[ProviderKey]:
    """Installed servers and toolsets that are gone, are reached otherwise, or have other files: what runs under their
    names is not what a person decided about."""
    changed = {id for id in before.files if before.files[id] != after.files.get(id)}
    return frozenset(
        key
        for key, server in before.servers.items()
        if key not in after.servers or after.servers[key].connection != server.connection or key.toolset in changed
    )


@dataclass(frozen=True)
class Policy:
    declared: DeclaredSettings = field(default_factory=DeclaredSettings)
    decisions: PolicyDecisions = field(default_factory=PolicyDecisions)
    tokens_stay_required: bool = False
    """Whether callers had to show tokens before: then they must go on doing so, whatever became of the tokens."""
    value_problems: ValueProblems = field(default_factory=dict[OverrideValue, str], compare=False, repr=False)
    """What is known of values that people put into arguments. No decision: it follows from these and from the tools."""
    is_exposed: bool = False
    """Whether other machines can reach the gateway. No decision either: it follows from how it was started."""

    suspects: Mapping[ToolId, ExactDenial] = field(default_factory=dict[ToolId, ExactDenial], compare=False, repr=False)
    """Tools that a denial of an unknown name may mean. No decision: it follows from the denials and the tools."""

    @property
    def version(self) -> int:
        return self.decisions.version

    @cached_property
    def servers(self) -> Mapping[ProviderKey, Server]:
        """A clash of the two sources is an error found before a policy is made; should one slip in, the file wins."""
        both = {**self.decisions.servers, **self.declared.servers}
        return {key: both[key] for key in sorted(both, key=str)}

    @cached_property
    def web_api(self) -> WebApi | None:
        """The one whose toolsets the operator declared, if there is one: all of them are reached the same way."""
        reached = (server.connection for server in self.declared.servers.values())
        return next((connection for connection in reached if isinstance(connection, WebApi)), None)

    @cached_property
    def toolsets(self) -> Mapping[ToolsetId, Toolset]:
        both = {**self.decisions.toolsets, **self.declared.toolsets}
        return {id: both[id] for id in sorted(both)}

    @cached_property
    def deny_patterns(self) -> PatternSet:
        return PatternSet(tuple(denial.pattern for denial in self.declared.denials))

    @cached_property
    def exact_denials(self) -> tuple[ExactDenial, ...]:
        """Those whose name must exist: without wildcards, and not optional."""
        return tuple(_exact_denials(self.declared, self.servers.values()))

    @cached_property
    def suspects_cache(self) -> "list[tuple[Catalogue, Policy]]":
        """The latest catalogue for which suspects were looked for, with the policy that has them."""
        return []

    @cached_property
    def declared_overrides(self) -> OverrideIndex:
        return OverrideIndex(self.declared.overrides)

    @cached_property
    def overrides(self) -> OverrideIndex:
        brought = (*self._assumed_overrides(), *self.decisions.manifest_overrides)
        return OverrideIndex((*brought, *self.declared.overrides, *self.decisions.overrides))

    def _assumed_overrides(self) -> Iterator[Override]:
        at = self.declared.confirm_manifest_servers
        if at is None:
            return
        for key in self.decisions.servers:
            if isinstance(key, ServerKey) and key.toolset in self.decisions.files:
                yield Override(
                    key.toolset,
                    Pattern(str(key), "*"),
                    requires_confirmation=True,
                    is_declared=True,
                    is_assumed=True,
                    origins={"requires_confirmation": at},
                )

    @cached_property
    def overridden_tools_cache(self) -> dict[ToolId, tuple[Tool, OverriddenTool | None]]:
        """What was worked out of tools and these overrides, to be found again: several ask, and it takes its time."""
        return {}

    @cached_property
    def consents(self) -> Mapping[ToolId, tuple[Consent, ...]]:
        """Standing permissions by tool."""
        found: dict[ToolId, tuple[Consent, ...]] = {}
        for consent in self.decisions.consents.values():
            found[consent.tool] = (*found.get(consent.tool, ()), consent)
        return found

    @cached_property
    def approved_tools(self) -> ApprovedTools:
        """What was approved of servers that are asked about. Of one that is trusted openly nothing is stored, and what
        was stored of it before says nothing of what it has now."""
        asked = {key for key, server in self.servers.items() if self.trust(server) is not Trust.OPEN}
        asked |= self.decisions.unreadable_index.providers
        return ApprovedTools(tuple([id for id in self.decisions.approvals if id.source in asked]))

    def trust(self, server: Server) -> Trust:
        if self.decisions.unreadable_index.hides_trust(server.key):
            return Trust.STRICT
        return self.decisions.trust.get(server.key, server.trust)

    def awaits_first_sight(self, server: Server) -> bool:
        """Whether what it lists next is approved because nobody has seen its tools before."""
        if server.quarantined or self.trust(server) is not Trust.BASELINE:
            return False
        return not self.decisions.was_seen(server.key)

    @cached_property
    def tokens(self) -> Mapping[str, ApiToken]:
        """Those made at run time. Of a principal that the file declares only the file's own count."""
        return {id: one for id, one in self.decisions.tokens.items() if one.principal not in self.declared.principals}

    @cached_property
    def callers(self) -> frozenset[PrincipalId]:
        """Who has a name to call by, whether or not a token of theirs still holds."""
        made = (token.principal for token in self.tokens.values() if TokenScope.CALL in token.scopes)
        return frozenset((*self.declared.principals, *made, *self.decisions.unreadable_index.callers))

    @property
    def requires_tokens(self) -> bool:
        """Whether callers must say who they are. Nothing opens a board again but a person who says so."""
        return self.tokens_stay_required or bool(self.callers) or self.decisions.unreadable_index.has_token

    @cached_property
    def operators(self) -> frozenset[PrincipalId]:
        """Who was given more than calls: what such a principal adds needs no other person's review."""
        declared = (one.id for one in self.declared.principals.values() if one.scopes & _OPERATE)
        made = (one.principal for one in self.tokens.values() if one.scopes & _OPERATE)
        return frozenset((*declared, *made))

    def is_agent(self, principal: PrincipalId) -> bool:
        return principal in self.callers and principal not in self.operators

    def is_known_principal(self, principal: PrincipalId) -> bool:
        """Whether somebody can ask by this name. Where callers have none, all of them are whoever works here."""
        return not self.requires_tokens or principal in self.callers or principal == LOCAL_PRINCIPAL

    def principal_confirmation(self, principal: PrincipalId) -> PrincipalConfirmation:
        """Of a principal that the file declares only the file's word counts, as with its tokens."""
        if (declared := self.declared.principals.get(principal)) is not None:
            return declared.confirmation
        return self.decisions.confirmations.get(principal, UNSET_CONFIRMATION)

    def interactive_mark(self, principal: PrincipalId) -> InteractiveMark:
        """Whether answers of this principal's clients confirm calls. By default only those of whoever works at the
        machine of a gateway that neither asks for tokens nor is reached from elsewhere."""
        own = self.principal_confirmation(principal)
        if self.decisions.unreadable_index.hides_confirmation and principal not in self.declared.principals:
            return InteractiveMark(principal, False)
        if own.interactive is not None:
            return InteractiveMark(principal, own.interactive, own.interactive_at)
        return InteractiveMark(
            principal, principal == LOCAL_PRINCIPAL and not self.requires_tokens and not self.is_exposed
        )

    def confirmation_route(self, principal: PrincipalId, tool: ToolId) -> ConfirmationRoute:
        """How a call of this tool by this principal is confirmed, if it must be."""
        own = self.principal_confirmation(principal)
        settings = [
            self.declared.confirmation,
            None
            if own.mode is None
            else ConfirmationSetting(ConfirmationLevel.PRINCIPAL, principal, own.mode, own.mode_at),
            self.overrides.confirmation_setting(tool),
        ]
        return choose_route(self.interactive_mark(principal), [each for each in settings if each is not None])

    def granted_toolsets(self, principal: PrincipalId) -> frozenset[ToolsetId] | None:
        """`None`: nothing was said of this principal, and so nothing is taken away.

        Once callers have names, a name that nobody gave has nothing, whatever was once granted to it.
        """
        limit = self.grants_of(principal)
        return None if limit is None else limit.toolsets

    def grants_of(self, principal: PrincipalId) -> PrincipalGrants | None:
        """The same with who said it: what people decided goes before the file."""
        if not self.is_known_principal(principal):
            return PrincipalGrants(principal, frozenset(), GrantSource.NOBODY)
        if (said := self.decisions.grants.get(principal)) is not None:
            return PrincipalGrants(principal, said, GrantSource.STORE)
        if self.decisions.unreadable_index.grant(principal) is not None:
            return PrincipalGrants(principal, frozenset(), GrantSource.UNREADABLE)
        if (said := self.declared.grants.get(principal)) is not None:
            return PrincipalGrants(principal, said, GrantSource.FILE, self.declared.granted_at.get(principal))
        return None

    def allowed_databases(self, principal: PrincipalId) -> frozenset[DatabaseId] | None:
        """The databases that it may ask; `None` for every one. A name that nobody gave has none, as it has nothing."""
        if not self.is_known_principal(principal):
            return frozenset()
        who = self.declared.principals.get(principal)
        return None if who is None else who.databases

    @cached_property
    def databases_for_all(self) -> frozenset[DatabaseId] | None:
        """The databases of which every caller may know; `None` for every one."""
        limits = [who.databases for who in self.declared.principals.values() if who.databases is not None]
        return frozenset.intersection(*limits) if limits else None


def _exact_denials(declared: DeclaredSettings, servers: Collection[Server]) -> Iterator[ExactDenial]:
    selection = declared.selection
    for text in selection.disabled:
        about = parse_reference(text)
        if text not in declared.optional_names and not isinstance(about, Pattern | BadId):
            yield ExactDenial("selection.disabled_tools", text, declared.selection_line(text), about)
    for server in servers:
        if isinstance(limit := server.limit, AllButTools):
            for text, line in zip_longest(limit.names, limit.lines[: len(limit.names)]):
                if text not in limit.optional and not is_pattern(text):
                    setting = tool_filter_setting(server, "disabled_tools")
                    about = parse_pattern(text) if ":" in text else NameReference(text)
                    yield ExactDenial(setting, text, line or limit.at or server.origin, about, server.key)
    for denial in declared.denials:
        if not denial.optional and not is_pattern(denial.pattern.name):
            yield ExactDenial("deny", str(denial.pattern).removeprefix("*:"), denial.at, denial.pattern)
    for row in declared.overrides:
        if row.is_exact and row.restricts and not row.is_optional:
            at = next(iter(row.origins.values()), None)
            text = str(row.target).removeprefix("*:")
            yield ExactDenial(f"overrides.{row.toolset}", text, at, row.target, row.toolset)
    used = {server.key.toolset for server in servers}
    for toolset in declared.toolsets.values():
        if not toolset.enabled and toolset.id not in used:
            yield ExactDenial(TOOLSETS_SETTING, toolset.id, toolset.origin, ToolsetReference(toolset.id))


def tool_filter_setting(server: Server, key: str) -> str:
    """How people call a server's own list of tools."""
    return f"servers.{server.id}.{key}" if isinstance(server.origin, DeclaredAt) else f"{key} of {server.key}"


@dataclass(frozen=True, slots=True)
class IdClash:
    """One id in both sources. Neither is touched; a person must rename or remove one."""

    id: str
    declared: DeclaredAt | str
    installed: str
    remove: str = "servers remove"

    def __str__(self) -> str:
        return (
            f"{self.id!r} is declared at {self.declared} and also {self.installed}. "
            f"Rename it in the file, or run: pegboard {self.remove} {self.id}"
        )


def id_clashes(declared: DeclaredSettings, decided: PolicyDecisions) -> tuple[IdClash, ...]:
    servers = [
        IdClash(str(key), _origin_of(declared.servers[key]), str(decided.servers[key].origin))
        for key in sorted(declared.servers.keys() & decided.servers.keys(), key=str)
        if key.toolset not in decided.files
    ]
    clashing = {key.split("~")[0] for key in (clash.id for clash in servers)}
    toolsets = [
        IdClash(
            id,
            _origin_of(declared.toolsets[id]),
            str(decided.toolsets[id].origin),
            "servers remove" if decided.toolsets[id].user_mcp else "toolset remove",
        )
        for id in sorted(declared.toolsets.keys() & decided.toolsets.keys())
        if id not in clashing
    ]
    return (*servers, *toolsets)


def _origin_of(thing: Server | Toolset) -> DeclaredAt | str:
    return thing.origin if isinstance(thing.origin, DeclaredAt) else str(thing.origin)
