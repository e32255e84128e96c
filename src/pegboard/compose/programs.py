"""What runs the programs of models: made with the first of them, and ended with the gateway."""

import hmac
import logging
import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from pegboard.core.code import CodeSettings, PythonSandbox

from .surroundings import now

if TYPE_CHECKING:
    from pathlib import Path

    from pegboard.gateway.code.code import ProgramBackend
    from pegboard.ports import Audit, RunStore
    from pegboard.ports.sandbox import Sandbox
    from pegboard.store import ActiveProgramLog

_KEY_LABEL: Final = b"pegboard: programs that wait for people"

log = logging.getLogger(__name__)


@dataclass
class ProgramSandboxes:
    """One sandbox of each kind, for all programs of a gateway."""

    settings: CodeSettings
    directory: "Path"
    """Where the gateway's key is."""
    _sandboxes: "dict[PythonSandbox, Sandbox]" = field(default_factory=dict)

    def backend(self, runs: "RunStore") -> "ProgramBackend":
        from pegboard.gateway.code.code import ProgramBackend

        return ProgramBackend(self.sandbox, runs, lambda: self._key, self._active_runs)

    async def record_interrupted(self, audit: "Audit") -> None:
        """For the programs of gateways that were killed here; what their workers left goes, too."""
        from pegboard.ports import StoreUnavailable
        from pegboard.store import StoreError, abandoned_programs

        try:
            with abandoned_programs(self.directory) as left:
                if not left:
                    return
                from pegboard.gateway.code.leftover import record_interrupted_runs

                lost = await record_interrupted_runs(audit, left)
        except (StoreUnavailable, StoreError, OSError) as error:
            log.warning("Programs that ran when a gateway was killed are not in the activity yet: %s", error)
            return
        if lost:
            log.warning("%s programs ran when a gateway was killed here: see pegboard activity", lost)
        from pegboard.providers.builtin.sandbox.full.around import remove_stale_folders

        await to_thread.run_sync(remove_stale_folders)

    def sandbox(self, python: PythonSandbox) -> "Sandbox":
        """Raises `SandboxAway`."""
        if python not in self._sandboxes:
            self._sandboxes[python] = self._make(python)
        return self._sandboxes[python]

    async def aclose(self) -> None:
        while self._sandboxes:
            _, sandbox = self._sandboxes.popitem()
            await sandbox.aclose()

    def close(self) -> None:
        """When every record is written."""
        self._active_runs.close()

    def _make(self, python: PythonSandbox) -> "Sandbox":
        match python:
            case PythonSandbox.MONTY:
                from pegboard.providers.builtin.sandbox.monty import MontySandbox, check_installed

                check_installed()
                return MontySandbox(workers=self.settings.runs + self.settings.max_waiting)
            case PythonSandbox.FULL:
                from pegboard.providers.builtin.sandbox.full.sandbox import FullSandbox

                return FullSandbox()

    @cached_property
    def _active_runs(self) -> "ActiveProgramLog":
        from pegboard.store import ActiveProgramLog

        return ActiveProgramLog(self.directory, now)

    @cached_property
    def _key(self) -> bytes:
        """Gateways with one PEGBOARD_SECRET_KEY have one. Without any key, nothing can be kept anyway."""
        from pegboard.store import NoKeyError, key_of

        try:
            own = key_of(os.environ, self.directory)(True)
        except NoKeyError as error:
            log.warning("Programs cannot wait for people here: %s", error)
            return secrets.token_bytes(32)
        return hmac.digest(own, _KEY_LABEL, "sha256")
