"""Reads and checks a toolset from a folder or archive. Runs none of its code."""

import ast
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pegboard.config.paths import FOLDER_MODE, make_private_folder
from pegboard.config.schema.document import FileProblem
from pegboard.core.commands.toolset_install import InstallToolset
from pegboard.core.json.values import Json
from pegboard.core.model.ids import ServerKey, ToolId, ToolsetId, ToolsetKey
from pegboard.core.model.patterns import Pattern
from pegboard.core.model.python_text import parse_module
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import Trust
from pegboard.core.model.text import quote_name
from pegboard.core.model.tool import Fingerprint, OwnTools, ToolSpec
from pegboard.core.overrides.model import Override, OverrideIndex, override_texts
from pegboard.core.policy.policy import Policy
from pegboard.core.toolsets.preview import InstallDifferences
from pegboard.core.toolsets.report import LockedPart
from pegboard.gateway.toolsets.files import FileFacts, FilesUnavailable, content_digest, file_facts
from pegboard.ports.providers import DescribedTool, FunctionEntry, ManifestEntries, ToolDescriptionError, ignore

if TYPE_CHECKING:
    from pegboard.config.bundle.source import IgnoredFiles
    from pegboard.config.bundle.staging_folder import StagedBundle
    from pegboard.config.manifest.model import CommandEntry, Manifest, ToolEntry
    from pegboard.core.scan.findings import ScanFinding


# The functions that a manifest names, looked for in the text of their modules: nothing is run to find them.

_PROBLEM_WITH_PLACE: Final = re.compile(r"([^\s:]+):(\d+): (.+)", re.DOTALL)


def check_functions(manifest: "Manifest", folder: Path) -> tuple[FileProblem, ...]:
    """What is known to be wrong without running anything: text that is no Python, and functions that are not there."""
    files = {entry.module_files: None for entry in manifest.tools}
    found = {names: _top_names(folder, names) for names in files}
    problems = [relative_problem(manifest, each) for each in found.values() if isinstance(each, FileProblem)]
    for place, entry in enumerate(manifest.tools):
        names = found[entry.module_files]
        function = entry.entrypoint.partition(":")[2].partition(".")[0]
        if names is None or isinstance(names, FileProblem) or function in names:
            continue
        near = closest_names(function, names)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else " Write it, or correct the name."
        what = f"there is no function {function!r} in {_file(folder, entry.module_files)}.{hint}"
        problems.append(FileProblem(manifest.file, entry.line, f"tools[{place}].entrypoint", what))
    return tuple(problems)


def problem_at(manifest: "Manifest", problem: str) -> FileProblem:
    """What a worker has against the toolset's files, with the place that it tells, if it tells one."""
    if (placed := _PROBLEM_WITH_PLACE.fullmatch(problem)) is not None:
        return relative_problem(manifest, FileProblem(placed[1], int(placed[2]), "", placed[3]))
    return FileProblem(manifest.file, 0, "", problem.removeprefix("toolset.yaml: "))


