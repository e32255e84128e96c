"""Opens an application: the store, the gateway with its providers, and the watch over the settings file; closes it as a
whole.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import anyio

from pegboard.bootstrap.environment import (
    SessionKey,
    ensure_data_directory,
    invalid_configuration,
    now,
    reference_folder,
    store_url,
    tag_key,
)
from pegboard.bootstrap.errors import ServiceUnavailableError, StartRefusedError
from pegboard.bootstrap.features import DeclaredEngineFactory, ProgramSandboxes, make_embedding_index
from pegboard.bootstrap.providers import DocSpaceClients, ServerFilter, make_provider_factory
from pegboard.bootstrap.toolsets import ToolsetServices
from pegboard.config import paths

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from pegboard.config.keys.features import ChatSettings
    from pegboard.config.settings import Settings
    from pegboard.core.model.ids import PrincipalId, ServerKey
    from pegboard.core.policy.policy import Policy
    from pegboard.gateway.access.sessions import SessionPersistence
    from pegboard.gateway.access.token_requirement import TokenRequirement
    from pegboard.gateway.access.tokens import UsageTracker
    from pegboard.gateway.gateway import Gateway
    from pegboard.gateway.toolsets.installer import ToolsetInstaller
    from pegboard.ports.stores import PolicyStore, SecretStore, StorageProbe
    from pegboard.providers.mcp.oauth.sign_in import SignInService


@dataclass(frozen=True)
class Application:
    """A running gateway and what its surfaces tell of its surroundings."""

    gateway: "Gateway"
    settings: "Settings | None"
    data_dir: Path
    store_url: str
    sign_ins: "LazySignInService"
    toolsets: "ToolsetServices"
    token_usage: "UsageTracker"
    on_close: Callable[[Callable[[], Awaitable[None]]], object]
    """Called with what is to be done when the house is closed."""
    storage: "StorageProbe"
    session_persistence: "SessionPersistence"

    @property
    def chat(self) -> "ChatSettings | None":
        return None if self.settings is None else self.settings.chat

    @cached_property
    def installer(self) -> "ToolsetInstaller":
        return self.toolsets.installer(self.gateway, lambda: self.sign_in_service)

    @property
    def sign_in_service(self) -> "SignInService":
        return self.sign_ins.service

    def record_sign_in(self, server: "ServerKey", by: "PrincipalId") -> None:
        self.gateway.operator.record("sign_in", str(server), "signed in to it", by)

    @property
    def config_file(self) -> str | None:
        return None if self.settings is None else str(Path(self.settings.file).absolute())


async def _check_tokens(requirement: "TokenRequirement", policy: "Policy", *, is_open: bool) -> None:
    """Neither another store, nor another file, nor an import makes a board open that required tokens."""
    from pegboard.gateway.access.token_requirement import REFUSAL

    if policy.requires_tokens or not await requirement.is_remembered():
        return
    if not is_open:
        raise StartRefusedError(REFUSAL)
    await requirement.forget()


class LazySignInService:
    """Where people sign in. It is made when it is asked for: loading what a sign-in takes loads the SDK."""

    def __init__(self, secrets: "SecretStore", tasks: "TaskGroup") -> None:
        self._secrets = secrets
        self._tasks = tasks
        self._base: str | None = None
        self._service: SignInService | None = None

    @property
    def service(self) -> "SignInService":
        if self._service is None:
            from pegboard.providers.mcp.oauth.sign_in import SignInService

            self._service = SignInService(self._secrets, now, self._tasks)
            if self._base is not None:
                self._service.set_base_url(self._base)
        return self._service

    def set_base_url(self, base: str) -> None:
        """From now on people reach our pages there."""
        self._base = base
        if self._service is not None:
            self._service.set_base_url(base)


@asynccontextmanager
async def open_application(
    data_dir: Path | None,
    settings: "Settings | None",
    starts: ServerFilter,
    *,
    follow: bool,
    by_requests: bool = True,
    listens: bool = False,
    is_open: bool = False,
) -> AsyncIterator[Application]:
    """Store, gateway, the servers that `starts` wants and, to `follow`, the watch over the file. All end together.

    `by_requests` says whether callers come in requests of HTTP, which can bring credentials of their own; `listens`
    that it is reached over the network, which needs tokens where tokens were required before, unless `is_open`.
    Raises a `StartupError`, which a task group may have wrapped.
    """
    from pegboard.config.docspace import from_environment
    from pegboard.config.references import expander
    from pegboard.config.schema.document import ConfigWarnings
    from pegboard.config.settings import Retention
    from pegboard.core.policy.policy import DeclaredSettings, Policy
    from pegboard.gateway.access.sessions import BrowserSessions, SessionPersistence
    from pegboard.gateway.access.token_requirement import TokenRequirement
    from pegboard.gateway.access.tokens import UsageTracker
    from pegboard.gateway.file_watch import follow_files
    from pegboard.gateway.gateway import open_gateway
    from pegboard.gateway.toolsets.secrets import follow_secrets
    from pegboard.memory import share_arenas
    from pegboard.store.call_records import ContentRetention
    from pegboard.store.database import StoreError
    from pegboard.store.open import open_store
    from pegboard.store.secrets import key_of

    share_arenas()
    directory = ensure_data_directory(data_dir)
    url = store_url(settings, directory)
    retention = settings.audit if settings else Retention()
    unfiled = from_environment(DeclaredSettings(), os.environ)
    declared = settings.declared if settings else unfiled.board
    remarks = settings.all_warnings if settings else ConfigWarnings(unfiled.warnings)
    programs = ProgramSandboxes(declared.code, directory)
    async with AsyncExitStack() as stack:
        # Behind the store, which writes its last records when it is closed.
        stack.callback(programs.close)
        try:
            store = await stack.enter_async_context(
                open_store(
                    url,
                    clock=now,
                    keep_days=retention.keep_days,
                    keep_rows=retention.keep_rows,
                    key=key_of(os.environ, directory),
                    keeping=ContentRetention(retention.arguments, retention.results, declared.redaction),
                )
            )
            requirement = TokenRequirement(directory, store.token_requirement, now)
            if listens:
                await _check_tokens(requirement, Policy(declared, await store.policy.load()), is_open=is_open)
            if follow and settings is not None:
                await _refuse_unknown_toolsets(settings, store.policy, directory)
            signing = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(signing.cancel_scope.cancel)
            desk = LazySignInService(store.secrets, signing)
            toolsets = ToolsetServices(directory, settings, store.secrets)
            stack.push_async_callback(programs.aclose)
            if follow:
                await toolsets.sweep(store.policy)
                await programs.record_interrupted(store.audit)
            halls = DocSpaceClients(settings, by_requests, cache(partial(tag_key, os.environ, directory)))
            gateway = await stack.enter_async_context(
                open_gateway(
                    declared,
                    store.policy,
                    store.audit,
                    make_provider_factory(settings, starts, desk, toolsets, halls),
                    now,
                    expand=expander(os.environ, reference_folder(settings)),
                    tickets=store.tickets,
                    consents=store.consents,
                    queries=store.queries,
                    waits=store.pending_since,
                    prepare=toolsets.prepare,
                    meanings=make_embedding_index(settings, directory, store.vectors, stack),
                    programs=programs.backend(store.runs),
                    engines=DeclaredEngineFactory(settings),
                    required_tokens=await requirement.is_remembered(),
                )
            )
        except StoreError as error:
            raise ServiceUnavailableError(_without_values(settings, url, str(error))) from error
        await requirement.update(gateway.board.policy)
        stack.push_async_callback(lambda: requirement.update(gateway.board.policy))
        store.audit.redaction = lambda: gateway.board.policy.declared.redaction
        gateway.board.config_warnings = replace(remarks, read_by_command=not follow)
        if settings is not None:
            gateway.board.settings_locations = settings.source
        uses = UsageTracker(store.token_uses, now)
        key = SessionKey(os.environ, directory)
        visits = SessionPersistence(
            BrowserSessions(key=key.key_or_new), store.sessions, key.existing_key, f"{gethostname()} {directory}"
        )
        if follow:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(uses.run, name="uses of tokens")
            tasks.start_soon(requirement.run, gateway.board, name="requirement of tokens")
            await visits.load()
            tasks.start_soon(visits.run, name="visits of browsers")
            tasks.start_soon(
                follow_secrets, gateway.board, gateway.providers, toolsets.secrets, name="secrets of toolsets"
            )
            if settings is not None:
                accepted = partial(paths.remember_settings, directory)
                if settings.unknown_toolsets(()):
                    accepted(settings.digest)
                tasks.start_soon(
                    follow_files,
                    settings,
                    gateway.board,
                    gateway.clock,
                    gateway.operator,
                    gateway.providers,
                    accepted,
                    name="configuration",
                )
        at_end = stack.push_async_callback
        yield Application(
            gateway, settings, directory, store.display_url, desk, toolsets, uses, at_end, store.storage, visits
        )


def _without_values(settings: "Settings | None", url: str, message: str) -> str:
    """A message about the store without what the references of its URL stand for."""
    from pegboard.processes.output import SecretFilter, substituted_values

    written = "" if settings is None or settings.store is None else settings.store
    return SecretFilter(substituted_values(written, url))(message) if "${" in written else message


async def _refuse_unknown_toolsets(settings: "Settings", store: "PolicyStore", directory: Path) -> None:
    """Raises `ConfigurationError` where the file names toolsets that nobody declared or installed (ADR 16).

    The file that was in force last is accepted: what it names was there, and a person has removed it since."""
    if not settings.unknown_toolsets(()) or paths.remembered_settings(directory) == settings.digest:
        return
    decided = await store.load()
    problems = [str(problem) for problem in settings.unknown_toolsets(decided.toolsets, decided.servers)]
    # A row that cannot be read may be the toolset: that is shown, and does not stop the start.
    if problems and not any(row.is_decision for row in decided.unreadable):
        raise invalid_configuration(problems)
