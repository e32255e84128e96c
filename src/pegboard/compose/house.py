"""A gateway with its store, its servers and the watch over its file: opened whole, and ended together."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

import anyio

from pegboard.config import places
from pegboard.surfaces.cli.link import Options, Starts
from pegboard.surfaces.cli.output import Exit, fail

from .databases import DeclaredEngines
from .docspace import Halls
from .handles import VisitKey, tag_key
from .programs import Programs
from .searching import meanings_of
from .sources import provider_for_each
from .surroundings import data_dir_of, folder_of, now, store_url
from .toolsets import Toolsets

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from pegboard.config.chat_keys import ChatSettings
    from pegboard.config.settings import Settings
    from pegboard.core.ids import PrincipalId, ServerKey
    from pegboard.core.policy import Policy
    from pegboard.gateway.access.token_requirement import TokenRequirement
    from pegboard.gateway.access.uses import Uses
    from pegboard.gateway.access.visit_keeping import VisitKeeping
    from pegboard.gateway.gateway import Gateway
    from pegboard.gateway.toolsets.installer import Installer
    from pegboard.ports import PolicyStore, Secrets
    from pegboard.ports.storage import StorageNow
    from pegboard.providers.mcp.oauth import Desk


@dataclass(frozen=True)
class House:
    """A running gateway and what its surfaces tell of its surroundings."""

    gateway: "Gateway"
    settings: "Settings | None"
    data_dir: Path
    store_url: str
    sign_ins: "LateDesk"
    toolsets: "Toolsets"
    uses: "Uses"
    at_end: Callable[[Callable[[], Awaitable[None]]], object]
    """Called with what is to be done when the house is closed."""
    storage: "StorageNow"
    visits: "VisitKeeping"

    @property
    def chat(self) -> "ChatSettings | None":
        return None if self.settings is None else self.settings.chat

    @cached_property
    def installer(self) -> "Installer":
        return self.toolsets.installer(self.gateway, lambda: self.desk)

    @property
    def desk(self) -> "Desk":
        return self.sign_ins.desk

    def signed_in(self, server: "ServerKey", by: "PrincipalId") -> None:
        self.gateway.operator.record("sign_in", str(server), "signed in to it", by)

    @property
    def file(self) -> str | None:
        return None if self.settings is None else str(Path(self.settings.file).absolute())


async def _check_tokens(requirement: "TokenRequirement", policy: "Policy", *, is_open: bool) -> None:
    """Neither another store, nor another file, nor an import makes a board open that required tokens."""
    from pegboard.gateway.access.token_requirement import REFUSAL

    if policy.requires_tokens or not await requirement.is_remembered():
        return
    if not is_open:
        fail(Exit.REFUSED, REFUSAL)
    await requirement.forget()


class LateDesk:
    """Where people sign in. It is made when it is asked for: loading what a sign-in takes loads the SDK."""

    def __init__(self, secrets: "Secrets", tasks: "TaskGroup") -> None:
        self._secrets = secrets
        self._tasks = tasks
        self._base: str | None = None
        self._desk: Desk | None = None

    @property
    def desk(self) -> "Desk":
        if self._desk is None:
            from pegboard.providers.mcp.oauth import Desk

            self._desk = Desk(self._secrets, now, self._tasks)
            if self._base is not None:
                self._desk.listen_at(self._base)
        return self._desk

    def listen_at(self, base: str) -> None:
        """From now on people reach our pages there."""
        self._base = base
        if self._desk is not None:
            self._desk.listen_at(base)


@asynccontextmanager
async def open_house(
    options: Options,
    settings: "Settings | None",
    starts: Starts,
    *,
    follow: bool,
    by_requests: bool = True,
    listens: bool = False,
) -> AsyncIterator[House]:
    """Store, gateway, the servers that `starts` wants and, to `follow`, the watch over the file. All end together.

    `by_requests` says whether callers come in requests of HTTP, which can bring credentials of their own; `listens`
    that it is reached over the network, which needs tokens where tokens were required before.
    """
    from pegboard.config.docspace import from_environment
    from pegboard.config.problem import Remarks
    from pegboard.config.references import expander
    from pegboard.config.settings import Retention
    from pegboard.core.policy import Declared, Policy
    from pegboard.gateway.access.token_requirement import TokenRequirement
    from pegboard.gateway.access.uses import Uses
    from pegboard.gateway.access.visit_keeping import VisitKeeping
    from pegboard.gateway.access.visits import Visits
    from pegboard.gateway.file_watch import follow_files
    from pegboard.gateway.gateway import open_gateway
    from pegboard.gateway.toolsets.secrets import follow_secrets
    from pegboard.memory import share_arenas
    from pegboard.store import Keeping, StoreError, key_of, open_store

    share_arenas()
    directory = data_dir_of(options)
    url = store_url(settings, directory)
    retention = settings.audit if settings else Retention()
    unfiled = from_environment(Declared(), os.environ)
    declared = settings.declared if settings else unfiled.board
    remarks = settings.remarks if settings else Remarks(unfiled.warnings)
    programs = Programs(declared.code, directory)
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
                    keeping=Keeping(retention.arguments, retention.results, declared.redaction),
                )
            )
            requirement = TokenRequirement(directory, store.requirement, now)
            if listens:
                await _check_tokens(requirement, Policy(declared, await store.policy.load()), is_open=options.is_open)
            if follow and settings is not None:
                await _refuse_unknown_toolsets(settings, store.policy, directory)
            signing = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(signing.cancel_scope.cancel)
            desk = LateDesk(store.secrets, signing)
            toolsets = Toolsets(directory, settings, store.secrets)
            stack.push_async_callback(programs.aclose)
            if follow:
                await toolsets.sweep(store.policy)
                await programs.account(store.audit)
            halls = Halls(settings, by_requests, cache(partial(tag_key, os.environ, directory)))
            gateway = await stack.enter_async_context(
                open_gateway(
                    declared,
                    store.policy,
                    store.audit,
                    provider_for_each(settings, starts, desk, toolsets, halls),
                    now,
                    expand=expander(os.environ, folder_of(settings)),
                    tickets=store.tickets,
                    consents=store.consents,
                    queries=store.queries,
                    waits=store.waits,
                    prepare=toolsets.prepare,
                    meanings=meanings_of(settings, directory, store.vectors, stack),
                    programs=programs.means(store.runs),
                    engines=DeclaredEngines(settings),
                    required_tokens=await requirement.is_remembered(),
                )
            )
        except StoreError as error:
            fail(Exit.UNREACHABLE, _without_values(settings, url, str(error)))
        await requirement.note(gateway.board.policy)
        stack.push_async_callback(lambda: requirement.note(gateway.board.policy))
        store.audit.redaction = lambda: gateway.board.policy.declared.redaction
        gateway.board.remarks = replace(remarks, in_passing=not follow)
        if settings is not None:
            gateway.board.written = settings.written
        uses = Uses(store.uses, now)
        key = VisitKey(os.environ, directory)
        visits = VisitKeeping(Visits(key=key.made), store.visits, key.found, f"{gethostname()} {directory}")
        if follow:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            tasks.start_soon(uses.run, name="uses of tokens")
            tasks.start_soon(requirement.run, gateway.board, name="requirement of tokens")
            await visits.load()
            tasks.start_soon(visits.run, name="visits of browsers")
            tasks.start_soon(follow_secrets, gateway, toolsets.secrets, name="secrets of toolsets")
            if settings is not None:
                accepted = partial(places.remember_settings, directory)
                if settings.unknown_toolsets(()):
                    accepted(settings.digest)
                tasks.start_soon(follow_files, settings, gateway, accepted, name="configuration")
        at_end = stack.push_async_callback
        yield House(gateway, settings, directory, store.where, desk, toolsets, uses, at_end, store.storage, visits)


def _without_values(settings: "Settings | None", url: str, message: str) -> str:
    """A message about the store without what the references of its URL stand for."""
    from pegboard.children.erasing import Eraser, inserted

    written = "" if settings is None or settings.store is None else settings.store
    return Eraser(inserted(written, url))(message) if "${" in written else message


async def _refuse_unknown_toolsets(settings: "Settings", store: "PolicyStore", directory: Path) -> None:
    """Ends the command where the file names toolsets that nobody declared or installed (ADR 16).

    The file that was in force last is accepted: what it names was there, and a person has removed it since."""
    if not settings.unknown_toolsets(()) or places.remembered_settings(directory) == settings.digest:
        return
    decided = await store.load()
    problems = [str(problem) for problem in settings.unknown_toolsets(decided.toolsets, decided.servers)]
    # A row that cannot be read may be the toolset: that is shown, and does not stop the start.
    if problems and not any(row.is_decision for row in decided.unreadable):
        fail(Exit.CONFIG, "\n".join(("the configuration cannot be used.", *problems)), {"errors": problems})
