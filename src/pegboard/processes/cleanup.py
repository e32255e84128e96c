"""What ends our children when this process is killed and cannot do so itself.

Most programs leave when their input ends. For those who stay, a shell of a few lines waits beside us for our end,
whoever causes it, and then ends the groups of processes that it was told of. One watches over all of them, from the
first child to the last. There is none where there is no `/bin/sh`, and who has left its group is out of its reach.
"""

import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio

# Files and folders in a place that processes share: held by the one that made them for as long as it lives.
#
# The system lets go of them when it dies, however it dies: whoever comes by later can tell what is left behind from
# what
# is in use.

_MAX_ATTEMPTS: Final = 10


def create_locked(make: Callable[[], Path]) -> tuple[Path, int]:
    """What `make` made, a new one each time, and the descriptor that holds it until it is closed. Raises `OSError`."""
    for _ in range(_MAX_ATTEMPTS):
        path = make()
        descriptor = os.open(path, _open_flags(path))
        # Somebody who clears away may have come by before it was held.
        if _try_lock(descriptor) and _is_same_file(path, descriptor):
            return path, descriptor
        os.close(descriptor)
    raise OSError(f"{path}: somebody takes it away as soon as it is there")


@contextmanager
def lock_abandoned(path: Path) -> Iterator[int | None]:
    """A descriptor of it while nobody else holds it, and `None` where somebody does, or where it is not ours."""
    try:
        descriptor = os.open(path, _open_flags(path) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield None
        return
    try:
        ours = os.name != "posix" or os.fstat(descriptor).st_uid == os.getuid()
        yield descriptor if ours and _try_lock(descriptor) and _is_same_file(path, descriptor) else None
    finally:
        os.close(descriptor)


def _open_flags(path: Path) -> int:
    return os.O_RDONLY if path.is_dir() else os.O_RDWR


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# How much something that sleeps is in demand: how many use it now, and since when nobody does.


class IdleTracker:
    def __init__(self) -> None:
        self.user_count = 0
        self._last_used_at = -math.inf
        self._became_unused = anyio.Event()
        self._became_used = anyio.Event()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        self.user_count += 1
        self._became_used.set()
        try:
            yield
        finally:
            self.user_count -= 1
            self._last_used_at = anyio.current_time()
            if not self.user_count:
                self._became_used = anyio.Event()
                self._became_unused.set()
                self._became_unused = anyio.Event()

    async def wait_until_used(self) -> None:
        """Until somebody uses it."""
        while not self.user_count:
            await self._became_used.wait()

    async def wait_until_idle(self, seconds: float) -> None:
        """Until nobody has used it for so long. What never was in use is idle at once.

        Whoever waited acts before anything else can run, so nobody has come to use it in between.
        """
        while True:
            if self.user_count:
                await self._became_unused.wait()
            elif (rest := self._last_used_at + seconds - anyio.current_time()) > 0:
                await anyio.sleep(rest)
            else:
                return


log: Final = logging.getLogger(__name__)

CHECK_INTERVAL_S: Final = 1
"""Between two looks at the groups. Whole seconds, because not every `sleep` knows parts of one."""

# A group that has ended is not asked for again: its number
# may be another's by then.
_SCRIPT: Final = """
trap '' HUP INT TERM
groups=' '
while read -r what group; do
    case $what in
        +) groups="$groups$group " ;;
        -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    esac
done
for signal in 0 0 TERM 0 0 KILL; do
    left=' '
    for group in $groups; do
        kill -s "$signal" -- "-$group" 2>/dev/null && left="$left$group "
    done
    groups=$left
    [ "$groups" = ' ' ] && exit
    sleep "$1"
done
"""


class _OrphanWatcher:
    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        self._groups.add(group)
        if self._shell is None:
            self._start_shell()
        else:
            self._send(b"+ %d\n" % group)

    def remove(self, group: int) -> None:
        if group not in self._groups:
            return
        self._groups.remove(group)
        if self._groups:
            self._send(b"- %d\n" % group)
        else:
            self._stop_shell()

    def _start_shell(self) -> None:
        try:
            self._shell = subprocess.Popen(  # noqa: S603 - the text is the constant above
                ["/bin/sh", "-c", _SCRIPT, "sh", str(CHECK_INTERVAL_S)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
                # A signal to our own group, such as Ctrl-C at a terminal, is not for it.
                start_new_session=True,
            )
        except OSError as error:
            log.info("Servers that ignore the end of their input outlive a killed gateway here: %s", error)
            return
        self._write(b"".join(b"+ %d\n" % group for group in self._groups))

    def _send(self, line: bytes) -> None:
        if not self._write(line):
            # Somebody ended it: the next one is told all there is.
            self._stop_shell()
            self._start_shell()

    def _write(self, text: bytes) -> bool:
        try:
            if self._shell is not None and self._shell.stdin is not None:
                self._shell.stdin.write(text)
        except OSError:
            return False
        return True

    def _stop_shell(self) -> None:
        if self._shell is None:
            return
        shell, self._shell = self._shell, None
        # By force, because it heeds no other signal; it has nothing left to do, and is gone before we could look away.
        shell.kill()
        with suppress(OSError):
            shell.communicate()


_watcher: Final = _OrphanWatcher()
"""One for this process, as there is one end of it."""


def watch_group(group: int) -> None:
    """From now on this group of processes ends with us, however we end."""
    if sys.platform != "win32":
        _watcher.add(group)


def release_group(group: int) -> None:
    """It has ended."""
    _watcher.remove(group)
