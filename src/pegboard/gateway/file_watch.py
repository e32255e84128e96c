"""Applies edits of the settings file; a broken edit changes nothing and is reported."""

import logging
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.config.settings import InvalidFile, Settings, load_settings_file, parse_settings_text
from pegboard.config.watch import (
    FileSnapshot,
    ReferencedFiles,
    connection_texts,
    file_changes,
    node_texts,
    referenced_files,
    take_snapshot,
)
from pegboard.core.calls.activity import FILE_PRINCIPAL
from pegboard.core.explain.what_if import describe_settings_changes
from pegboard.core.model.server import Connection
from pegboard.core.policy.policy import Policy
from pegboard.gateway.board import BoardState, Notice
from pegboard.gateway.operator import Operator
from pegboard.gateway.providers import ProviderRegistry
from pegboard.ports.providers import Clock

# Following the files that `${file:path}` references stand for: a new secret counts without an edit of the settings.

log = logging.getLogger(__name__)

POLL_INTERVAL_S: Final = 1.0
RECORD_KIND: Final = "config"


async def follow_references(
    settings: Settings, board: BoardState, operator: Operator, provider_registry: ProviderRegistry
) -> None:
    """Callers' tokens are read again, and servers that use the file are started anew with what it holds now.

    Only names of files are ever told, never what is in them.
    """
    referenced, path = _ReferencedFiles(settings), Path(settings.file)
    while True:
        changed = await anyio.to_thread.run_sync(referenced.changed_files, board.policy, abandon_on_cancel=True)
        if changed:
            loaded = await anyio.to_thread.run_sync(load_settings_file, path)
            # What is wrong with the file itself is told by who follows that.
            if isinstance(loaded, Settings):
                await operator.apply_settings(loaded.declared)
            using = [
                key for key, server in board.policy.servers.items() if changed & referenced.files_of(server.connection)
            ]
            again = [str(key) for key in using if provider_registry.restart(key)]
            told = f"{', '.join(sorted(file.name for file in changed))} changed, to which {path.name} refers"
            servers = f"; started anew: {', '.join(again)}" if again else ""
            log.info("%s%s.", told, servers)
            operator.record(RECORD_KIND, None, f"{told}{servers}", FILE_PRINCIPAL)
        await anyio.sleep(POLL_INTERVAL_S)


class _ReferencedFiles:
    """The files that the operator's file names as it is now, and those of servers that people installed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._looks = ReferencedFiles()
        self._settings_seen: FileSnapshot | None = None
        self._named_files: frozenset[Path] = frozenset()

    def files_of(self, connection: Connection) -> frozenset[Path]:
        return referenced_files(connection_texts(connection), self._settings.folder, os.environ)

    def changed_files(self, policy: Policy) -> frozenset[Path]:
        """In a thread, because it looks at each of them."""
        path = Path(self._settings.file)
        seen = take_snapshot(path, self._settings_seen)
        if seen != self._settings_seen:
            self._settings_seen, self._named_files = seen, self._named_in(path)
        return self._looks.changed_files(
            self._named_files.union(*(self.files_of(server.connection) for server in policy.servers.values()))
        )

    def _named_in(self, path: Path) -> frozenset[Path]:
        try:
            root = parse_settings_text(path.read_text("utf-8"), str(path)).root
        except (OSError, ValueError):
            return self._named_files
        return referenced_files(node_texts(root), self._settings.folder, os.environ)


EMPTY_SHA256: Final = sha256(b"").hexdigest()
EMPTY_FILE_WAIT_S: Final = 2.0
CONFIG_NOTICE: Final = "configuration"
RESTART_NOTICE: Final = "restart"
Accept: TypeAlias = Callable[[str], None]
CONFIG_RECORD_KIND: Final = "config"
"""The kind of record that an edit leaves."""
_MAX_SHOWN: Final = 12


async def follow_files(
    settings: Settings,
    board: BoardState,
    clock: Clock,
    operator: Operator,
    provider_registry: ProviderRegistry,
    accepted: Accept | None = None,
) -> None:
    """The operator's file, and those that it refers to. `accepted` gets the SHA-256 of each good edit
    that names toolsets which only the store has."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow_references, settings, board, operator, provider_registry, name="referenced files")
        await follow_file(settings, board, clock, operator, accepted)


