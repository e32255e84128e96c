"""Following the files that `${file:path}` references stand for: a new secret counts without an edit of the settings."""

import logging
import os
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pegboard.config.referenced import ReferencedFiles, connection_texts, node_texts, referenced_files
from pegboard.config.settings import Settings, load_settings_file, parse_settings_text
from pegboard.config.watch import FileSnapshot, take_snapshot
from pegboard.core.activity import FILE_PRINCIPAL
from pegboard.core.policy import Policy
from pegboard.core.server import Connection

from .gateway import Gateway

log = logging.getLogger(__name__)

POLL_INTERVAL_S: Final = 1.0
RECORD_KIND: Final = "config"


async def follow_references(settings: Settings, gateway: Gateway) -> None:
    """Callers' tokens are read again, and servers that use the file are started anew with what it holds now.

    Only names of files are ever told, never what is in them.
    """
    referenced, path = _ReferencedFiles(settings), Path(settings.file)
    while True:
        changed = await anyio.to_thread.run_sync(referenced.changed_files, gateway.board.policy, abandon_on_cancel=True)
        if changed:
            loaded = await anyio.to_thread.run_sync(load_settings_file, path)
            # What is wrong with the file itself is told by who follows that.
            if isinstance(loaded, Settings):
                await gateway.operator.apply_settings(loaded.declared)
            using = [
                key
                for key, server in gateway.board.policy.servers.items()
                if changed & referenced.files_of(server.connection)
            ]
            again = [str(key) for key in using if gateway.providers.restart(key)]
            told = f"{', '.join(sorted(file.name for file in changed))} changed, to which {path.name} refers"
            servers = f"; started anew: {', '.join(again)}" if again else ""
            log.info("%s%s.", told, servers)
            gateway.operator.record(RECORD_KIND, None, f"{told}{servers}", FILE_PRINCIPAL)
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
