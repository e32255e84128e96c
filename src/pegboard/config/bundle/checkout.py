"""A folder that is a Git checkout: what of it Git ignores, and which commit it is at. Git itself is asked, if there is
one; nothing is fetched, and no remote is looked at."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SECONDS: Final = 30.0
_QUIET: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
"""A checkout's own settings could name programs to run at this."""


@dataclass(frozen=True, slots=True)
class Ignored:
    names: frozenset[str] = frozenset()
    """Files, and folders with a `/` at the end, by their names from the folder."""
    trouble: str = ""
    """Why Git could not be asked, though this is a checkout; else empty."""

    def holds(self, name: str) -> bool:
        return name in self.names


@dataclass(frozen=True, slots=True)
class Checkout:
    commit: str
    is_dirty: bool
    """Whether something in the folder is not as that commit has it."""


def ignored_in(folder: Path, manifests: tuple[str, ...]) -> Ignored:
    """Nothing where the manifest itself is ignored: then the folder only lies in somebody else's checkout."""
    if not _is_in_checkout(folder):
        return Ignored()
    told = _asked(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    if not isinstance(told, bytes):
        return Ignored(trouble=told)
    names = frozenset(os.fsdecode(name) for name in told.split(b"\0") if name)
    if "./" in names or not names.isdisjoint(manifests):
        return Ignored()
    return Ignored(names)


def checkout_of(folder: Path, manifests: tuple[str, ...]) -> Checkout | None:
    """`None` where its manifest is not under Git's control, or nothing was committed yet."""
    if not _is_in_checkout(folder) or not _asked(folder, "ls-files", "-z", "--", *manifests):
        return None
    commit = _asked(folder, "rev-parse", "--verify", "HEAD")
    changed = _asked(folder, "status", "--porcelain", "-z", "--", ".")
    if not isinstance(commit, bytes) or not isinstance(changed, bytes):
        return None
    return Checkout(commit.decode("ascii", "replace").strip(), bool(changed))


def _is_in_checkout(folder: Path) -> bool:
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def _asked(folder: Path, *words: str) -> bytes | str:
    """What it answered; or as text, why there is no answer."""
    git = shutil.which("git")
    if git is None:
        return "there is no git on the PATH"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours, and no shell reads them
            [git, *_QUIET, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return done.stdout
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[0][:200]