async def follow_file(
    settings: Settings, board: BoardState, clock: Clock, operator: Operator, accepted: Accept | None = None
) -> None:
    """A good edit is on the board at once; a broken one changes nothing and is told until it is mended."""
    path, digest = Path(settings.file), settings.digest
    record, before = operator.record, settings
    record(
        CONFIG_RECORD_KIND, None, f"{path.name} was loaded at the start, SHA-256 {digest[:_MAX_SHOWN]}", FILE_PRINCIPAL
    )
    async for _ in file_changes(path, seen=digest):
        loaded = await anyio.to_thread.run_sync(load_settings_file, path)
        if loaded.digest == EMPTY_SHA256:
            # Many editors empty a file before they write it: only one that stays empty means an empty board.
            await anyio.sleep(EMPTY_FILE_WAIT_S)
            loaded = await anyio.to_thread.run_sync(load_settings_file, path)
        if loaded.digest is not None and loaded.digest == digest:
            continue
        digest = loaded.digest or ""
        decided = board.policy.decisions
        if isinstance(loaded, Settings) and (unknown := loaded.unknown_toolsets(decided.toolsets, decided.servers)):
            loaded = InvalidFile(loaded.file, unknown, loaded.digest)
        if isinstance(loaded, InvalidFile):
            text = "\n".join((f"{path} was edited and cannot be used; the last good board stays.", str(loaded)))
            board.add_notice(Notice(CONFIG_NOTICE, text, clock()))
            log.error("%s", text)
            # A problem may quote what was written; how many there are and where the first is tells enough here.
            lines = f"problems: {len(loaded.problems)}, the first in line {loaded.problems[0].line}"
            record(
                CONFIG_RECORD_KIND,
                None,
                f"{path.name} was edited and cannot be used; {lines}",
                FILE_PRINCIPAL,
                "broken",
            )
            continue
        board.remove_notice(CONFIG_NOTICE)
        if accepted is not None and loaded.unknown_toolsets(()):
            # Only such a file can be refused at the next start.
            accepted(digest)
        board.config_warnings = loaded.all_warnings
        board.settings_locations = loaded.source
        late = _read_at_start_only(settings, loaded)
        changed = [*describe_settings_changes(before.declared, loaded.declared), *(f"{name} changed" for name in late)]
        said, before = f"{path.name}: {'; '.join(changed) or 'nothing that matters changed'}", loaded
        if clashing := await operator.apply_settings(loaded.declared):
            log.error("%s", "\n".join((f"{path} waits; the last good board stays.", *clashing)))
            record(CONFIG_RECORD_KIND, None, f"{said}. It waits: {' '.join(clashing)}", FILE_PRINCIPAL, "waits")
        else:
            log.info("%s was loaded again.", path)
            record(CONFIG_RECORD_KIND, None, said, FILE_PRINCIPAL)
        for remark in board.current_warnings():
            log.warning("%s", remark)
        if late:
            text = f"{path}: {' and '.join(late)} changed, and is read only when the gateway starts. Start it again."
            board.add_notice(Notice(RESTART_NOTICE, text, clock()))
            log.warning("%s", text)
        else:
            board.remove_notice(RESTART_NOTICE)


def _read_at_start_only(before: Settings, after: Settings) -> list[str]:
    pairs = {
        "store": (before.store, after.store),
        "audit": (before.audit, after.audit),
        "gateway": (before.gateway, after.gateway),
        "presentation": tuple(each.declared.presentation.presentation for each in (before, after)),
        "search": (before.search, after.search),
    }
    return [name for name, (then, now) in pairs.items() if then != now]
