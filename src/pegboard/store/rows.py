"""Which table keeps which part of `Decided`, and what of it differs between two of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Generic, TypeVar

import sqlalchemy
from sqlalchemy import Table

from pegboard.core.ids import ProviderKey, ServerId, ServerKey, ToolsetId, ToolsetKey
from pegboard.core.override import Override
from pegboard.core.policy import Decided
from pegboard.core.server import Server, Trust

from . import schema
from .consents import consent_of, consent_row
from .decisions import (
    Place,
    Specs,
    approval_of,
    approval_row,
    grant_of,
    grant_row,
    override_of,
    override_row,
    switch_of,
    switch_row,
)
from .installed import server_of, server_row, toolset_of, toolset_row
from .own import (
    by_toolset,
    file_of,
    file_row,
    filled,
    image_in,
    image_row,
    own_files,
    own_images,
    own_of,
    own_row,
    own_servers,
    own_tools,
    tool_of,
    tool_row,
)
from .text import Row
from .tokens import token_of, token_row

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Kept(Generic[K, V]):
    """One table and the part of `Decided` that it keeps."""

    table: Table
    part: Callable[[Decided], Mapping[K, V]]
    row: Callable[[K, V], Row]
    value: Callable[[Row], tuple[K, V]]

    def values(self, rows: Iterable[sqlalchemy.Row[Any]]) -> dict[K, V]:
        names = [column.name for column in self.table.columns]
        return dict(self.value(dict(zip(names, row, strict=True))) for row in rows)


def decided(version: int, rows: Mapping[Table, Sequence[sqlalchemy.Row[Any]]], specs: Specs) -> Decided:
    approvals = replace(APPROVALS, value=partial(approval_of, specs=specs))
    described = replace(TOOLS, value=partial(tool_of, specs=specs)).values(rows[schema.tools])
    own = filled(OWN.values(rows[schema.toolset_own]), described, IMAGES.values(rows[schema.toolset_docker_containers]))
    ordered = OVERRIDES.values(rows[schema.tool_overrides])
    overrides = [override for _, override in sorted(ordered.values(), key=lambda placed: placed[0])]
    spoken = SERVERS.values(rows[schema.toolset_mcp_servers])
    servers: dict[ProviderKey, Server] = {server.key: server for server in (*own.values(), *spoken.values())}
    return Decided(
        version=version,
        servers=_sorted(servers),
        toolsets=_sorted(TOOLSETS.values(rows[schema.toolsets])),
        switches=_sorted(SWITCHES.values(rows[schema.switches])),
        approvals=_sorted(approvals.values(rows[schema.approvals])),
        baselined=_sorted(BASELINES.values(rows[schema.baselines])),
        overrides=tuple(row for row in overrides if not row.manifest),
        trust=_sorted(TRUST.values(rows[schema.trust])),
        grants=_sorted(GRANTS.values(rows[schema.grants])),
        consents=_sorted(CONSENTS.values(rows[schema.consents])),
        files=by_toolset(FILES.values(rows[schema.toolset_files])),
        manifest_overrides=tuple(row for row in overrides if row.manifest),
        tokens=_sorted(TOKENS.values(rows[schema.api_tokens])),
    )


def _sorted(values: Mapping[K, V]) -> dict[K, V]:
    """No engine promises an order of rows, and equal policies must come out in equal order."""
    return dict(sorted(values.items(), key=lambda item: str(item[0])))


def _placed(decided: Decided) -> Mapping[Place, tuple[int, Override]]:
    """Which of two overrides is the later decides, so each row knows its place."""
    return {
        (row.toolset, row.target, row.manifest): (place, row)
        for rows in (decided.manifest_overrides, decided.overrides)
        for place, row in enumerate(rows)
    }


@dataclass(frozen=True)
class Difference:
    """What to do to one table, so that it holds the later of two policies."""

    table: Table
    delete: tuple[Row, ...]
    insert: tuple[Row, ...]


def differences(before: Decided, after: Decided) -> tuple[Difference, ...]:
    found = (_difference(kept, before, after) for kept in EVERY)
    return tuple(difference for difference in found if difference.delete or difference.insert)


def _difference(kept: Kept[K, V], before: Decided, after: Decided) -> Difference:
    """Rows are compared, not values: to Python `1`, `1.0` and `True` are equal, and to a fingerprint they are not."""
    old, new = kept.part(before), kept.part(after)
    touched = () if old is new else [key for key in {**old, **new} if old.get(key) is not new.get(key)]
    delete, insert = [], []
    for key in touched:
        was = kept.row(key, old[key]) if key in old else None
        now = kept.row(key, new[key]) if key in new else None
        if was == now:
            continue
        if was is not None:
            delete.append({column.name: was[column.name] for column in kept.table.primary_key})
        if now is not None:
            insert.append(now)
    return Difference(kept.table, tuple(delete), tuple(insert))


def _key_row(key: ProviderKey) -> dict[str, str]:
    """No server has an empty id: it stands for what the toolset brings itself."""
    return {"toolset_id": key.toolset, "server_id": key.server if isinstance(key, ServerKey) else ""}


def _key_of(row: Row) -> ProviderKey:
    toolset, server = ToolsetId(row["toolset_id"]), row["server_id"]
    return ServerKey(toolset, ServerId(server)) if server else ToolsetKey(toolset)


def _mcp_servers(decided: Decided) -> Mapping[ServerKey, Server]:
    return {key: server for key, server in decided.servers.items() if isinstance(key, ServerKey)}


SERVERS: Final = Kept(schema.toolset_mcp_servers, _mcp_servers, server_row, server_of)
OWN: Final = Kept(schema.toolset_own, own_servers, own_row, own_of)
TOOLS: Final = Kept(schema.tools, own_tools, tool_row, tool_of)
IMAGES: Final = Kept(schema.toolset_docker_containers, own_images, image_row, image_in)
FILES: Final = Kept(schema.toolset_files, own_files, file_row, file_of)
TOOLSETS: Final = Kept(schema.toolsets, lambda decided: decided.toolsets, toolset_row, toolset_of)
SWITCHES: Final = Kept(schema.switches, lambda decided: decided.switches, switch_row, switch_of)
APPROVALS: Final = Kept(schema.approvals, lambda decided: decided.approvals, approval_row, approval_of)
BASELINES: Final = Kept(
    schema.baselines,
    lambda decided: decided.baselined,
    lambda key, at: {**_key_row(key), "at": at.isoformat()},
    lambda row: (_key_of(row), datetime.fromisoformat(row["at"])),
)
OVERRIDES: Final = Kept(schema.tool_overrides, _placed, override_row, override_of)
TRUST: Final = Kept(
    schema.trust,
    lambda decided: decided.trust,
    lambda key, trust: {**_key_row(key), "trust": trust.value},
    lambda row: (_key_of(row), Trust(row["trust"])),
)
GRANTS: Final = Kept(schema.grants, lambda decided: decided.grants, grant_row, grant_of)
CONSENTS: Final = Kept(schema.consents, lambda decided: decided.consents, consent_row, consent_of)
TOKENS: Final = Kept(schema.api_tokens, lambda decided: decided.tokens, token_row, token_of)

EVERY: Final[tuple[Kept[Any, Any], ...]] = (
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
)