def relative_problem(manifest: "Manifest", problem: FileProblem) -> FileProblem:
    """A problem of one of the toolset's files, by the name that a person knows: from the folder that they named."""
    root = manifest.file.rpartition("/")[0]
    return replace(problem, file=f"{root}/{problem.file}") if root else problem


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function as its text has it. What its module makes of it when it runs may be something else."""

    description: str
    parameters: tuple[str, ...]
    requires_confirmation: bool | None = None


def read_function_text(folder: Path, names: tuple[str, str], function: str) -> FunctionText | None:
    """`None` where the text does not tell: the function is made elsewhere, or by running something."""
    from pegboard.tools.metadata import parse_docstring

    try:
        body = parse_module((folder / _file(folder, names)).read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    found = [each for each in body if isinstance(each, kinds) and each.name == function]
    if len(found) != 1:
        return None
    (each,) = found
    said = _decorator_options(each.decorator_list)
    described, confirms = said.get("description"), said.get("requires_confirmation")
    description = (
        described if isinstance(described, str) else parse_docstring(ast.get_docstring(each) or "").description
    )
    taken = (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)
    return FunctionText(
        description,
        tuple(one.arg for one in taken if not _is_context(one.annotation)),
        confirms if isinstance(confirms, bool) else None,
    )


def _decorator_options(decorators: Iterable[ast.expr]) -> dict[str | None, object]:
    """What `@tool(description="…", requires_confirmation=True)` says of it, as far as it is written out."""
    marks = [mark for mark in decorators if isinstance(mark, ast.Call)]
    return {
        word.arg: word.value.value for mark in marks for word in mark.keywords if isinstance(word.value, ast.Constant)
    }


def _is_context(annotation: ast.expr | None) -> bool:
    return annotation is not None and "ToolContext" in ast.unparse(annotation)


def _file(folder: Path, names: tuple[str, str]) -> str:
    return next((name for name in names if (folder / name).is_file()), names[0])


def _top_names(folder: Path, names: tuple[str, str]) -> frozenset[str] | FileProblem | None:
    """The names that a module gives itself; `None` where only running it could tell."""
    file = _file(folder, names)
    try:
        tree = parse_module((folder / file).read_bytes())
    except SyntaxError as error:
        return FileProblem(file, error.lineno or 0, "", f"this is no Python: {error.msg}.")
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    given = frozenset(_assigned_names(tree.body))
    return None if "*" in given or "__getattr__" in given else given


def _assigned_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.Import(names) | ast.ImportFrom(names=names):
                yield from ((each.asname or each.name).partition(".")[0] for each in names)
            case ast.Assign(targets):
                yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            case ast.AnnAssign(target=ast.Name(id)):
                yield id
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                # Whichever way it goes, these are names that the module may have.
                inner = [node for node in ast.walk(statement) if isinstance(node, ast.stmt) and node is not statement]
                yield from _assigned_names(inner)
            case _:
                pass


MAX_MANIFEST_BYTES: Final = 2_000_000
"""Of a manifest."""
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_YAML: Final = (".yaml", ".yml")
_MAX_NAMED: Final = 5

FileProgress = Callable[[int, int], None]
"""Files done, of how many."""


class InvalidToolsetError(Exception):
    """It cannot be brought onto a board as it is: all that speaks against it."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True)
