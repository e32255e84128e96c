"""Following the operator's file: what a good edit says is on the board at once, and a broken one is told."""

import logging
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from pegboard.config.settings import InvalidFile, Settings, load_settings_file
from pegboard.config.watch import file_changes
from pegboard.core.activity import FILE_PRINCIPAL
from pegboard.core.redeclared import describe_settings_changes

from .board import Notice
from .gateway import Gateway
from .reference_watch import follow_references

log = logging.getLogger(__name__)

EMPTY_SHA256: Final = sha256(b"").hexdigest()
EMPTY_FILE_WAIT_S: Final = 2.0
CONFIG_NOTICE: Final = "configuration"
RESTART_NOTICE: Final = "restart"
Accept: TypeAlias = Callable[[str], None]
CONFIG_RECORD_KIND: Final = "config"
"""The kind of record that an edit leaves."""
_MAX_SHOWN: Final = 12


async def follow_files(settings: Settings, gateway: Gateway, accepted: Accept | None = None) -> None:
    """The operator's file, and those that it refers to. `accepted` gets the SHA-256 of each good edit
    that names toolsets which only the store has."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow_references, settings, gateway, name="referenced files")
        await follow_file(settings, gateway, accepted)


async def follow_file(settings: Settings, gateway: Gateway, accepted: Accept | None = None) -> None:
    """A good edit is on the board at once; a broken one changes nothing and is told until it is mended."""
    path, digest = Path(settings.file), settings.digest
    record, before = gateway.operator.record, settings
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
        decided = gateway.board.policy.decisions
        if isinstance(loaded, Settings) and (unknown := loaded.unknown_toolsets(decided.toolsets, decided.servers)):
            loaded = InvalidFile(loaded.file, unknown, loaded.digest)
        if isinstance(loaded, InvalidFile):
            text = "\n".join((f"{path} was edited and cannot be used; the last good board stays.", str(loaded)))
            gateway.board.add_notice(Notice(CONFIG_NOTICE, text, gateway.clock()))
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
        gateway.board.remove_notice(CONFIG_NOTICE)
        if accepted is not None and loaded.unknown_toolsets(()):
            # Only such a file can be refused at the next start.
            accepted(digest)
        gateway.board.config_warnings = loaded.all_warnings
        gateway.board.settings_locations = loaded.source
        late = _read_at_start_only(settings, loaded)
        changed = [*describe_settings_changes(before.declared, loaded.declared), *(f"{name} changed" for name in late)]
        said, before = f"{path.name}: {'; '.join(changed) or 'nothing that matters changed'}", loaded
        if clashing := await gateway.operator.apply_settings(loaded.declared):
            log.error("%s", "\n".join((f"{path} waits; the last good board stays.", *clashing)))
            record(CONFIG_RECORD_KIND, None, f"{said}. It waits: {' '.join(clashing)}", FILE_PRINCIPAL, "waits")
        else:
            log.info("%s was loaded again.", path)
            record(CONFIG_RECORD_KIND, None, said, FILE_PRINCIPAL)
        for remark in gateway.board.current_warnings():
            log.warning("%s", remark)
        if late:
            text = f"{path}: {' and '.join(late)} changed, and is read only when the gateway starts. Start it again."
            gateway.board.add_notice(Notice(RESTART_NOTICE, text, gateway.clock()))
            log.warning("%s", text)
        else:
            gateway.board.remove_notice(RESTART_NOTICE)


def _read_at_start_only(before: Settings, after: Settings) -> list[str]:
    pairs = {
        "store": (before.store, after.store),
        "audit": (before.audit, after.audit),
        "gateway": (before.gateway, after.gateway),
        "presentation": tuple(each.declared.presentation.presentation for each in (before, after)),
        "search": (before.search, after.search),
    }
    return [name for name, (then, now) in pairs.items() if then != now]
