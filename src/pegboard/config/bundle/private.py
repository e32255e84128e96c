"""Files that belong to one person: they usually hold secrets, so no toolset takes them along or gives them away."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

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
