"""Imports a toolset: staged, described, previewed, and installed by one command."""

import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from pegboard.config.schema.document import FileProblem
from pegboard.core.commands.commands import apply_command
from pegboard.core.commands.first_sight import clean_specs
from pegboard.core.commands.toolset_install import InstallToolset, RecordSecretChange, RemoveToolset
from pegboard.core.model.ids import PrincipalId, ServerKey, ToolsetId, ToolsetKey
from pegboard.core.model.rejection import CommandRejection
from pegboard.core.model.selection import View
from pegboard.core.model.server import InstalledBy, Server, Stdio
from pegboard.core.model.tool import OwnTools, Tool
from pegboard.core.model.toolset import ToolsetImport, ToolsetOrigin, describe_downgrade, is_downgrade
from pegboard.core.overrides.model import OverrideIndex
from pegboard.core.policy.policy import Policy
from pegboard.core.toolsets.preview import InstallDifferences, install_differences
from pegboard.core.toolsets.report import LockedPart, locked_after_install, partly_described_tools
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator, SaveFailure
from pegboard.gateway.providers import ProviderRegistry
from pegboard.gateway.toolsets.build import make_install_command, reach_describer
from pegboard.gateway.toolsets.files import ToolsetFiles, installed_digests, sweep_staged
from pegboard.gateway.toolsets.reader import (
    ImportConflictError,
    ImportPreview,
    ImportRefusedError,
    ImportRequest,
    InvalidToolsetError,
    StagedToolset,
    approved_ids,
    check_functions,
    describe_from_text,
    entries_of,
    installed_state,
    is_archive,
    modules_of,
    poisoned_overrides,
    problem_at,
    read_linked_toolset,
    stage_toolset,
    still_pending,
)
from pegboard.gateway.toolsets.secrets import ToolsetSecrets, requested_secrets
from pegboard.ports.audit import StoreUnavailable
from pegboard.ports.providers import Clock, DescribedTool, ReadLabel, SignIns, ToolDescriber, ToolDescriptionError
from pegboard.ports.stores import SecretsUnavailable, StaleVersion

if TYPE_CHECKING:
    from pegboard.config.manifest.model import CommandEntry, Manifest
    from pegboard.core.review.review import PendingApproval


# How far long work has come, for whoever asks while it goes on.

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_TRACKED: Final = 100


@dataclass
class ImportStep:
    """What is being done; of how many things how many are done, where they can be counted."""

    message: str = "reading the toolset"
    done_count: int = 0
    total: int = 0
    since: float = field(default_factory=time.monotonic)

    def count(self, done: int, total: int) -> None:
        self.message, self.done_count, self.total = "copying files", done, total

    def update(self, said: str) -> None:
        self.message, self.done_count, self.total = said, 0, 0


