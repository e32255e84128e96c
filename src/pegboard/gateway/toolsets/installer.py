"""Toolsets brought onto the board and taken off it: staged, described, shown, and swapped in by one command."""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from pegboard.config.problem import Problem
from pegboard.core.closed import Closed, closed
from pegboard.core.commands import Rejected, apply
from pegboard.core.ids import PrincipalId, ServerKey, ToolsetId, ToolsetKey
from pegboard.core.imported import InstallToolset, RemoveToolset, TurnSecret
from pegboard.core.installing import Differences, differences, is_downgrade
from pegboard.core.override import OverrideIndex
from pegboard.core.own import Own
from pegboard.core.plan import told_in_part
from pegboard.core.policy import Policy
from pegboard.core.running import sound
from pegboard.core.server import InstalledBy, Server, Stdio
from pegboard.core.tool import Tool
from pegboard.core.versions import told_downgrade
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.operate import NotSaved
from pegboard.ports import SecretsAway, SignIns, Stale, StoreAway
from pegboard.ports.describing import CannotDescribe, Describe, Described, ReadLabel

from .bringing import brought_from
from .building import built
from .files import Files, digests
from .functions import check_functions, told_at
from .progress import InProgress, Step
from .reaching import reached_with
from .reading import Read, Unfit, entries_of, read, read_in_place
from .secrets import ToolsetSecrets, secrets_asked
from .sweeping import sweep_staged
from .unread import as_written, modules_of
from .wanted import Looked, Overtaken, Refused, Wanted, approved, installed, pending, poisoned_overrides

if TYPE_CHECKING:
    from pegboard.config.manifest import CommandEntry, Manifest
    from pegboard.core.review import Waiting

log = logging.getLogger(__name__)


