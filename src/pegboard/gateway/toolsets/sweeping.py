"""What imports that were cut off left behind: folders that nobody stages any more, and contents that no store names."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

import anyio.to_thread

from pegboard.core.policy import Decided

from .files import Files, FilesAway, digests

log = logging.getLogger(__name__)


async def sweep(files: Files, load: Callable[[], Awaitable[Decided]], keep: Callable[[Decided], None]) -> None:
    """Removes it, unless something is being installed right now. `load` is asked afterwards, so that it knows all that
    was installed before; `keep` removes what else nobody needs then. A gateway starts all the same when it cannot."""
    if not files.root.is_dir():
        return
    with ExitStack() as stack:
        try:
            if await anyio.to_thread.run_sync(stack.enter_context, files.sweeping()):
                decided = await load()
                if decided.unreadable:
                    log.warning(
                        "Leftovers of imports stay: rows of the store cannot be read. See: pegboard store check"
                    )
                    return
                await anyio.to_thread.run_sync(_swept, files, decided)
                await anyio.to_thread.run_sync(keep, decided)
        except FilesAway as error:
            log.warning("Leftovers of imports stay: %s", error)


def sweep_staged(files: Files) -> None:
    """What was being laid out when a process died, unless another lays something out right now."""
    from pegboard.config.bundle import sweep as staging_folders

    with files.sweeping() as alone:
        if alone:
            staging_folders(files.root)


def _swept(files: Files, decided: Decided) -> None:
    from pegboard.config.bundle import sweep as staging_folders

    staging_folders(files.root)
    files.keep(digests(decided))
