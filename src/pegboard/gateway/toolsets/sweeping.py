"""What imports that were cut off left behind: folders that nobody stages any more, and contents that no store names."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import anyio.to_thread

from pegboard.core.policy import PolicyDecisions

from .files import FilesUnavailable, ToolsetFiles, installed_digests

log = logging.getLogger(__name__)


async def sweep(
    files: ToolsetFiles, load: Callable[[], Awaitable[PolicyDecisions]], keep: Callable[[PolicyDecisions], None]
) -> None:
    """Removes it, unless something is being installed right now. `load` is asked afterwards, so that it knows all that
    was installed before; `keep` removes what else nobody needs then. A gateway starts all the same when it cannot."""
    if not files.root.is_dir():
        return
    with ExitStack() as stack:
        try:
            if await anyio.to_thread.run_sync(stack.enter_context, files.sweep_lock()):
                decided = await load()
                if decided.unreadable:
                    log.warning(
                        "Leftovers of imports stay: rows of the store cannot be read. See: pegboard store check"
                    )
                    return
                await anyio.to_thread.run_sync(_delete_unused, files, decided)
                await anyio.to_thread.run_sync(keep, decided)
        except FilesUnavailable as error:
            log.warning("Leftovers of imports stay: %s", error)


def sweep_staged(files: ToolsetFiles) -> None:
    """What was being laid out when a process died, unless another lays something out right now."""
    from pegboard.config.bundle import remove_leftovers as staging_folders

    with files.sweep_lock() as alone:
        if alone:
            staging_folders(files.root)


def _delete_unused(files: ToolsetFiles, decided: PolicyDecisions) -> None:
    from pegboard.config.bundle import remove_leftovers as staging_folders

    staging_folders(files.root)
    files.delete_all_except(installed_digests(decided))
