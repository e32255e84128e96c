"""What runs the programs of models: made with the first of them, and ended with the gateway."""

import hmac
import logging
import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard.core.code import CodeSettings, Python

from .surroundings import now

if TYPE_CHECKING:
    from pathlib import Path

    from pegboard.gateway.code.code import Means
    from pegboard.ports import Audit, RunStore
    from pegboard.ports.sandbox import Sandbox
    from pegboard.store import BegunPrograms

_PURPOSE: Final = b"pegboard: programs that wait for people"

log = logging.getLogger(__name__)


@dataclass
class Programs:
    """One sandbox of each kind, for all programs of a gateway."""

    settings: CodeSettings
    directory: "Path"
    """Where the gateway's key is."""
    _made: "dict[Python, Sandbox]" = field(default_factory=dict)

    def means(self, runs: "RunStore") -> "Means":
        from pegboard.gateway.code.code import Means

        return Means(self.sandbox, runs, lambda: self._key, self._begun)

    async def account(self, audit: "Audit") -> None:
        """For the programs of gateways that were killed here; what their workers left goes, too."""
        from pegboard.ports import StoreAway
        from pegboard.store import StoreError, left_begun

        try:
            with left_begun(self.directory) as left:
                if not left:
                    return
                from pegboard.gateway.code.leftover import account

                lost = await account(audit, left)
        except (StoreAway, StoreError, OSError) as error:
            log.warning("Programs that ran when a gateway was killed are not in the activity yet: %s", error)
            return
        if lost:
            log.warning("%s programs ran when a gateway was killed here: see pegboard activity", lost)
        from pegboard.providers.builtin.sandbox.full.around import sweep

        await to_thread.run_sync(sweep)

    def sandbox(self, python: Python) -> "Sandbox":
        """Raises `SandboxAway`."""
        if python not in self._made:
            self._made[python] = self._make(python)
        return self._made[python]

    async def aclose(self) -> None:
        while self._made:
            _, sandbox = self._made.popitem()
            await sandbox.aclose()

    def close(self) -> None:
        """When every record is written."""
        self._begun.close()

    def _make(self, python: Python) -> "Sandbox":
        match python:
            case Python.MONTY:
                from pegboard.providers.builtin.sandbox.monty import MontySandbox, check_installed

                check_installed()
                return MontySandbox(workers=self.settings.runs + self.settings.waiting)
            case Python.FULL:
                from pegboard.providers.builtin.sandbox.full.sandbox import FullSandbox

                return FullSandbox()

    @cached_property
    def _begun(self) -> "BegunPrograms":
        from pegboard.store import BegunPrograms

        return BegunPrograms(self.directory, now)

    @cached_property
    def _key(self) -> bytes:
        """Gateways with one PEGBOARD_SECRET_KEY have one. Without any key, nothing can be kept anyway."""
        from pegboard.store import NoKeyError, key_of

        try:
            own = key_of(os.environ, self.directory)(True)
        except NoKeyError as error:
            log.warning("Programs cannot wait for people here: %s", error)
            return secrets.token_bytes(32)
        return hmac.digest(own, _PURPOSE, "sha256")
