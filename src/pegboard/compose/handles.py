"""The keys that handles are signed with and consents bound by: made from the gateway's own, which goes nowhere."""

import hmac
import logging
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_HANDLE_LABEL: Final = b"pegboard: handles of conversations"
_CREDENTIALS_LABEL: Final = b"pegboard: whose credentials a DocSpace is asked with"
"""Of every source by now. The words stay: what people have allowed is bound by them."""
_SESSION_LABEL: Final = b"pegboard: visits of browsers"

log = logging.getLogger(__name__)


def handle_key(environ: Mapping[str, str], directory: Path) -> bytes:
    """Gateways with one PEGBOARD_SECRET_KEY have one. Without any key, handles are good until this process ends."""
    from pegboard.store import NoKeyError, key_of

    try:
        own = key_of(environ, directory)(True)
    except NoKeyError as error:
        log.warning("What clients find by tool_search is forgotten when the gateway ends: %s", error)
        return secrets.token_bytes(32)
    return hmac.digest(own, _HANDLE_LABEL, "sha256")


def tag_key(environ: Mapping[str, str], directory: Path) -> bytes:
    """By which a person's yes is bound to credentials. Without any key it is good until this process ends."""
    from pegboard.store import NoKeyError, key_of

    try:
        return hmac.digest(key_of(environ, directory)(True), _CREDENTIALS_LABEL, "sha256")
    except NoKeyError:
        return secrets.token_bytes()


class SessionKey:
    """By which secrets and tokens of visits are marked. Without any key they are good until this process ends."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        self._environ = environ
        self._directory = directory
        self._key: bytes | None = None

    def existing_key(self) -> bytes | None:
        """A key that is not there yet is not made for a look: nothing is marked by it."""
        return self._load(make=False)

    def key_or_new(self) -> bytes:
        return self._load(make=True) or secrets.token_bytes()

    def _load(self, *, make: bool) -> bytes | None:
        from pegboard.store import NoKeyError, key_of

        if self._key is None:
            try:
                self._key = hmac.digest(key_of(self._environ, self._directory)(make), _SESSION_LABEL, "sha256")
            except NoKeyError as error:
                if make:
                    log.warning("Who signs in with a browser signs in again when the gateway has ended: %s", error)
        return self._key