class ImportProgress:
    """Work by the names that those who asked for it gave it. What has ended is forgotten."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._steps: dict[str, ImportStep] = {}
        self._now = now

    @contextmanager
    def track(self, name: str | None) -> Iterator[ImportStep]:
        step = ImportStep(since=self._now())
        if name is None or name in self._steps or len(self._steps) >= _MAX_TRACKED:
            yield step
            return
        self._steps[name] = step
        try:
            yield step
        finally:
            del self._steps[name]

    def __getitem__(self, name: str) -> ImportStep | None:
        return self._steps.get(name)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


# Where a toolset comes from, for whoever wants to know later: the kind of source, its place and its commit.


def import_origin(wanted: ImportRequest, at: datetime) -> ToolsetImport:
    """Raises `OSError`. Of a checkout no remote is kept: its address may hold a password."""
    from pegboard.config.bundle.source import find_checkout
    from pegboard.config.bundle.staging_folder import MANIFESTS

    source = wanted.source
    if wanted.is_upload:
        return ToolsetImport(ToolsetOrigin.UPLOAD, at)
    if not source.is_dir():
        return ToolsetImport(ToolsetOrigin.ZIP if is_archive(source) else ToolsetOrigin.MANIFEST, at, str(source))
    checkout = find_checkout(source, MANIFESTS)
    if checkout is None:
        return ToolsetImport(ToolsetOrigin.FOLDER, at, str(source))
    return ToolsetImport(ToolsetOrigin.GIT, at, str(source), checkout.commit, checkout.is_dirty)


log = logging.getLogger(__name__)


class ToolsetInstaller:
    def __init__(
        self,
        board: BoardState,
        operator: Operator,
        providers: ProviderRegistry,
        clock: Clock,
        files: ToolsetFiles,
        describe: ToolDescriber,
        label: ReadLabel,
        secrets: ToolsetSecrets,
        sign_ins: Callable[[], SignIns],
    ) -> None:
        self._board = board
        self._operator = operator
        self._providers = providers
        self._clock = clock
        self.files = files
        self._describe = describe
        self._read_label = label
        self.secrets = secrets
        self._sign_ins = sign_ins
        self.progress = ImportProgress()

    async def preview(
        self, wanted: ImportRequest, by: PrincipalId, step: ImportStep, *, describe: bool = False
    ) -> ImportPreview:
        """What importing would change. Only to `describe` its functions something of it is run, packages are installed
        for it and images are fetched. Raises `InvalidToolsetError`, `FilesUnavailable` and `ImportRefusedError`."""
        async with self._stage(wanted, step) as staged:
            looked = await self._make_preview(wanted, by, staged, step, describe=describe)
        install = await self._approved_command(wanted, looked)
        policy = apply_command(self._board.policy, install, by, self._clock())
        if isinstance(policy, CommandRejection):
            raise ImportRefusedError(policy.why)
        return replace(looked, closed_tools=self._closed_tools(install, policy))

    async def import_toolset(self, wanted: ImportRequest, by: PrincipalId, step: ImportStep) -> ImportPreview:
        """The toolset on the board, whole, or everything as it was. Raises `InvalidToolsetError`, `FilesUnavailable`
        and `ImportRefusedError`."""
        async with self._stage(wanted, step) as staged:
            before = self._board.policy
            if wanted.version not in (None, before.version):
                raise ImportConflictError(before.version)
            self._check_version(wanted, staged.manifest)
            looked = await self._make_preview(wanted, by, staged, step, describe=True)
            step.update("installing")
            # Whoever asked may leave; from here on it takes a moment, and half of it is worth nothing.
            with anyio.CancelScope(shield=True):
                looked = await self._swap_in(wanted, by, staged, looked, before)
        return looked

    async def remove(
        self, toolset: ToolsetId, by: PrincipalId, *, keep_workspace: bool, version: int | None = None
    ) -> tuple[str, ...]:
        """Nothing of it is left; what could not be forgotten is told. Raises `ImportRefusedError` and
        `FilesUnavailable`."""
        policy = self._board.policy
        asked = requested_secrets(policy).get(toolset, ())
        servers = [key for key in policy.servers if isinstance(key, ServerKey) and key.toolset == toolset]
        with anyio.CancelScope(shield=True), ExitStack() as stack:
            await anyio.to_thread.run_sync(stack.enter_context, self.files.exclusive_lock())
            await self._execute(RemoveToolset(toolset), by, version)
            left = await self._delete_external(toolset, asked, servers)
            await self._delete_unused_files()
            if not keep_workspace:
                await anyio.to_thread.run_sync(self.files.delete_workspace, toolset)
        return left

    @asynccontextmanager
    async def _stage(self, wanted: ImportRequest, step: ImportStep) -> AsyncIterator[StagedToolset]:
        stack = ExitStack()
        try:
            yield await anyio.to_thread.run_sync(self._unpack, wanted, step, stack)
        finally:
            # Many files take a while to remove, and nobody else should wait for that.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(stack.close)

    def _unpack(self, wanted: ImportRequest, step: ImportStep, stack: ExitStack) -> StagedToolset:
        if wanted.link:
            if not wanted.source.is_dir():
                what = "only a folder can be linked: it is followed while you work in it. Leave --link away."
                raise InvalidToolsetError((FileProblem(wanted.display_path or str(wanted.source), 0, "", what),))
            return read_linked_toolset(wanted.source, wanted.display_path)
        sweep_staged(self.files)
        beside = stack.enter_context(self.files.stage())
        return stack.enter_context(stage_toolset(wanted.source, beside, step.count, wanted.display_path))

    def _check_version(self, wanted: ImportRequest, manifest: "Manifest") -> None:
        """Before anything is built or run for it."""
        there = self._board.policy.toolsets.get(manifest.id)
        if there is not None and not wanted.allow_downgrade and is_downgrade(there.version, manifest.version):
            told = describe_downgrade(manifest.id, there.version, manifest.version)
            raise ImportRefusedError(f"{told} To go back to it, say so: --allow-downgrade")

    async def _make_preview(
        self, wanted: ImportRequest, by: PrincipalId, staged: StagedToolset, step: ImportStep, *, describe: bool
    ) -> ImportPreview:
        manifest = staged.manifest
        if wanted.digest not in (None, staged.digest):
            raise ImportRefusedError(f"{manifest.id} changed since you looked at it. Look at the differences again.")
        policy = self._board.policy
        if (declared := policy.declared.toolsets.get(manifest.id)) is not None:
            raise ImportRefusedError(
                f"Toolset {manifest.id!r} of {manifest.file} is declared at {declared.origin} already. "
                "Rename one of them: an id stands either in the file or in the store."
            )
        placed = await anyio.to_thread.run_sync(self._manifest_at_destination, wanted, staged)
        if describe:
            described = await self._describe_tools(staged, step)
            labelled, missing = await self._read_labels(manifest, step)
        else:
            await anyio.to_thread.run_sync(_check_functions, staged)
            described, labelled = await anyio.to_thread.run_sync(describe_from_text, manifest, staged.folder, policy)
            missing = ()
        origin = InstalledBy(by, self._clock())
        linked = str(wanted.source) if wanted.link else None
        brought = await anyio.to_thread.run_sync(import_origin, wanted, origin.at)
        install = make_install_command(
            replace(staged, manifest=placed), described, labelled, origin, linked=linked, brought=brought
        )
        reached = reach_describer([secret.name for secret in manifest.secrets])
        changes = install_differences(self._policy_with_new_paths(policy, placed), install, reached)
        poison = await anyio.to_thread.run_sync(poisoned_overrides, install.overrides)
        warnings = (*staged.warnings, *missing, *poison)
        looked = ImportPreview(install, changes, (), warnings, still_pending(policy, install, changes))
        noted = await anyio.to_thread.run_sync(self._review_notes, install, changes)
        looked = replace(looked, notes={each.tool.id: each.findings for each in noted if each.findings})
        if not describe and manifest.tools:
            return replace(looked, modules=modules_of(manifest, staged.folder))
        # What nobody has seen yet is seen for the first time when it is imported.
        waits = changes.reviewed_tools if ToolsetKey(manifest.id) in policy.decisions.first_seen else ()
        poisoned = {each.tool.id for each in noted if each.needs_own_review}
        return replace(looked, waiting_tools=waits, needs_own_review=partly_described_tools(changes) | poisoned)

    def _review_notes(self, install: InstallToolset, changes: InstallDifferences) -> "tuple[PendingApproval, ...]":
        from pegboard.core.review.review import preview_approvals

        tools = [Tool(tool, install.specs[tool]) for tool in changes.reviewed_tools]
        return preview_approvals(tools, self._board.catalogue.tools.values(), OverrideIndex(install.overrides))

    def _policy_with_new_paths(self, policy: Policy, manifest: "Manifest") -> Policy:
        """As if what is there lay where the new files will: that the folder has another name is no difference."""
        own = policy.decisions.servers.get(ToolsetKey(manifest.id))
        if own is None or not isinstance(own.connection, OwnTools):
            return policy
        former = own.connection.linked or str(self.files.folder(manifest.id, own.connection.digest))
        servers = {
            key: _moved_server(server, former, str(manifest.folder)) if key.toolset == manifest.id else server
            for key, server in policy.decisions.servers.items()
        }
        return replace(policy, decisions=replace(policy.decisions, servers=servers))

    def _manifest_at_destination(self, wanted: ImportRequest, staged: StagedToolset) -> "Manifest":
        """The manifest again, with relative paths taken from the place that the files will have."""
        from pegboard.config.manifest.reader import read_manifest
        from pegboard.config.settings import InvalidFile

        folder = wanted.source if wanted.link else self.files.folder(staged.manifest.id, staged.digest)
        again = read_manifest((staged.folder / staged.manifest_name).read_bytes(), staged.manifest.file, folder)
        if isinstance(again, InvalidFile):
            raise InvalidToolsetError(again.problems)
        return again

    async def _describe_tools(self, staged: StagedToolset, step: ImportStep) -> Sequence[DescribedTool]:
        manifest = staged.manifest
        if not manifest.tools:
            return ()
        await anyio.to_thread.run_sync(_check_functions, staged)
        step.update("running its modules, to see what its tools are")
        try:
            entries = entries_of(manifest)
            return await self._describe(staged.folder, entries, manifest.requirements, step.update, manifest.bounds)
        except ToolDescriptionError as error:
            raise InvalidToolsetError(tuple(problem_at(manifest, problem) for problem in error.problems)) from None

    async def _read_labels(
        self, manifest: "Manifest", step: ImportStep
    ) -> tuple[Mapping[str, tuple["CommandEntry", ...]], tuple[str, ...]]:
        """What labels tell, and which other images could not be fetched: a call would not fetch them."""
        from pegboard.config.manifest.model import ToolsFromLabel
        from pegboard.config.manifest.reader import read_label
        from pegboard.config.settings import InvalidFile

        found: dict[str, tuple[CommandEntry, ...]] = {}
        missing: list[str] = []
        for each in manifest.containers:
            step.update(f"looking at the image {each.image.image}")
            is_labelled = isinstance(each.offers, ToolsFromLabel)
            try:
                label = await self._read_label(each.image.image, step.update)
            except ToolDescriptionError as error:
                problems = _container_problems(manifest, each.line, each.id, error.problems)
                if is_labelled:
                    raise InvalidToolsetError(problems) from None
                again = "Until it is here, what runs in it is down: mend that and import the toolset again."
                missing += [f"{problem} {again}" for problem in problems]
                continue
            if not is_labelled:
                continue
            if label is None:
                what = f"the image {each.image.image} has no label io.pegboard.tools. Declare mcp: true, or its tools."
                raise InvalidToolsetError(_container_problems(manifest, each.line, each.id, (what,)))
            entries = read_label(label, each.image.image)
            if isinstance(entries, InvalidFile):
                raise InvalidToolsetError(entries.problems)
            found[each.id] = entries
        return found, tuple(missing)

    async def _swap_in(
        self, wanted: ImportRequest, by: PrincipalId, staged: StagedToolset, looked: ImportPreview, before: Policy
    ) -> ImportPreview:
        toolset, specs = looked.install.toolset.id, looked.install.specs
        install = await self._approved_command(wanted, looked)
        asked = {**requested_secrets(before), toolset: looked.own.secrets}
        # Known before anything of it starts: what needs a secret asks for it at once.
        await self.secrets.load({id: names for id, names in asked.items() if names})
        with ExitStack() as stack:
            await anyio.to_thread.run_sync(stack.enter_context, self.files.exclusive_lock())
            await self._check_unmoved(toolset, before)
            if not wanted.link:
                await anyio.to_thread.run_sync(self.files.place, staged.folder, toolset, staged.files)
            try:
                await self._execute(install, by, wanted.version)
            except ImportRefusedError:
                await self._undo_placement()
                raise
            await self._delete_unused_files()
        after = self._board.policy
        gone = [key for key in before.servers if key not in after.servers and key.toolset == toolset]
        unasked = {*requested_secrets(before).get(toolset, ())} - {*requested_secrets(after).get(toolset, ())}
        left = await self._delete_external(toolset, unasked, [key for key in gone if isinstance(key, ServerKey)])
        waits = tuple(tool for tool in looked.waiting_tools if tool not in install.approve)
        known = before.decisions.approvals
        read = tuple(
            tool
            for tool in sorted(install.approve)
            if tool in looked.differences.reworded_tools
            or tool not in known
            or known[tool].fingerprint != specs[tool].fingerprint
        )
        warnings = (*looked.warnings, *left)
        looked = replace(looked, install=install, waiting_tools=waits, warnings=warnings, approved_tools=read)
        return replace(looked, closed_tools=self._closed_tools(install, after))

    async def _check_unmoved(self, toolset: ToolsetId, before: Policy) -> None:
        """Without a gateway, each process has a board of its own, which does not hear what others install."""
        if (away := await self._operator.catch_up()) is not None:
            raise StoreUnavailable(away.why)
        if installed_state(self._board.policy, toolset) != installed_state(before, toolset):
            raise ImportRefusedError(
                f"Toolset {toolset} was imported or removed by somebody else meanwhile. Nothing was changed. Look at "
                "the differences again."
            )

    async def _approved_command(self, wanted: ImportRequest, looked: ImportPreview) -> InstallToolset:
        """With what its own tools are approved by: somebody's word, or that they look sound at first sight."""
        key, others = ToolsetKey(looked.install.toolset.id), tuple(self._board.catalogue.tools.values())
        said = OverrideIndex(looked.install.overrides)
        seen = await anyio.to_thread.run_sync(clean_specs, key, looked.install.specs, others, said)
        return replace(looked.install, approve=approved_ids(wanted, looked), clean_tools=frozenset(seen))

    def _closed_tools(self, install: InstallToolset, policy: Policy) -> tuple[LockedPart, ...]:
        return locked_after_install(self._board.catalogue, policy, install, View(), self._clock())

    async def _delete_unused_files(self) -> None:
        await anyio.to_thread.run_sync(self.files.delete_all_except, installed_digests(self._board.policy.decisions))

    async def _undo_placement(self) -> None:
        """What was put in its place for nothing goes. Another process may have installed something since the board
        was last loaded, and its files must stay; where that cannot be told, all do, until the next start."""
        try:
            await self._operator.reload()
        except Exception:  # whatever a store raises: the refusal is what is told
            log.exception("The store cannot be read, so files that nobody needs are left behind")
            return
        await self._delete_unused_files()

    async def _execute(self, command: InstallToolset | RemoveToolset, by: PrincipalId, version: int | None) -> None:
        match await self._operator.execute(command, by, expecting=version):
            case SaveFailure(why):
                raise StoreUnavailable(why)
            case CommandRejection(why):
                raise ImportRefusedError(why)
            case StaleVersion(current) if version is not None:
                raise ImportConflictError(current)
            case StaleVersion(current):
                raise ImportRefusedError(
                    f"The policy is at version {current} now, and changes all the time. Try again."
                )
            case Policy():
                return

    async def save_secret(self, toolset: ToolsetId, name: str, value: str, by: PrincipalId) -> None:
        """What uses it starts anew with it. Raises `SecretsUnavailable`, and `ValueError` for a value that cannot be
        one."""
        if (why := self.secrets.invalid_reason(value)) is not None:
            raise ValueError(why)
        await self.secrets.save(toolset, name, value)
        await self._restart_users(toolset, RecordSecretChange(toolset, name, is_set=True), by)

    async def delete_secret(self, toolset: ToolsetId, name: str, by: PrincipalId) -> None:
        """Raises `SecretsUnavailable`."""
        await self.secrets.delete(toolset, name)
        await self._restart_users(toolset, RecordSecretChange(toolset, name, is_set=False), by)

    async def _restart_users(self, toolset: ToolsetId, turned: RecordSecretChange, by: PrincipalId) -> None:
        """Here at once, and in other processes when they hear of it. That it is kept is not undone where it is not
        heard: they read it when they start next."""
        await self._operator.execute(turned, by)
        for key in self._board.policy.servers:
            if key.toolset == toolset:
                self._providers.restart(key)

    async def _delete_external(
        self, toolset: ToolsetId, secrets: Iterable[str], servers: Iterable[ServerKey]
    ) -> tuple[str, ...]:
        """What belonged to it elsewhere goes too. It is off the board already: what does not go is told."""
        left: list[str] = []
        for name in secrets:
            try:
                await self.secrets.delete(toolset, name)
            except SecretsUnavailable as error:
                left.append(f"The secret {name} is still kept: {error}")
        for key in servers:
            with suppress(SecretsUnavailable):
                await self._sign_ins().sign_out(key)
        return tuple(left)


def _check_functions(staged: StagedToolset) -> None:
    if problems := check_functions(staged.manifest, staged.folder):
        raise InvalidToolsetError(problems)


def _moved_server(server: Server, former: str, folder: str) -> Server:
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


def _container_problems(manifest: "Manifest", line: int, id: str, problems: Iterable[str]) -> tuple[FileProblem, ...]:
    return tuple(FileProblem(manifest.file, line, f"containers.{id}", problem) for problem in problems)