class StagedToolset:
    """Laid out in `folder`, and sound as far as one can see without running any of it."""

    folder: Path
    manifest: "Manifest"
    manifest_name: str
    files: "Mapping[str, FileFacts]"
    left_out: tuple[str, ...] = ()
    """Files that usually hold secrets: they are not imported."""
    ignored: "IgnoredFiles | None" = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is passed over, and what may not be meant."""
        told = (
            f"{quote_name(name)} is left out: files of this name usually hold secrets. What your tools need, name "
            "under "
            "secrets."
            for name in self.left_out
        )
        return (*map(str, self.manifest.warnings), *told, *_ignored_file_warnings(self.ignored))

    @property
    def digest(self) -> str:
        return content_digest(self.files)


@contextmanager
def stage_toolset(
    source: Path, beside: Path, done: FileProgress = ignore, shown: str | None = None
) -> Iterator[StagedToolset]:
    """From a folder, a ZIP archive or a manifest alone, in a folder in `beside` that is gone at the end unless it was
    moved away. `shown` is how the person named it. Raises `InvalidToolsetError` and `FilesUnavailable`."""
    from pegboard.config.bundle.staging_folder import BadBundleError

    name = str(source) if shown is None else shown
    try:
        with _stage_source(source, beside, done) as staged:
            yield StagedToolset(
                staged.folder,
                _manifest(staged, name, source, functions=True),
                staged.manifest.name,
                file_facts(staged.folder, staged.files),
                staged.withheld_files,
                staged.ignored,
            )
    except BadBundleError as error:
        raise InvalidToolsetError(error.problems) from None
    except OSError as error:
        raise FilesUnavailable(
            f"{name} cannot be brought in: {error.strerror or error}. Nothing was changed."
        ) from None


def read_linked_toolset(folder: Path, shown: str | None = None) -> StagedToolset:
    """A folder that stays where it is, because its author goes on working in it. Raises `InvalidToolsetError` and
    `FilesUnavailable`."""
    from pegboard.config.bundle.staging_folder import BadBundleError, inspect_in_place

    name = str(folder) if shown is None else shown
    try:
        staged = inspect_in_place(folder)
        return StagedToolset(
            folder,
            _manifest(staged, name, folder),
            staged.manifest.name,
            file_facts(staged.folder, staged.files),
            staged.withheld_files,
            staged.ignored,
        )
    except BadBundleError as error:
        raise InvalidToolsetError(error.problems) from None
    except OSError as error:
        raise FilesUnavailable(f"{name} cannot be read: {error.strerror or error}. Nothing was changed.") from None


def entries_of(manifest: "Manifest") -> tuple[FunctionEntry, ...]:
    return tuple(FunctionEntry(each.id, each.entrypoint, each.name, each.description) for each in manifest.tools)


def _manifest(staged: "StagedBundle", shown: str, source: Path, *, functions: bool = False) -> "Manifest":
    """Sound by itself and with its files; with `functions`, those that it names are looked for as well."""
    from pegboard.config.bundle.archive import path_problem
    from pegboard.config.manifest.reader import check_files, read_manifest
    from pegboard.config.paths import read_bytes
    from pegboard.config.settings import InvalidFile

    # A manifest alone is told by the name that the person knows; in anything else it is a file of it.
    file = f"{shown.rstrip('/')}/{staged.manifest.name}" if source.is_dir() or not _is_yaml(source) else shown
    content = read_bytes(staged.manifest, MAX_MANIFEST_BYTES, file)
    if isinstance(content, FileProblem):
        raise InvalidToolsetError((content,))
    manifest = read_manifest(content, file, staged.folder)
    if isinstance(manifest, InvalidFile):
        raise InvalidToolsetError(manifest.problems)
    # A folder is called after it.
    named = path_problem(manifest.id, 1)
    about_id = () if named is None else (FileProblem(file, 0, "id", named),)
    about_functions = check_functions(manifest, staged.folder) if functions else ()
    if problems := (*about_id, *check_files(manifest, staged.files), *about_functions):
        # What is missing may be what was not taken along.
        told = [
            FileProblem(file, 0, "", each)
            for each in (*_ignored_file_warnings(staged.ignored), *_files_beside_manifest(manifest, source, shown))
        ]
        raise InvalidToolsetError((*problems, *told))
    return manifest


def _files_beside_manifest(manifest: "Manifest", source: Path, shown: str) -> Iterator[str]:
    """What is missing may be there, where only the manifest was named."""
    if not _is_yaml(source) or not source.is_file():
        return
    if any((source.parent / name).is_file() for entry in manifest.tools for name in entry.module_files):
        folder = quote_name(str(Path(shown).parent))
        yield f"a manifest alone brings no files, and there are some beside it. Name the folder instead: {folder}"


def _ignored_file_warnings(ignored: "IgnoredFiles | None") -> Iterator[str]:
    """What of a checkout stays behind, or why that is not known."""
    from pegboard.config.bundle.staging_folder import SKIPPED_NAMES

    if ignored is None:
        return
    if ignored.failure:
        yield f"Git cannot be asked what it ignores here, so that is imported too: {quote_name(ignored.failure)}."
    # Nobody misses what is left out of every folder.
    missed = sorted(name for name in ignored.names if SKIPPED_NAMES.isdisjoint(name.split("/")))
    if missed:
        more = f" and {len(missed) - _MAX_NAMED:,} more" if len(missed) > _MAX_NAMED else ""
        are, them = ("is", "it") if len(missed) == 1 else ("are", "them")
        yield f"{', '.join(map(quote_name, missed[:_MAX_NAMED]))}{more} {are} left out: Git ignores {them}."


def _stage_source(source: Path, beside: Path, done: FileProgress) -> "AbstractContextManager[StagedBundle]":
    from pegboard.config.bundle.staging_folder import stage_archive, stage_folder

    if source.is_dir():
        return stage_folder(source, beside, progress=done)
    if is_archive(source):
        return stage_archive(source, beside, progress=done)
    if not _is_yaml(source):
        what = "it is neither a folder nor a ZIP archive nor a toolset.yaml. Name one of these."
        raise InvalidToolsetError((FileProblem(source.name, 0, "", what),))
    return _stage_manifest_alone(source, beside, done)


@contextmanager
def _stage_manifest_alone(source: Path, beside: Path, done: FileProgress) -> "Iterator[StagedBundle]":
    from pegboard.config.bundle.staging_folder import stage_folder

    make_private_folder(beside)
    outer = Path(tempfile.mkdtemp(prefix="staging-", dir=beside))
    try:
        folder = outer / "alone"
        folder.mkdir(mode=FOLDER_MODE)
        shutil.copyfile(source, folder / "toolset.yaml")
        with stage_folder(folder, beside, progress=done) as staged:
            yield staged
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def is_archive(source: Path) -> bool:
    """Raises `OSError`."""
    with source.open("rb") as file:
        return file.read(4) in _ZIP


def _is_yaml(source: Path) -> bool:
    return source.suffix.lower() in _YAML


# A toolset of which nothing was run: what its functions say is read from their text as far as that tells, and else
# taken to be as before.


def describe_from_text(
    manifest: "Manifest", folder: Path, policy: Policy
) -> tuple[Sequence[DescribedTool], Mapping[str, tuple["CommandEntry", ...]]]:
    """In the place of what describing gives: its functions, and the commands that labels of its images tell of."""
    from pegboard.config.manifest.model import CommandEntry, ToolsFromLabel

    key = ToolsetKey(manifest.id)
    server = policy.decisions.servers.get(key)
    own = server.connection if server is not None and isinstance(server.connection, OwnTools) else OwnTools("")
    said = OverrideIndex(policy.decisions.manifest_overrides)
    specs = {tool.spec.name: tool.spec for tool in own.python}

    def confirms(name: str) -> bool | None:
        return said.for_tool(ToolId(key, name)).requires_confirmation

    texts = {each.id: read_function_text(folder, each.module_files, _function(each)) for each in manifest.tools}
    described = [
        # Where its text does not tell, it is taken to ask for no more and no less than before.
        DescribedTool(_spec(each, text, specs), confirms(each.id) if text is None else text.requires_confirmation)
        for each in manifest.tools
        for text in (texts[each.id],)
    ]
    labelled = {
        each.id: tuple(
            CommandEntry(
                tool.spec.name,
                tool.command,
                tool.spec.description,
                tool.spec.title,
                {**tool.spec.input_schema},
                None if tool.spec.output_schema is None else {**tool.spec.output_schema},
                tool.seconds,
                confirms(tool.spec.name),
            )
            for tool in own.commands
            if tool.container == each.id
        )
        for each in manifest.containers
        if isinstance(each.offers, ToolsFromLabel)
    }
    return described, labelled


def _spec(entry: "ToolEntry", text: FunctionText | None, known: Mapping[str, ToolSpec]) -> ToolSpec:
    said = entry.description or (None if text is None else text.description)
    former = known.get(entry.id)
    if former is not None:
        return former if said is None or said == former.description else replace(former, description=said)
    taken: dict[str, Json] = {} if text is None else {name: {} for name in text.parameters}
    return ToolSpec(entry.id, entry.name, said or "", {"type": "object", "properties": taken})


def _function(entry: "ToolEntry") -> str:
    return entry.entrypoint.partition(":")[2]


def modules_of(manifest: "Manifest", folder: Path) -> tuple[str, ...]:
    """The files that would be run to see what its functions are."""
    found = (
        next((name for name in each.module_files if (folder / name).is_file()), each.module_files[0])
        for each in manifest.tools
    )
    return tuple(dict.fromkeys(found))


# What a person wants on the board, and what came of looking at it: what it changes, what waits, what is not open.


@dataclass(frozen=True)
class ImportRequest:
    """What a person wants on the board, and what they have agreed to."""

    source: Path
    """A folder, a ZIP archive or a toolset.yaml."""
    display_path: str | None = None
    """How the person named it, if not by this path."""
    is_upload: bool = False
    """Whether it came over the wire: the path is of no interest then."""
    link: bool = False
    """Run it from the folder itself, and follow what its author changes there."""
    allow_downgrade: bool = False
    digest: str | None = None
    """The content that was looked at before; any other is refused."""
    reviewed: Mapping[str, Fingerprint] = field(default_factory=dict[str, Fingerprint])
    """Tools that were read, by their ids: they are approved as they were read."""
    approve_all: bool = False
    """The differences were read, all of them: what they tell of is approved."""
    version: int | None = None
    """Of the policy that was looked at; on any other nothing is done."""


@dataclass(frozen=True)
class ImportPreview:
    """What would be installed, and what that would change."""

    install: InstallToolset
    differences: InstallDifferences
    waiting_tools: tuple[ToolId, ...]
    """Tools of its own that a person has not read as they are: they are locked until one has."""
    warnings: tuple[str, ...]
    pending_tools: tuple[ToolId, ...] = ()
    """Tools of its own that are as they were, and have waited since before."""
    approved_tools: tuple[ToolId, ...] = ()
    """Tools that were approved with this import because somebody said so."""
    closed_tools: tuple[LockedPart, ...] = ()
    """What of it is not open, or would not be."""
    notes: Mapping[ToolId, tuple["ScanFinding", ...]] = field(default_factory=dict[ToolId, tuple["ScanFinding", ...]])
    """What the scanner says of its own tools that are new or changed."""
    needs_own_review: frozenset[ToolId] = frozenset()
    """Those that have to be read by themselves: something speaks against them, or not all of their words are told."""
    modules: tuple[str, ...] = ()
    """What was not run, so that it is not known what its functions are; empty once they were described."""

    def unconfirmed_servers(self, policy: Policy) -> tuple[ServerKey, ...]:
        """Servers whose calls run without a person's yes, because neither its manifest nor the settings say a word."""
        if policy.declared.confirm_manifest_servers is not None:
            return ()
        said = {row.target for row in self.install.overrides if row.requires_confirmation is not None}
        servers = (server.key for server in self.install.servers if isinstance(server.key, ServerKey))
        return tuple(key for key in servers if Pattern(str(key), "*") not in said)

    @property
    def own(self) -> OwnTools:
        own = self.install.own
        assert own is not None
        return own


