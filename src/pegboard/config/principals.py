"""Callers declared in pegboard.yaml: hashes of their tokens, and their toolsets."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pegboard.config.declare import FileContext
from pegboard.config.keys import access, root
from pegboard.config.references import expander, header_references
from pegboard.config.schema.document import FileProblem, LocatedValue, ProblemCollector
from pegboard.config.schema.section import ConfigValues
from pegboard.core.model.confirmation import PrincipalConfirmation
from pegboard.core.model.databases import DatabaseId
from pegboard.core.model.ids import LOCAL_PRINCIPAL, PrincipalId, ToolsetId
from pegboard.core.model.principals import Principal, TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import DeclaredAt
from pegboard.core.policy.policy import DeclaredSettings
from pegboard.ports.providers import UnresolvedReference

MIN_TOKEN_LENGTH: Final = 16
_BEARER: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@dataclass(frozen=True)
class _UnusableToken:
    why: str


def with_principals(
    board: DeclaredSettings, values: ConfigValues, place: FileContext, tell: ProblemCollector
) -> DeclaredSettings:
    """The board with its callers. Each name stands once, and each token for one name alone."""
    said = values.value(root.PRINCIPALS, {})
    if (placed := values.get(root.PRINCIPALS)) is not None and not said:
        told = "names nobody, and then whoever reaches the gateway is let in. Name a caller, or take this key out."
        tell.add_problem(placed.line, placed.key, told)
    principals = {
        PrincipalId(name): replace(_principal(name, one, place), databases=_databases(one.value, board, tell))
        for name, one in said.items()
    }
    _check_distinct_tokens(principals, said, tell)
    if principals:
        _check_tokens_not_forwarded(values, tell)
        _check_grants(values, principals, tell)
    return replace(
        board,
        principals=principals,
        grants={**board.grants, **_grants(values, said, tell)},
        granted_at={**board.granted_at, **_granted_at(said, place)},
    )


def principal_warnings(values: ConfigValues, place: FileContext) -> Iterator[FileProblem]:
    """A caller whose token cannot be had stays outside; all others come in, and so it is no error."""
    for name, one in values.value(root.PRINCIPALS, {}).items():
        token = one.value.get(access.TOKEN)
        if token is not None and isinstance(unusable := _hash_of(token.value, place), _UnusableToken):
            yield FileProblem(
                place.file,
                token.line,
                token.key,
                f"{name!r} cannot come in: {unusable.why}",
                depends_on_environment=True,
            )


def _principal(name: str, one: LocatedValue[ConfigValues], place: FileContext) -> Principal:
    id, at = PrincipalId(name), place.declared_at(one)
    if (written := one.value.get(access.TOKEN_SHA256)) is not None:
        hashes: tuple[bytes, ...] = (bytes.fromhex(written.value),)
    else:
        token = one.value.get(access.TOKEN)
        found = None if token is None else _hash_of(token.value, place)
        hashes = (found,) if isinstance(found, bytes) else ()
    return Principal(id, at, hashes, scopes=_scopes(one.value), confirmation=_confirmation(one.value, place))


def _confirmation(one: ConfigValues, place: FileContext) -> PrincipalConfirmation:
    interactive, mode = one.get(access.INTERACTIVE), one.get(access.PRINCIPAL_CONFIRMATION)
    return PrincipalConfirmation(
        None if interactive is None else interactive.value,
        None if mode is None else mode.value,
        None if interactive is None else place.declared_at(interactive),
        None if mode is None else place.declared_at(mode),
    )


def _scopes(one: ConfigValues) -> frozenset[TokenScope]:
    said = one.get(access.SCOPES)
    return frozenset({TokenScope.CALL}) if said is None else frozenset(each.value for each in said.value)


def _databases(one: ConfigValues, board: DeclaredSettings, tell: ProblemCollector) -> frozenset[DatabaseId] | None:
    """A name that no database has would shut the caller out of the one that was meant."""
    named = one.get(access.PRINCIPAL_DATABASES)
    if named is None:
        return None
    for each in named.value:
        if each.value not in board.databases:
            near = closest_names(each.value, board.databases)
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Declare it, or take it out."
            tell.add_problem(each.line, each.key, f"there is no database {each.value!r}. {hint}")
    return frozenset(DatabaseId(each.value) for each in named.value)


def _hash_of(reference: str, place: FileContext) -> bytes | _UnusableToken:
    if not place.resolves_references:
        # Of the reference itself: two callers with the same one would have the same token.
        return hashlib.sha256(reference.encode()).digest()
    token = expander(place.environ, place.folder)(reference)
    if isinstance(token, UnresolvedReference):
        # A default, which the usual words advise, would be a token that stands in the file.
        return _UnusableToken(f"{token.why.partition(', or write ${')[0].rstrip('.')}.")
    if _BEARER.fullmatch(token) is None:
        return _UnusableToken("the token is empty or holds a character that no header carries. Make another.")
    if len(token) < MIN_TOKEN_LENGTH:
        return _UnusableToken(
            f"the token has fewer than {MIN_TOKEN_LENGTH} characters, and could be guessed. Make a longer one."
        )
    return hashlib.sha256(token.encode()).digest()


def _check_distinct_tokens(
    principals: Mapping[PrincipalId, Principal], said: Mapping[str, LocatedValue[ConfigValues]], tell: ProblemCollector
) -> None:
    owners: dict[bytes, PrincipalId] = {}
    for id, principal in principals.items():
        for digest in principal.hashes:
            if (owner := owners.setdefault(digest, id)) != id:
                told = f"this is the token of {owner!r} too, so that nobody could tell them apart. Give each its own."
                tell.add_problem(said[id].line, said[id].key, told)


def _check_tokens_not_forwarded(values: ConfigValues, tell: ProblemCollector) -> None:
    """What a caller sends to come in is for the gateway alone: a server that got it could call in the caller's name."""
    for server in values.value(root.SERVERS, {}).values():
        for text in server.value.value(root.HEADERS, {}).values():
            if any(asked.header.lower() == "authorization" for asked in header_references(text.value)):
                told = (
                    "with principals, the caller's Authorization is its token for this gateway and is passed on to no "
                    "server. Let callers send another header, such as ${request:X-Token}."
                )
                tell.add_problem(text.line, text.key, told)


