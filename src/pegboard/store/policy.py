"""Loads and saves the policy: only the differences are written."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

import anyio.to_thread
from sqlalchemy import Table, bindparam, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from pegboard.core.model.ids import PrincipalId, ProviderKey, ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.server import Server, Trust
from pegboard.core.model.toolset import Toolset
from pegboard.core.overrides.model import Override
from pegboard.core.policy.policy import PolicyDecisions, removed_principals, replaced_sources, revoked_consents
from pegboard.core.policy.unreadable_rows import (
    LocksBoard,
    LocksTools,
    RevokesGrants,
    RevokesPermission,
    StoredRow,
    Subject,
    UnreadableEffect,
    UnreadableRow,
    subjects_of,
)
from pegboard.ports.stores import SavedVersion, StaleVersion
from pegboard.store import schema
from pegboard.store.async_engine import AsyncConnection
from pegboard.store.database import StoreDatabase, StoreError
from pegboard.store.decisions import (
    SWITCHABLE_KINDS,
    OverrideKey,
    SpecCache,
    approval_of,
    approval_row,
    approval_tool,
    confirmation_of,
    confirmation_row,
    grant_of,
    grant_row,
    key_text,
    override_of,
    override_place,
    override_row,
    possible_targets,
    switch_of,
    switch_row,
    target_of,
    valid_server,
    valid_toolset,
)
from pegboard.store.installations import (
    OwnTool,
    OwnToolKey,
    add_parts,
    file_of,
    file_row,
    files_by_toolset,
    image_entry_of,
    image_row,
    locked_tool_of,
    own_files,
    own_images,
    own_of,
    own_row,
    own_servers,
    own_tools,
    server_of,
    server_row,
    tool_of,
    tool_row,
    toolset_of,
    toolset_row,
)
from pegboard.store.schema import policy_versions
from pegboard.store.sessions import token_of, token_row
from pegboard.store.text import Row, TooDeepError, parse_instant
from pegboard.store.tickets import TABLES as RECORDS
from pegboard.store.tickets import (
    consent_of,
    consent_row,
    unreadable_records,
    void_standing_approvals,
    void_tickets_at,
    void_tickets_of,
)
from pegboard.store.unreadable_rows import (
    UNREADABLE_ERRORS,
    check_types,
    delete_row,
    describe_error,
    read_tables,
    stored_row,
)

_GIVES_NOTHING: Final = RevokesPermission()

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class PolicyTable(Generic[K, V]):
    """One table and the part of `PolicyDecisions` that it keeps."""

    table: Table
    part_of: Callable[[PolicyDecisions], Mapping[K, V]]
    to_row: Callable[[K, V], Row]
    from_row: Callable[[Row], tuple[K, V]]
    effect: Callable[[Row], UnreadableEffect]
    """What stays closed while a row cannot be read. It may raise for a row whose key cannot be read, too."""
    fallback: UnreadableEffect = _GIVES_NOTHING
    """Then this."""

    def values(self, rows: Iterable[Row], lost: list[UnreadableRow]) -> dict[K, V]:
        """What can be read; the other rows are added to `lost`. Of two rows about the same the second is lost."""
        found: dict[K, V] = {}
        for row in rows:
            try:
                check_types(self.table, row)
                key, value = self.from_row(row)
                if key in found:
                    raise ValueError("another row is about the same")
                found[key] = value
            except UNREADABLE_ERRORS as error:
                lost.append(self.unreadable(row, error))
        return found

    def unreadable(self, row: Row, error: Exception) -> UnreadableRow:
        return UnreadableRow(stored_row(self.table, row), self.effect_of(row), describe_error(error))

    def effect_of(self, row: Row) -> UnreadableEffect:
        try:
            return self.effect(row)
        except UNREADABLE_ERRORS:
            return self.fallback


Rows: TypeAlias = Mapping[Table, Sequence[Row]]


def decided_from_rows(version: int, rows: Rows, specs: SpecCache) -> PolicyDecisions:
    lost: list[UnreadableRow] = []
    toolsets = TOOLSETS.values(rows[schema.toolsets], lost)
    rows = _without_orphans(rows, toolsets, lost)
    shells = OWN.values(rows[schema.toolset_own], lost)
    images = IMAGES.values(rows[schema.toolset_docker_containers], lost)
    shells, rows = _without_broken_shells(shells, rows, lost)
    own = add_parts(shells, _tools_from_rows(rows[schema.tools], specs, lost), images)
    ordered = OVERRIDES.values(rows[schema.tool_overrides], lost)
    overrides = [override for _, override in sorted(ordered.values(), key=lambda placed: placed[0])]
    spoken = SERVERS.values(rows[schema.toolset_mcp_servers], lost)
    servers: dict[ProviderKey, Server] = {server.key: server for server in (*own.values(), *spoken.values())}
    approvals = replace(APPROVALS, from_row=partial(approval_of, specs=specs))
    lost += unreadable_records(rows)
    return PolicyDecisions(
        version=version,
        servers=_in_order(servers),
        toolsets=_in_order(toolsets),
        switches=_in_order(SWITCHES.values(rows[schema.switches], lost)),
        approvals=_in_order(approvals.values(rows[schema.approvals], lost)),
        first_seen=_in_order(BASELINES.values(rows[schema.baselines], lost)),
        overrides=tuple(row for row in overrides if not row.from_manifest),
        trust=_in_order(TRUST.values(rows[schema.trust], lost)),
        grants=_in_order(GRANTS.values(rows[schema.grants], lost)),
        consents=_in_order(CONSENTS.values(rows[schema.consents], lost)),
        files=files_by_toolset(FILES.values(rows[schema.toolset_files], lost)),
        manifest_overrides=tuple(row for row in overrides if row.from_manifest),
        tokens=_in_order(TOKENS.values(rows[schema.api_tokens], lost)),
        confirmations=_in_order(CONFIRMATIONS.values(rows[schema.principal_confirmations], lost)),
        unreadable=tuple(sorted(lost, key=lambda row: str(row.row))),
    )


def _tools_from_rows(rows: Sequence[Row], specs: SpecCache, lost: list[UnreadableRow]) -> dict[OwnToolKey, OwnTool]:
    """The tools that toolsets bring; one whose spec alone cannot be read is kept, so that it shows as locked."""
    missed: list[UnreadableRow] = []
    found = replace(TOOLS, from_row=partial(tool_of, specs=specs)).values(rows, missed)
    for row in rows:
        if any(stored_row(schema.tools, row) == one.row for one in missed):
            with suppress(*UNREADABLE_ERRORS):
                found.update([locked_tool_of(row)])
    lost += missed
    return found


def _without_orphans(rows: Rows, toolsets: Mapping[ToolsetId, Toolset], lost: list[UnreadableRow]) -> Rows:
    """Rows of toolsets that are unreadable themselves, or not there, mean nothing: they are no part of the policy."""
    kept: dict[Table, Sequence[Row]] = dict(rows)
    orphans: dict[object, list[tuple[PolicyTable[Any, Any], Row]]] = {}
    for part in _TOOLSET_TABLES:
        kept[part.table] = [row for row in rows[part.table] if row["toolset_id"] in toolsets]
        for row in rows[part.table]:
            if row["toolset_id"] not in toolsets:
                orphans.setdefault(row["toolset_id"], []).append((part, row))
    for place, broken in enumerate(lost):
        gone = orphans.pop(dict(broken.row.key).get("id"), [])
        about = [one for part, each in gone for one in subjects_of(part.unreadable(each, ValueError()))]
        providers = dict.fromkeys(one for one in about if isinstance(one, ServerKey | ToolsetKey))
        effect = broken.effect
        if isinstance(effect, LocksTools):
            effect = LocksTools((*effect.subjects, *providers))
        lost[place] = replace(broken, effect=effect, orphans=tuple(stored_row(part.table, each) for part, each in gone))
    lost += [
        part.unreadable(row, ValueError("its toolset has no row in the table toolsets"))
        for gone in orphans.values()
        for part, row in gone
    ]
    return kept


def _without_broken_shells(
    shells: Mapping[ToolsetKey, Server], rows: Rows, lost: list[UnreadableRow]
) -> tuple[dict[ToolsetKey, Server], Rows]:
    """A toolset of which a container or the way it is run cannot be read runs nothing of its own: a tool without its
    container could not be called, and an import writes all of it anew."""
    broken = {
        one
        for row in lost
        if row.row.table in (schema.toolset_own.name, schema.toolset_docker_containers.name)
        for one in subjects_of(row)
        if isinstance(one, ToolsetKey)
    }
    if not broken:
        return dict(shells), rows
    kept: dict[Table, Sequence[Row]] = dict(rows)
    named = {key.toolset for key in broken}
    parts = (schema.toolset_own, schema.toolset_docker_containers, schema.tools)
    own = [stored_row(table, row) for table in parts for row in rows[table] if row["toolset_id"] in named]
    kept[schema.tools] = [row for row in rows[schema.tools] if row["toolset_id"] not in named]
    for place, row in enumerate(lost):
        if row.row in own:
            mine = dict(row.row.key)["toolset_id"]
            others = tuple(one for one in own if one != row.row and dict(one.key)["toolset_id"] == mine)
            lost[place] = replace(row, orphans=others)
    return {key: server for key, server in shells.items() if key not in broken}, kept


def _in_order(values: Mapping[K, V]) -> dict[K, V]:
    """No engine promises an order of rows, and equal policies must come out in equal order."""
    return dict(sorted(values.items(), key=lambda item: str(item[0])))


def _overrides_in_order(decided: PolicyDecisions) -> Mapping[OverrideKey, tuple[int, Override]]:
    """Which of two overrides is the later decides, so each row knows its place."""
    return {
        (row.toolset, row.target, row.from_manifest): (place, row)
        for rows in (decided.manifest_overrides, decided.overrides)
        for place, row in enumerate(rows)
    }


@dataclass(frozen=True)
class TableDifference:
    """What to do to one table, so that it holds the later of two policies."""

    table: Table
    delete: tuple[Row, ...]
    insert: tuple[Row, ...]


def deleted_rows(before: PolicyDecisions, after: PolicyDecisions) -> tuple[StoredRow, ...]:
    """The unreadable rows that the later policy does not have any more, with what meant nothing without them."""
    kept = {row.row for row in after.unreadable}
    gone = [row for row in before.unreadable if row.row not in kept]
    return tuple(dict.fromkeys(one for row in gone for one in (*row.orphans, row.row)))


def differences(before: PolicyDecisions, after: PolicyDecisions) -> tuple[TableDifference, ...]:
    found = (_difference(kept, before, after) for kept in ALL_TABLES)
    return tuple(difference for difference in found if difference.delete or difference.insert)


def _difference(kept: PolicyTable[K, V], before: PolicyDecisions, after: PolicyDecisions) -> TableDifference:
    """Rows are compared, not values: to Python `1`, `1.0` and `True` are equal, and to a fingerprint they are not."""
    old, new = kept.part_of(before), kept.part_of(after)
    touched = () if old is new else [key for key in {**old, **new} if old.get(key) is not new.get(key)]
    delete, insert = [], []
    for key in touched:
        was = kept.to_row(key, old[key]) if key in old else None
        now = kept.to_row(key, new[key]) if key in new else None
        if was == now:
            continue
        if was is not None:
            delete.append({column.name: was[column.name] for column in kept.table.primary_key})
        if now is not None:
            insert.append(now)
    return TableDifference(kept.table, tuple(delete), tuple(insert))


def _key_row(key: ProviderKey) -> dict[str, str]:
    """No server has an empty id: it stands for what the toolset brings itself."""
    return {"toolset_id": key.toolset, "server_id": key.server if isinstance(key, ServerKey) else ""}


def _key_of(row: Row) -> ProviderKey:
    toolset, server = valid_toolset(row["toolset_id"]), row["server_id"]
    return valid_server(toolset, server) if server != "" else ToolsetKey(toolset)


def _mcp_servers(decided: PolicyDecisions) -> Mapping[ServerKey, Server]:
    return {key: server for key, server in decided.servers.items() if isinstance(key, ServerKey)}


def _lock(*subjects: Subject) -> LocksTools:
    return LocksTools(subjects)


def _switch_effect(row: Row) -> UnreadableEffect:
    kind = row["kind"].removeprefix("blocked_") if isinstance(row["kind"], str) else ""
    if kind in SWITCHABLE_KINDS:
        # A text that is nothing of this kind may have been anything of it.
        with suppress(*UNREADABLE_ERRORS):
            target = target_of(kind, key_text(row, "target"))
            return LocksBoard() if isinstance(target, Pattern) else _lock(target)
        return LocksBoard()
    found = possible_targets(row["target"]) if row["whole"] is None else ()
    return LocksTools(found) if found else LocksBoard()


def _override_effect(row: Row) -> UnreadableEffect:
    try:
        toolset, target, manifest = override_place(row)
        return _lock(Override(toolset, target, from_manifest=manifest))
    except UNREADABLE_ERRORS:
        # An override applies within its toolset alone.
        return _lock(valid_toolset(row["toolset_id"]))


def _approval_effect(row: Row) -> UnreadableEffect:
    try:
        return _lock(approval_tool(row))
    except UNREADABLE_ERRORS:
        found = tuple(one for one in possible_targets(row["tool_id"]) if isinstance(one, ToolId))
        return LocksTools(found) if found and row["whole"] is None else RevokesPermission()


def _grant_effect(row: Row) -> UnreadableEffect:
    return RevokesGrants(PrincipalId(key_text(row, "principal")))


def _token_effect(row: Row) -> UnreadableEffect:
    principal = row["principal"]
    return RevokesPermission(PrincipalId(principal) if isinstance(principal, str) else None)


def _gives_nothing(row: Row) -> UnreadableEffect:
    return RevokesPermission()


def _own_tool_effect(row: Row) -> UnreadableEffect:
    own = ToolsetKey(valid_toolset(row["toolset_id"]))
    try:
        return _lock(ToolId(own, key_text(row, "tool_id")))
    except UNREADABLE_ERRORS:
        return _lock(own)


def _own_effect(row: Row) -> UnreadableEffect:
    return _lock(ToolsetKey(valid_toolset(row["toolset_id"])))


def _toolset_effect(row: Row) -> UnreadableEffect:
    return _lock(valid_toolset(row["id"]))


def _file_effect(row: Row) -> UnreadableEffect:
    return _lock(valid_toolset(row["toolset_id"]))


def _server_effect(row: Row) -> UnreadableEffect:
    return _lock(valid_server(row["toolset_id"], row["server_id"]))


def _provider_effect(row: Row) -> UnreadableEffect:
    return _lock(_key_of(row))


SERVERS: Final = PolicyTable(schema.toolset_mcp_servers, _mcp_servers, server_row, server_of, _server_effect)
OWN: Final = PolicyTable(schema.toolset_own, own_servers, own_row, own_of, _own_effect)
TOOLS: Final = PolicyTable(schema.tools, own_tools, tool_row, tool_of, _own_tool_effect)
IMAGES: Final = PolicyTable(schema.toolset_docker_containers, own_images, image_row, image_entry_of, _own_effect)
FILES: Final = PolicyTable(schema.toolset_files, own_files, file_row, file_of, _file_effect)
TOOLSETS: Final = PolicyTable(
    schema.toolsets, lambda decided: decided.toolsets, toolset_row, toolset_of, _toolset_effect
)
SWITCHES: Final = PolicyTable(
    schema.switches, lambda decided: decided.switches, switch_row, switch_of, _switch_effect, LocksBoard()
)
APPROVALS: Final = PolicyTable(
    schema.approvals, lambda decided: decided.approvals, approval_row, approval_of, _approval_effect
)
BASELINES: Final = PolicyTable(
    schema.baselines,
    lambda decided: decided.first_seen,
    lambda key, at: {**_key_row(key), "at": at.isoformat()},
    lambda row: (_key_of(row), parse_instant(row["at"])),
    _provider_effect,
)
OVERRIDES: Final = PolicyTable(
    schema.tool_overrides, _overrides_in_order, override_row, override_of, _override_effect, LocksBoard()
)
TRUST: Final = PolicyTable(
    schema.trust,
    lambda decided: decided.trust,
    lambda key, trust: {**_key_row(key), "trust": trust.value},
    lambda row: (_key_of(row), Trust(row["trust"])),
    _provider_effect,
    LocksBoard(),
)
GRANTS: Final = PolicyTable(
    schema.grants, lambda decided: decided.grants, grant_row, grant_of, _grant_effect, RevokesGrants(None)
)
CONSENTS: Final = PolicyTable(
    schema.consents, lambda decided: decided.consents, consent_row, consent_of, _gives_nothing
)
TOKENS: Final = PolicyTable(schema.api_tokens, lambda decided: decided.tokens, token_row, token_of, _token_effect)
CONFIRMATIONS: Final = PolicyTable(
    schema.principal_confirmations,
    lambda decided: decided.confirmations,
    confirmation_row,
    confirmation_of,
    lambda row: RevokesPermission(PrincipalId(key_text(row, "principal"))),
)

_TOOLSET_TABLES: Final[tuple[PolicyTable[Any, Any], ...]] = (SERVERS, OWN, TOOLS, IMAGES, FILES)
"""Those whose rows belong to a toolset's."""