class ImportRefusedError(Exception):
    """It is sound, and not installed all the same: the message says why, and what to do."""


class ImportConflictError(ImportRefusedError):
    """Somebody decided something else since the policy was looked at."""

    def __init__(self, current_version: int) -> None:
        super().__init__(f"The policy is at version {current_version} now. Look at it again before you decide.")
        self.current_version = current_version


def approved_ids(wanted: ImportRequest, looked: ImportPreview) -> frozenset[ToolId]:
    """Those that were read, as they were read. Raises `ImportRefusedError` for what is not what was read."""
    ids = {ToolId(ToolsetKey(looked.install.toolset.id), spec.name): spec for spec in looked.own.specs}
    if wanted.approve_all:
        # What has waited since before is in none of the differences that were read.
        return frozenset(looked.differences.reviewed_tools) - looked.needs_own_review
    named = {str(id): id for id in ids}
    for text, fingerprint in wanted.reviewed.items():
        if text not in named:
            raise ImportRefusedError(
                f"{text} is no tool that {looked.install.toolset.id} brings itself. Nothing was changed."
            )
        if ids[named[text]].fingerprint != fingerprint:
            raise ImportRefusedError(
                f"{text} is not what you read. Nothing was changed. Look at the differences again."
            )
    return frozenset(named[text] for text in wanted.reviewed)


