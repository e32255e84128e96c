"""Folders that are a Git checkout: ignored files and the current commit. Runs `git` if it is installed; fetches
nothing.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GIT_TIMEOUT_S: Final = 30.0
_SHA1_DIGITS: Final = 40
"""Digits of a name that Git gives; newer repositories have longer ones."""
_SAFE_OPTIONS: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
"""A checkout's own settings could name programs to run at this."""


@dataclass(frozen=True, slots=True)
class IgnoredFiles:
    names: frozenset[str] = frozenset()
    """Files, and folders with a `/` at the end, by their names from the folder."""
    failure: str = ""
    """Why Git could not be asked, though this is a checkout; else empty."""

    def contains(self, name: str) -> bool:
        return name in self.names


@dataclass(frozen=True, slots=True)
class Checkout:
    commit: str
    is_dirty: bool
    """Whether something in the folder is not as that commit has it."""


def find_ignored(folder: Path, manifests: tuple[str, ...]) -> IgnoredFiles:
    """Nothing where the manifest itself is ignored: then the folder only lies in somebody else's checkout."""
    if not _is_in_checkout(folder):
        return IgnoredFiles()
    told = _run_git(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    if not isinstance(told, bytes):
        return IgnoredFiles(failure=told)
    names = frozenset(os.fsdecode(name) for name in told.split(b"\0") if name)
    if "./" in names or not names.isdisjoint(manifests):
        return IgnoredFiles()
    return IgnoredFiles(names)


def find_checkout(folder: Path, manifests: tuple[str, ...]) -> Checkout | None:
    """`None` where its manifest is not under Git's control, or nothing was committed yet."""
    if not _is_in_checkout(folder) or not _run_git(folder, "ls-files", "-z", "--", *manifests):
        return None
    commit = _run_git(folder, "rev-parse", "--verify", "HEAD")
    # `status` would run the filters that the checkout names. What they make is not what is imported, either.
    committed = _run_git(folder, "ls-tree", "-r", "-z", "HEAD", "--", ".")
    there = _run_git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
    if not isinstance(commit, bytes) or not isinstance(committed, bytes) or not isinstance(there, bytes):
        return None
    return Checkout(commit.decode("ascii", "replace").strip(), _has_changes(folder, committed, there))


def _has_changes(folder: Path, committed: bytes, there: bytes) -> bool:
    objects: dict[str, str] = {}
    for entry in filter(None, committed.split(b"\0")):
        told, _, name = entry.partition(b"\t")
        objects[os.fsdecode(name)] = told.split()[-1].decode("ascii", "replace")
    if objects.keys() != {os.fsdecode(name) for name in there.split(b"\0") if name}:
        return True
    return any(_git_object_id(folder / name, len(object)) != object for name, object in objects.items())


def _git_object_id(file: Path, digits: int) -> str:
    """What Git calls these contents; nothing for what cannot be read."""
    try:
        content = os.fsencode(os.readlink(file)) if file.is_symlink() else file.read_bytes()
    except OSError:
        return ""
    made = hashlib.sha1(usedforsecurity=False) if digits == _SHA1_DIGITS else hashlib.sha256()
    made.update(b"blob %d\0" % len(content))
    made.update(content)
    return made.hexdigest()


def _is_in_checkout(folder: Path) -> bool:
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def _run_git(folder: Path, *words: str) -> bytes | str:
    """What it answered; or as text, why there is no answer."""
    git = shutil.which("git")
    if git is None:
        return "there is no git on the PATH"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    # Of a checkout with parts left out, Git would fetch them, by whatever program its settings name.
    environ |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    try:
        done = subprocess.run(  # noqa: S603 - the words are ours, and no shell reads them
            [git, *_SAFE_OPTIONS, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return done.stdout
    return (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[0][:200]


# Files that belong to one person: they usually hold secrets, so no toolset takes them along or gives them away.

_ENV_FILE: Final = re.compile(r"\.env(?:rc|\..+|)|.+\.env", re.IGNORECASE)
_EXAMPLE_FILE: Final = re.compile(r".*\.(?:example|sample|template|dist|defaults?)(?:\..+)?", re.IGNORECASE)
_NAMES: Final = re.compile(
    r"\.npmrc|\.yarnrc(?:\.yml)?|\.pypirc|[._]netrc|\.git-credentials|\.htpasswd|\.pgpass|\.my\.cnf|\.dockercfg"
    r"|\.vault-token|credentials\.json|client_secrets?\.json|service[-_]account.*\.json"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.+\.(?:p12|pfx|jks|keystore|kdbx|ppk)",
    re.IGNORECASE,
)
_FOLDERS: Final = frozenset({".aws", ".ssh", ".gnupg", ".docker", ".kube"})
_CERTIFICATE_FILE: Final = re.compile(r".+\.(?:pem|key|crt|cer|der|asc|gpg)", re.IGNORECASE)
_PRIVATE_KEY_HEADER: Final = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
_MAX_SCAN_BYTES: Final = 1_000_000


def private_files(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Those of these files of a folder, by their names from there with `/`."""
    return frozenset(name for name in names if is_private(name) or _holds_key(folder, name))


def is_private(name: str) -> bool:
    *folders, last = name.split("/")
    if not _FOLDERS.isdisjoint(folders) or _NAMES.fullmatch(last):
        return True
    return _ENV_FILE.fullmatch(last) is not None and _EXAMPLE_FILE.fullmatch(last) is None


def _holds_key(folder: Path, name: str) -> bool:
    """A certificate is for everybody, and a key may stand in the same kind of file."""
    if not _CERTIFICATE_FILE.fullmatch(name):
        return False
    path = folder.joinpath(*name.split("/"))
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return _PRIVATE_KEY_HEADER.search(file.read(_MAX_SCAN_BYTES)) is not None