ALL_TABLES: Final[tuple[PolicyTable[Any, Any], ...]] = (
    TOOLSETS,
    SERVERS,
    OWN,
    TOOLS,
    IMAGES,
    FILES,
    SWITCHES,
    APPROVALS,
    BASELINES,
    OVERRIDES,
    TRUST,
    GRANTS,
    CONSENTS,
    TOKENS,
    CONFIRMATIONS,
)


# The policy in the database: read whole, written as the difference of two, one version after the other.

_TABLES: Final = (*(kept.table for kept in ALL_TABLES), *RECORDS)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One saved change, as the history tells it."""

    version: int
    at: datetime
    by: PrincipalId
    what: str


class SqlPolicyStore:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self._saved_version = -1
        self._spec_cache = SpecCache()

    async def load(self) -> PolicyDecisions:
        """A row that cannot be read is no error: it is in `PolicyDecisions.unreadable`, and locks what it is about."""
        async with self._database.read_transaction() as connection:
            version = await _current_version(connection)
            rows = await read_tables(connection, _TABLES)
        # Thousands of specs take a while to read, and the event loop has calls to serve.
        specs = SpecCache(self._spec_cache)
        loaded = await anyio.to_thread.run_sync(decided_from_rows, version, rows, specs)
        self._spec_cache = specs.drop_previous()
        return loaded

    async def save(
        self, before: PolicyDecisions, after: PolicyDecisions, *, by: PrincipalId, what: str, at: datetime
    ) -> SavedVersion | StaleVersion:
        if after.version <= before.version:
            raise ValueError(f"Version {after.version} cannot follow version {before.version}.")
        try:
            changes = await anyio.to_thread.run_sync(differences, before, after)
            async with self._database.write_transaction() as connection:
                await self._database.lock_for_write(connection)
                current = await _current_version(connection)
                if current != before.version:
                    return StaleVersion(current)
                row = {"version": after.version, "at": at.isoformat(), "by": by, "what": what}
                await connection.execute(insert(policy_versions), row)
                for gone in deleted_rows(before, after):
                    await delete_row(connection, gone)
                for change in changes:
                    await _apply_difference(connection, change)
                await void_standing_approvals(connection, revoked_consents(before.consents, after.consents, at), at)
                await void_tickets_of(connection, removed_principals(before, after), at)
                await void_tickets_at(connection, replaced_sources(before, after), at)
                await self._database.notify_change(connection)
        except TooDeepError as error:
            raise StoreError(
                f"Version {after.version} cannot be kept: {error}. Nothing of it was. Leave out the server or override "
                f"that brings it."
            ) from error
        except IntegrityError as error:
            raise StoreError(
                f"{self._database.display_url} refused version {after.version}: it contradicts itself or what is "
                "stored "
                f"({error.orig}). Nothing of it was kept. Load the policy again and repeat the change."
            ) from error
        self._saved_version = after.version
        return SavedVersion(after.version)

    async def changes(self) -> AsyncGenerator[None, None]:
        """Rings at once, then whenever another process may have saved, and after an outage. What this process saved
        itself does not ring: whoever saved it has it."""
        async with aclosing(self._database.watch_changes()) as rings:
            async for _ in rings:
                if await self._may_have_changed():
                    yield

    async def _may_have_changed(self) -> bool:
        try:
            async with self._database.read_transaction() as connection:
                return await _current_version(connection) != self._saved_version
        except StoreError:
            return True  # whoever asks again will hear what is wrong

    async def history(self, *, before: int | None = None, limit: int = 100) -> Sequence[PolicyChange]:
        """Newest first; `before` is a version, for paging."""
        told = select(policy_versions).order_by(policy_versions.c.version.desc()).limit(limit)
        if before is not None:
            told = told.where(policy_versions.c.version < before)
        async with self._database.read_transaction() as connection:
            rows = (await connection.execute(told)).all()
        return [
            PolicyChange(row.version, datetime.fromisoformat(row.at), PrincipalId(row.by), row.what) for row in rows
        ]


async def _current_version(connection: AsyncConnection) -> int:
    return (await connection.execute(select(func.max(policy_versions.c.version)))).scalar() or 0


async def _apply_difference(connection: AsyncConnection, change: TableDifference) -> None:
    if change.delete:
        keys = [column == bindparam(f"old_{column.name}", type_=column.type) for column in change.table.primary_key]
        gone = [{f"old_{name}": value for name, value in row.items()} for row in change.delete]
        await connection.execute(delete(change.table).where(*keys), gone)
    if change.insert:
        await connection.execute(insert(change.table), [dict(row) for row in change.insert])
