"""The settings file, data directory and store address that a command finds on this machine."""

import hmac
import logging
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pegboard.bootstrap.errors import ConfigurationError, ServiceUnavailableError, StartRefusedError
from pegboard.config import paths
from pegboard.config.paths import untrusted_directory_reason, untrusted_file_reason

if TYPE_CHECKING:
    from pegboard.config.settings import Settings


now: Final = partial(datetime.now, UTC)
"""The clock of this program."""


def every_server(key: str, id: str) -> bool:
    return True


def load_settings(file: Path | None, *, here: bool = True) -> "Settings | None":
    """The operator's file: the one that was named, or the usual one, which `here` may be in the working directory.

    Raises `ConfigurationError` with everything that is wrong in it.
    """
    from pegboard.config.settings import InvalidFile, load_settings_file

    path = paths.config_file(file, os.environ, here=here)
    if path is None:
        return None
    unnamed = here and paths.is_from_working_directory(path, file, os.environ)
    if unnamed and (why := untrusted_file_reason(path)) is not None:
        raise ConfigurationError(f"{path} is not used: {why}")
    loaded = load_settings_file(path)
    if isinstance(loaded, InvalidFile):
        raise invalid_configuration([str(problem) for problem in loaded.problems])
    return loaded


def invalid_configuration(problems: list[str]) -> ConfigurationError:
    return ConfigurationError("\n".join(("the configuration cannot be used.", *problems)), {"errors": problems})


def ensure_data_directory(named: Path | None) -> Path:
    """Raises `ServiceUnavailableError`, and `StartRefusedError` where others could write to it."""
    directory = paths.data_directory(named, os.environ)
    try:
        paths.ensure_directory(directory)
        why = untrusted_directory_reason(directory)
    except OSError as error:
        raise unusable_data_directory(directory, error) from error
    if why is not None:
        raise StartRefusedError(f"the data directory {directory} is not used: {why}")
    return directory


def unusable_data_directory(directory: Path, error: OSError) -> ServiceUnavailableError:
    why = error.strerror or str(error)
    return ServiceUnavailableError(f"the data directory {directory} cannot be used: {why}. Choose another: --data-dir")


def store_url(settings: "Settings | None", directory: Path) -> str:
    from pegboard.config.references import expander
    from pegboard.ports.providers import UnresolvedReference

    if settings is None or settings.store is None:
        return f"sqlite:///{directory / paths.DATABASE_FILE_NAME}"
    url = expander(os.environ, settings.folder)(settings.store)
    if isinstance(url, UnresolvedReference):
        raise ConfigurationError(f"{settings.file}: store: {url.why}")
    return url


def reference_folder(settings: "Settings | None") -> Path:
    """What references to files are taken from."""
    return settings.folder if settings is not None else Path.cwd()


# The keys that handles are signed with and consents bound by: made from the gateway's own, which goes nowhere.

_HANDLE_LABEL: Final = b"pegboard: handles of conversations"
_CREDENTIALS_LABEL: Final = b"pegboard: whose credentials a DocSpace is asked with"
"""Of every source by now. The words stay: what people have allowed is bound by them."""
_SESSION_LABEL: Final = b"pegboard: visits of browsers"

log = logging.getLogger(__name__)


def handle_key(environ: Mapping[str, str], directory: Path) -> bytes:
    warning = "What clients find by tool_search is forgotten when the gateway ends"
    return derive_key(environ, directory, _HANDLE_LABEL, warning)


def tag_key(environ: Mapping[str, str], directory: Path) -> bytes:
    """By which a person's yes is bound to credentials."""
    return derive_key(environ, directory, _CREDENTIALS_LABEL)


def derive_key(environ: Mapping[str, str], directory: Path, label: bytes, warning: str | None = None) -> bytes:
    """Gateways with one PEGBOARD_SECRET_KEY have one. Without any key there is one until this process ends."""
    from pegboard.store.secrets import NoKeyError, key_of

    try:
        return hmac.digest(key_of(environ, directory)(True), label, "sha256")
    except NoKeyError as error:
        if warning is not None:
            log.warning("%s: %s", warning, error)
        return secrets.token_bytes(32)


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
        from pegboard.store.secrets import NoKeyError, key_of

        if self._key is None:
            try:
                self._key = hmac.digest(key_of(self._environ, self._directory)(make), _SESSION_LABEL, "sha256")
            except NoKeyError as error:
                if make:
                    log.warning("Who signs in with a browser signs in again when the gateway has ended: %s", error)
        return self._key
