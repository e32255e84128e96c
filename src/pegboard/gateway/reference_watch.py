"""Following the files that `${file:path}` references stand for: a new secret counts without an edit of the settings."""

import logging
import os
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from pegboard.config.referenced import Looks, files_in, texts_of, texts_within
from pegboard.config.settings import Settings, load, parse
from pegboard.config.watch import Look, look
from pegboard.core.activity import FILE
from pegboard.core.policy import Policy
from pegboard.core.server import Connection

from .gateway import Gateway

log = logging.getLogger(__name__)

INTERVAL: Final = 1.0
KIND: Final = "config"


async def follow_references(settings: Settings, gateway: Gateway) -> None:
    """Callers' tokens are read again, and servers that use the file are started anew with what it holds now.

    Only names of files are ever told, never what is in them.
    """
    referenced, path = _Referenced(settings), Path(settings.file)
    while True:
        changed = await anyio.to_thread.run_sync(referenced.changed, gateway.board.policy, abandon_on_cancel=True)
        if changed:
            loaded = await anyio.to_thread.run_sync(load, path)
            # What is wrong with the file itself is told by who follows that.
            if isinstance(loaded, Settings):
                await gateway.operator.redeclare(loaded.declared)
            using = [
                key
                for key, server in gateway.board.policy.servers.items()
                if changed & referenced.using(server.connection)
            ]
            again = [str(key) for key in using if gateway.roster.restart(key)]
            told = f"{', '.join(sorted(file.name for file in changed))} changed, to which {path.name} refers"
            servers = f"; started anew: {', '.join(again)}" if again else ""
            log.info("%s%s.", told, servers)
            gateway.operator.record(KIND, None, f"{told}{servers}", FILE)
        await anyio.sleep(INTERVAL)


class _Referenced:
    """The files that the operator's file names as it is now, and those of servers that people installed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._looks = Looks()
        self._seen: Look | None = None
        self._named: frozenset[Path] = frozenset()

    def using(self, connection: Connection) -> frozenset[Path]:
        return files_in(texts_of(connection), self._settings.folder, os.environ)

    def changed(self, policy: Policy) -> frozenset[Path]:
        """In a thread, because it looks at each of them."""
        path = Path(self._settings.file)
        seen = look(path, self._seen)
        if seen != self._seen:
            self._seen, self._named = seen, self._named_in(path)
        return self._looks.changed(
            self._named.union(*(self.using(server.connection) for server in policy.servers.values()))
        )

    def _named_in(self, path: Path) -> frozenset[Path]:
        try:
            root = parse(path.read_text("utf-8"), str(path)).root
        except (OSError, ValueError):
            return self._named
        return files_in(texts_within(root), self._settings.folder, os.environ)
