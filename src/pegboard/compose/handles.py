"""The keys that handles are signed with and consents bound by: made from the gateway's own, which goes nowhere."""

import hmac
import logging
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PURPOSE: Final = b"pegboard: handles of conversations"
_BINDING: Final = b"pegboard: whose credentials a DocSpace is asked with"
"""Of every source by now. The words stay: what people have allowed is bound by them."""

log = logging.getLogger(__name__)


def handle_key(environ: Mapping[str, str], directory: Path) -> bytes:
    """Gateways with one PEGBOARD_SECRET_KEY have one. Without any key, handles are good until this process ends."""
    from pegboard.store import NoKeyError, key_of

    try:
        own = key_of(environ, directory)(True)
    except NoKeyError as error:
        log.warning("What clients find by tool_search is forgotten when the gateway ends: %s", error)
        return secrets.token_bytes(32)
    return hmac.digest(own, _PURPOSE, "sha256")


def tag_key(environ: Mapping[str, str], directory: Path) -> bytes:
    """By which a person's yes is bound to credentials. Without any key it is good until this process ends."""
    from pegboard.store import NoKeyError, key_of

    try:
        return hmac.digest(key_of(environ, directory)(True), _BINDING, "sha256")
    except NoKeyError:
        return secrets.token_bytes()