def _check_grants(values: ConfigValues, principals: Mapping[PrincipalId, Principal], tell: ProblemCollector) -> None:
    """A name that nobody has limits nobody: whoever was meant could use everything."""
    for who, toolsets in values.value(root.GRANTS, {}).items():
        if who != LOCAL_PRINCIPAL and who not in principals:
            near = closest_names(who, principals)
            names = " or ".join(repr(name) for name in near)
            hint = f"Did you mean {names}?" if near else "Name the caller there too, or take this out."
            tell.add_problem(toolsets.line, toolsets.key, f"there is no {who!r} under principals. {hint}")


def _grants(
    values: ConfigValues, said: Mapping[str, LocatedValue[ConfigValues]], tell: ProblemCollector
) -> Mapping[PrincipalId, frozenset[ToolsetId]]:
    elsewhere = values.value(root.GRANTS, {})
    grants: dict[PrincipalId, frozenset[ToolsetId]] = {}
    for name, one in said.items():
        named = one.value.get(access.PRINCIPAL_TOOLSETS)
        if named is None:
            continue
        if name in elsewhere:
            tell.add_problem(named.line, named.key, f"grants names the toolsets of {name!r} too. Keep one of the two.")
        if all(toolset.value != "all" for toolset in named.value):
            grants[PrincipalId(name)] = frozenset(ToolsetId(toolset.value) for toolset in named.value)
    return grants


def _granted_at(said: Mapping[str, LocatedValue[ConfigValues]], place: FileContext) -> Mapping[PrincipalId, DeclaredAt]:
    named = {name: one.value.get(access.PRINCIPAL_TOOLSETS) for name, one in said.items()}
    return {PrincipalId(name): place.declared_at(toolsets) for name, toolsets in named.items() if toolsets is not None}