class Installer:
    def __init__(
        self,
        gateway: Gateway,
        files: Files,
        describe: Describe,
        label: ReadLabel,
        secrets: ToolsetSecrets,
        sign_ins: Callable[[], SignIns],
    ) -> None:
        self._gateway = gateway
        self.files = files
        self._describe = describe
        self._label = label
        self.secrets = secrets
        self._sign_ins = sign_ins
        self.progress = InProgress()

    async def look(self, wanted: Wanted, by: PrincipalId, step: Step, *, describe: bool = False) -> Looked:
        """What importing would change. Only to `describe` its functions something of it is run, packages are installed
        for it and images are fetched. Raises `Unfit`, `FilesAway` and `Refused`."""
        async with self._staged(wanted, step) as staged:
            looked = await self._looked(wanted, by, staged, step, describe=describe)
        install = await self._agreed_to(wanted, looked)
        policy = apply(self._gateway.board.policy, install, by, self._gateway.clock())
        if isinstance(policy, Rejected):
            raise Refused(policy.why)
        return replace(looked, closed=self._closed(install, policy))

    async def bring(self, wanted: Wanted, by: PrincipalId, step: Step) -> Looked:
        """The toolset on the board, whole, or everything as it was. Raises `Unfit`, `FilesAway` and `Refused`."""
        async with self._staged(wanted, step) as staged:
            before = self._gateway.board.policy
            if wanted.version not in (None, before.version):
                raise Overtaken(before.version)
            self._check_version(wanted, staged.manifest)
            looked = await self._looked(wanted, by, staged, step, describe=True)
            step.tell("installing")
            # Whoever asked may leave; from here on it takes a moment, and half of it is worth nothing.
            with anyio.CancelScope(shield=True):
                looked = await self._swapped(wanted, by, staged, looked, before)
        return looked

    async def remove(
        self, toolset: ToolsetId, by: PrincipalId, *, keep_workspace: bool, version: int | None = None
    ) -> tuple[str, ...]:
        """Nothing of it is left; what could not be forgotten is told. Raises `Refused` and `FilesAway`."""
        policy = self._gateway.board.policy
        asked = secrets_asked(policy).get(toolset, ())
        servers = [key for key in policy.servers if isinstance(key, ServerKey) and key.toolset == toolset]
        with anyio.CancelScope(shield=True), ExitStack() as stack:
            await anyio.to_thread.run_sync(stack.enter_context, self.files.alone())
            await self._done(RemoveToolset(toolset), by, version)
            left = await self._forgotten(toolset, asked, servers)
            await self._tidied()
            if not keep_workspace:
                await anyio.to_thread.run_sync(self.files.forget_workspace, toolset)
        return left

    @asynccontextmanager
    async def _staged(self, wanted: Wanted, step: Step) -> AsyncIterator[Read]:
        stack = ExitStack()
        try:
            yield await anyio.to_thread.run_sync(self._read, wanted, step, stack)
        finally:
            # Many files take a while to remove, and nobody else should wait for that.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(stack.close)

    def _read(self, wanted: Wanted, step: Step, stack: ExitStack) -> Read:
        if wanted.link:
            if not wanted.source.is_dir():
                what = "only a folder can be linked: it is followed while you work in it. Leave --link away."
                raise Unfit((Problem(wanted.shown or str(wanted.source), 0, "", what),))
            return read_in_place(wanted.source, wanted.shown)
        sweep_staged(self.files)
        beside = stack.enter_context(self.files.staging())
        return stack.enter_context(read(wanted.source, beside, step.count, wanted.shown))

    def _check_version(self, wanted: Wanted, manifest: "Manifest") -> None:
        """Before anything is built or run for it."""
        there = self._gateway.board.policy.toolsets.get(manifest.id)
        if there is not None and not wanted.allow_downgrade and is_downgrade(there.version, manifest.version):
            told = told_downgrade(manifest.id, there.version, manifest.version)
            raise Refused(f"{told} To go back to it, say so: --allow-downgrade")

    async def _looked(self, wanted: Wanted, by: PrincipalId, staged: Read, step: Step, *, describe: bool) -> Looked:
        manifest = staged.manifest
        if wanted.digest not in (None, staged.digest):
            raise Refused(f"{manifest.id} changed since you looked at it. Look at the differences again.")
        policy = self._gateway.board.policy
        if (declared := policy.declared.toolsets.get(manifest.id)) is not None:
            raise Refused(
                f"Toolset {manifest.id!r} of {manifest.file} is declared at {declared.origin} already. "
                "Rename one of them: an id stands either in the file or in the store."
            )
        placed = await anyio.to_thread.run_sync(self._where_it_will_lie, wanted, staged)
        if describe:
            described = await self._described(staged, step)
            labelled, missing = await self._labelled(manifest, step)
        else:
            await anyio.to_thread.run_sync(_check_functions, staged)
            described, labelled = await anyio.to_thread.run_sync(as_written, manifest, staged.folder, policy)
            missing = ()
        origin = InstalledBy(by, self._gateway.clock())
        linked = str(wanted.source) if wanted.link else None
        brought = await anyio.to_thread.run_sync(brought_from, wanted, origin.at)
        install = built(replace(staged, manifest=placed), described, labelled, origin, linked=linked, brought=brought)
        reached = reached_with([secret.name for secret in manifest.secrets])
        changes = differences(self._moved(policy, placed), install, reached)
        poison = await anyio.to_thread.run_sync(poisoned_overrides, install.overrides)
        warnings = (*staged.warnings, *missing, *poison)
        looked = Looked(install, changes, (), warnings, pending(policy, install, changes))
        noted = await anyio.to_thread.run_sync(self._noted, install, changes)
        looked = replace(looked, notes={each.tool.id: each.findings for each in noted if each.findings})
        if not describe and manifest.tools:
            return replace(looked, modules=modules_of(manifest, staged.folder))
        # What nobody has seen yet is seen for the first time when it is imported.
        waits = changes.unread if ToolsetKey(manifest.id) in policy.decided.baselined else ()
        poisoned = {each.tool.id for each in noted if each.needs_reading}
        return replace(looked, waits=waits, alone=told_in_part(changes) | poisoned)

    def _noted(self, install: InstallToolset, changes: Differences) -> "tuple[Waiting, ...]":
        from pegboard.core.review import noted

        tools = [Tool(tool, install.specs[tool]) for tool in changes.unread]
        return noted(tools, self._gateway.board.catalogue.tools.values(), OverrideIndex(install.overrides))

    def _moved(self, policy: Policy, manifest: "Manifest") -> Policy:
        """As if what is there lay where the new files will: that the folder has another name is no difference."""
        own = policy.decided.servers.get(ToolsetKey(manifest.id))
        if own is None or not isinstance(own.connection, Own):
            return policy
        former = own.connection.linked or str(self.files.folder(manifest.id, own.connection.digest))
        servers = {
            key: _elsewhere(server, former, str(manifest.folder)) if key.toolset == manifest.id else server
            for key, server in policy.decided.servers.items()
        }
        return replace(policy, decided=replace(policy.decided, servers=servers))

    def _where_it_will_lie(self, wanted: Wanted, staged: Read) -> "Manifest":
        """The manifest again, with relative paths taken from the place that the files will have."""
        from pegboard.config.manifest import read_manifest
        from pegboard.config.settings import Broken

        folder = wanted.source if wanted.link else self.files.folder(staged.manifest.id, staged.digest)
        again = read_manifest((staged.folder / staged.manifest_name).read_bytes(), staged.manifest.file, folder)
        if isinstance(again, Broken):
            raise Unfit(again.problems)
        return again

    async def _described(self, staged: Read, step: Step) -> Sequence[Described]:
        manifest = staged.manifest
        if not manifest.tools:
            return ()
        await anyio.to_thread.run_sync(_check_functions, staged)
        step.tell("running its modules, to see what its tools are")
        try:
            entries = entries_of(manifest)
            return await self._describe(staged.folder, entries, manifest.requirements, step.tell, manifest.bounds)
        except CannotDescribe as error:
            raise Unfit(tuple(told_at(manifest, problem) for problem in error.problems)) from None

    async def _labelled(
        self, manifest: "Manifest", step: Step
    ) -> tuple[Mapping[str, tuple["CommandEntry", ...]], tuple[str, ...]]:
        """What labels tell, and which other images could not be fetched: a call would not fetch them."""
        from pegboard.config.manifest import Labelled, read_label
        from pegboard.config.settings import Broken

        found: dict[str, tuple[CommandEntry, ...]] = {}
        missing: list[str] = []
        for each in manifest.containers:
            step.tell(f"looking at the image {each.image.image}")
            is_labelled = isinstance(each.offers, Labelled)
            try:
                label = await self._label(each.image.image, step.tell)
            except CannotDescribe as error:
                problems = _about(manifest, each.line, each.id, error.problems)
                if is_labelled:
                    raise Unfit(problems) from None
                again = "Until it is here, what runs in it is down: mend that and import the toolset again."
                missing += [f"{problem} {again}" for problem in problems]
                continue
            if not is_labelled:
                continue
            if label is None:
                what = f"the image {each.image.image} has no label io.pegboard.tools. Declare mcp: true, or its tools."
                raise Unfit(_about(manifest, each.line, each.id, (what,)))
            entries = read_label(label, each.image.image)
            if isinstance(entries, Broken):
                raise Unfit(entries.problems)
            found[each.id] = entries
        return found, tuple(missing)

    async def _swapped(self, wanted: Wanted, by: PrincipalId, staged: Read, looked: Looked, before: Policy) -> Looked:
        toolset, specs = looked.install.toolset.id, looked.install.specs
        install = await self._agreed_to(wanted, looked)
        asked = {**secrets_asked(before), toolset: looked.own.secrets}
        # Known before anything of it starts: what needs a secret asks for it at once.
        await self.secrets.load({id: names for id, names in asked.items() if names})
        with ExitStack() as stack:
            await anyio.to_thread.run_sync(stack.enter_context, self.files.alone())
            await self._check_unmoved(toolset, before)
            if not wanted.link:
                await anyio.to_thread.run_sync(self.files.put, staged.folder, toolset, staged.files)
            try:
                await self._done(install, by, wanted.version)
            except Refused:
                await self._unplaced()
                raise
            await self._tidied()
        after = self._gateway.board.policy
        gone = [key for key in before.servers if key not in after.servers and key.toolset == toolset]
        unasked = {*secrets_asked(before).get(toolset, ())} - {*secrets_asked(after).get(toolset, ())}
        left = await self._forgotten(toolset, unasked, [key for key in gone if isinstance(key, ServerKey)])
        waits = tuple(tool for tool in looked.waits if tool not in install.approve)
        known = before.decided.approvals
        read = tuple(
            tool
            for tool in sorted(install.approve)
            if tool in looked.differences.reworded
            or tool not in known
            or known[tool].fingerprint != specs[tool].fingerprint
        )
        warnings = (*looked.warnings, *left)
        looked = replace(looked, install=install, waits=waits, warnings=warnings, approved=read)
        return replace(looked, closed=self._closed(install, after))

    async def _check_unmoved(self, toolset: ToolsetId, before: Policy) -> None:
        """Without a gateway, each process has a board of its own, which does not hear what others install."""
        if (away := await self._gateway.operator.catch_up()) is not None:
            raise StoreAway(away.why)
        if installed(self._gateway.board.policy, toolset) != installed(before, toolset):
            raise Refused(
                f"Toolset {toolset} was imported or removed by somebody else meanwhile. Nothing was changed. Look at "
                "the differences again."
            )

    async def _agreed_to(self, wanted: Wanted, looked: Looked) -> InstallToolset:
        """With what its own tools are approved by: somebody's word, or that they look sound at first sight."""
        key, others = ToolsetKey(looked.install.toolset.id), tuple(self._gateway.board.catalogue.tools.values())
        said = OverrideIndex(looked.install.overrides)
        seen = await anyio.to_thread.run_sync(sound, key, looked.install.specs, others, said)
        return replace(looked.install, approve=approved(wanted, looked), sound=frozenset(seen))

    def _closed(self, install: InstallToolset, policy: Policy) -> tuple[Closed, ...]:
        return closed(self._gateway.board.catalogue, policy, install, View(), self._gateway.clock())

    async def _tidied(self) -> None:
        await anyio.to_thread.run_sync(self.files.keep, digests(self._gateway.board.policy.decided))

    async def _unplaced(self) -> None:
        """What was put in its place for nothing goes. Another process may have installed something since the board
        was last loaded, and its files must stay; where that cannot be told, all do, until the next start."""
        try:
            await self._gateway.operator.reload()
        except Exception:  # whatever a store raises: the refusal is what is told
            log.exception("The store cannot be read, so files that nobody needs are left behind")
            return
        await self._tidied()

    async def _done(self, command: InstallToolset | RemoveToolset, by: PrincipalId, version: int | None) -> None:
        match await self._gateway.operator.do(command, by, expecting=version):
            case NotSaved(why):
                raise StoreAway(why)
            case Rejected(why):
                raise Refused(why)
            case Stale(current) if version is not None:
                raise Overtaken(current)
            case Stale(current):
                raise Refused(f"The policy is at version {current} now, and changes all the time. Try again.")
            case _:
                self._gateway.roster.follow(self._gateway.board.policy)

    async def keep_secret(self, toolset: ToolsetId, name: str, value: str, by: PrincipalId) -> None:
        """What uses it starts anew with it. Raises `SecretsAway`, and `ValueError` for a value that cannot be one."""
        if (why := self.secrets.why_not(value)) is not None:
            raise ValueError(why)
        await self.secrets.keep(toolset, name, value)
        await self._restarted(toolset, TurnSecret(toolset, name, is_set=True), by)

    async def forget_secret(self, toolset: ToolsetId, name: str, by: PrincipalId) -> None:
        """Raises `SecretsAway`."""
        await self.secrets.forget(toolset, name)
        await self._restarted(toolset, TurnSecret(toolset, name, is_set=False), by)

    async def _restarted(self, toolset: ToolsetId, turned: TurnSecret, by: PrincipalId) -> None:
        """Here at once, and in other processes when they hear of it. That it is kept is not undone where it is not
        heard: they read it when they start next."""
        await self._gateway.operator.do(turned, by)
        for key in self._gateway.board.policy.servers:
            if key.toolset == toolset:
                self._gateway.roster.restart(key)

    async def _forgotten(
        self, toolset: ToolsetId, secrets: Iterable[str], servers: Iterable[ServerKey]
    ) -> tuple[str, ...]:
        """What belonged to it elsewhere goes too. It is off the board already: what does not go is told."""
        left: list[str] = []
        for name in secrets:
            try:
                await self.secrets.forget(toolset, name)
            except SecretsAway as error:
                left.append(f"The secret {name} is still kept: {error}")
        for key in servers:
            with suppress(SecretsAway):
                await self._sign_ins().forget(key)
        return tuple(left)


def _check_functions(staged: Read) -> None:
    if problems := check_functions(staged.manifest, staged.folder):
        raise Unfit(problems)


def _elsewhere(server: Server, former: str, folder: str) -> Server:
    match server.connection:
        case Stdio(command, args, env, cwd):
            moved = Stdio(
                command.replace(former, folder),
                tuple(arg.replace(former, folder) for arg in args),
                env,
                None if cwd is None else cwd.replace(former, folder),
            )
            return replace(server, connection=moved)
        case _:
            return server


def _about(manifest: "Manifest", line: int, id: str, problems: Iterable[str]) -> tuple[Problem, ...]:
    return tuple(Problem(manifest.file, line, f"containers.{id}", problem) for problem in problems)