def installed_state(policy: Policy, toolset: ToolsetId) -> object:
    """What of a toolset an import would replace: equal as long as nobody else has imported or removed it."""
    own = policy.decisions.servers.get(ToolsetKey(toolset))
    return policy.decisions.toolsets.get(toolset), None if own is None else own.connection


def still_pending(policy: Policy, install: InstallToolset, changes: InstallDifferences) -> tuple[ToolId, ...]:
    key, decided = ToolsetKey(install.toolset.id), policy.decisions
    if key not in policy.servers or decided.trust.get(key, policy.servers[key].trust) is Trust.OPEN:
        return ()
    told = {*changes.reviewed_tools}
    held = {tool: given.fingerprint for tool, given in decided.approvals.items()}
    return tuple(
        tool
        for tool, spec in sorted(install.specs.items(), key=lambda each: each[0])
        if key in decided.first_seen and tool not in told and held.get(tool) != spec.fingerprint
    )


def poisoned_overrides(rows: Iterable[Override]) -> tuple[str, ...]:
    """What an override has models read is the manifest's word for tools whose own words may be sound."""
    from pegboard.core.scan.findings import is_poisoned
    from pegboard.core.scan.scanner import scan_tool

    found = ((row, scan_tool(override_texts(row))) for row in rows)
    return tuple(
        f"The override of {quote_name(row.target)} says what no ordinary tool says: {findings[0].sentence} "
        f"The tools that it fits wait until somebody has read them."
        for row, findings in found
        if is_poisoned(findings)
    )


# The manifest of a folder that its author works in: which functions it names now, and what of it is not followed.

_IGNORED_KEYS: Final = {
    "mcp_servers": "servers",
    "containers": "containers",
    "tool_overrides": "overrides",
    "requirements": "requirements",
    "secrets": "secrets",
    "workspace": "workspace",
    "limits": "bounds",
}
"""Keys of a manifest that count when it is imported, and what they are of it."""


class ManifestEdits:
    """Compares with what was read first, which is as it was imported or as the gateway found it at its start."""

    def __init__(self) -> None:
        self._first: Manifest | None = None

    def __call__(self, folder: Path) -> ManifestEntries:
        """Raises `ToolDescriptionError`."""
        try:
            now = read_linked_toolset(folder, folder.name).manifest
        except InvalidToolsetError as unfit:
            raise ToolDescriptionError(*map(str, unfit.problems)) from None
        except FilesUnavailable as away:
            raise ToolDescriptionError(str(away)) from None
        first = self._first = self._first or now
        return ManifestEntries(
            entries_of(now), tuple(key for key, part in _IGNORED_KEYS.items() if _differs(first, now, part))
        )


def _differs(first: "Manifest", now: "Manifest", part: str) -> bool:
    """By what is said, wherever in the file it stands."""
    said: dict[str, Any] = {part: getattr(now, part)}
    return replace(first, **said) != first
