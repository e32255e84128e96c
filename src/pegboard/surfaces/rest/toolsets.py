"""Routes: toolsets."""

import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from typing_extensions import TypedDict

from pegboard.core.commands.commands import SetSwitch
from pegboard.core.decision.facts import find_owner_off
from pegboard.core.decision.resolve import Resolution
from pegboard.core.decision.status import LockStatus
from pegboard.core.model.catalogue import (
    Catalogue,
    Health,
    ProviderAsleep,
    ProviderDown,
    ProviderNeedsSignIn,
    ProviderOff,
    ProviderStart,
    ProviderUp,
)
from pegboard.core.model.ids import ServerKey, ToolsetId, ToolsetKey
from pegboard.core.model.principals import TokenScope
from pegboard.core.model.references import closest_names
from pegboard.core.model.selection import View
from pegboard.core.model.server import Server
from pegboard.core.model.tool import Fingerprint, OwnTools
from pegboard.core.model.toolset import Toolset, ToolsetImport, ToolsetOrigin, describe_downgrade
from pegboard.core.policy.policy import Policy
from pegboard.core.toolsets.preview import InstallDifferences, PartDifference, VersionChange
from pegboard.core.toolsets.report import LockedPart, describe_install
from pegboard.gateway.board import BoardState
from pegboard.gateway.operator import Operator
from pegboard.gateway.toolsets.export import ToolsetBundle, export_bundle
from pegboard.gateway.toolsets.files import STAGING_PREFIX, FilesUnavailable
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.toolsets.reader import (
    ImportConflictError,
    ImportPreview,
    ImportRefusedError,
    ImportRequest,
    InvalidToolsetError,
)
from pegboard.gateway.toolsets.secrets import requested_secrets
from pegboard.ports.stores import SecretsUnavailable
from pegboard.surfaces.rest.auth import decision_author, refuse_references, requires_scopes
from pegboard.surfaces.rest.commands import IfMatchVersion, parse_if_match, run_command, version_conflict
from pegboard.surfaces.rest.requests import ImportBody, SecretBody, SwitchBody
from pegboard.surfaces.rest.responses import (
    JSON_TYPE,
    MAX_PAGE_SIZE,
    AfterParam,
    LimitParam,
    PageResponse,
    ProblemError,
    encode_json,
    make_router,
    paginate,
)
from pegboard.surfaces.rest.schemas import (
    HealthInfo,
    ListingProblemInfo,
    OriginInfo,
    ServerInfo,
    ToolInfo,
    health_info,
    listing_problem_infos,
    origin_info,
    server_infos,
    tool_info,
)


class ImportSourceInfo(TypedDict):
    kind: ToolsetOrigin
    path: str | None
    at: str
    commit: NotRequired[str]
    dirty: NotRequired[bool]


class SecretInfo(TypedDict):
    """A secret that is asked for, and whether it is set. Its value is told to nobody."""

    name: str
    set: bool


class ToolsetInfo(TypedDict):
    id: str
    name: str
    version: str
    description: str
    enabled: bool
    userMcp: bool
    origin: OriginInfo
    source: ImportSourceInfo | None
    digest: str | None
    linkedFolder: str | None
    servers: list[ServerInfo]
    tools: list[ToolInfo]
    requirements: list[str]
    secrets: list[SecretInfo]
    files: int
    bytes: int
    health: HealthInfo
    problems: list[ListingProblemInfo]


class ToolsetsResponse(PageResponse):
    toolsets: list[ToolsetInfo]
    policyVersion: int


class ToolDiffInfo(TypedDict):
    id: str
    change: str


class PartDiffInfo(TypedDict):
    id: str
    change: str
    settings: list[str]


class ImportChangesInfo(TypedDict):
    hasChanges: bool
    versionChange: VersionChange
    summary: list[str]
    tools: list[ToolDiffInfo]
    servers: list[PartDiffInfo]
    overrides: list[PartDiffInfo]
    files: Mapping[str, int]


class ImportedToolInfo(TypedDict):
    """A tool that waits for a person; `alone` where it must be approved by itself."""

    id: str
    fingerprint: str
    needsOwnReview: bool


class ClosedToolInfo(TypedDict):
    id: str
    verdict: Literal["locked", "hidden"]
    status: NotRequired[LockStatus]
    message: str
    remedy: str


class ImportResponse(TypedDict):
    """What was imported, or would be."""

    id: str
    version: str
    digest: str
    linkedFolder: str | None
    source: ImportSourceInfo | None
    imported: bool
    downgrade: str | None
    changes: ImportChangesInfo
    modulesNotRun: list[str]
    newlyPending: list[ImportedToolInfo]
    requirements: list[str]
    stillPending: list[str]
    approved: list[str]
    secrets: list[SecretInfo]
    closedTools: list[ClosedToolInfo]
    unconfirmedServers: list[str]
    """Servers of which neither the manifest nor the settings say whether their calls are confirmed."""
    warnings: list[str]
    policyVersion: int


class ImportStepResponse(TypedDict):
    message: str
    done: int
    total: int | None


class ToolsetRemovedResponse(TypedDict):
    removed: str
    warnings: list[str]


class ToolsetSwitchResponse(TypedDict):
    toolsetId: str
    enabled: bool


class SecretStateResponse(SecretInfo):
    toolsetId: str


class ExportSecretInfo(TypedDict):
    name: str
    locations: list[str]


class ExportResponse(TypedDict):
    toolset: str
    name: str
    bytes: int
    secrets: list[ExportSecretInfo]
    droppedParts: list[str]
    omitted: list[str]
    possibleSecrets: list[str]


_WORST_FIRST = (ProviderNeedsSignIn, ProviderDown, ProviderStart, ProviderOff, ProviderAsleep, ProviderUp)
"""The health of a toolset is the worst of what belongs to it: what a person must look at comes first."""


def toolset_info(
    toolset: Toolset, board: BoardState, resolution: Resolution, secrets: Mapping[str, bool]
) -> ToolsetInfo:
    """`secrets` are those it asks for, and whether each is set."""
    policy = board.policy
    servers = [server for key, server in policy.servers.items() if key.toolset == toolset.id]
    own, own_key = own_connection(policy, toolset.id), ToolsetKey(toolset.id)
    files = policy.decisions.files.get(toolset.id, ())
    return {
        "id": toolset.id,
        "name": toolset.name or toolset.id,
        "version": toolset.version,
        "description": toolset.description,
        "enabled": is_enabled(policy, toolset.id),
        "userMcp": toolset.user_mcp,
        "origin": origin_info(toolset.origin),
        "source": import_source_info(toolset.imported_from),
        "digest": None if own is None else own.digest,
        "linkedFolder": None if own is None else own.linked,
        "servers": server_infos([each for each in servers if isinstance(each.key, ServerKey)], board, resolution),
        "tools": [tool_info(id, resolution) for id in resolution.verdicts if id.toolset == toolset.id],
        "requirements": [] if own is None else list(own.requirements),
        "secrets": [{"name": name, "set": is_set} for name, is_set in secrets.items()],
        "files": len(files),
        "bytes": sum(file.size for file in files),
        "health": health_info(
            worst_health(healths(servers, board.catalogue)) if is_enabled(policy, toolset.id) else ProviderOff()
        ),
        "problems": listing_problem_infos(
            () if (listing := board.catalogue.listings.get(own_key)) is None else listing.problems
        ),
    }


def import_source_info(brought: ToolsetImport | None) -> ImportSourceInfo | None:
    """Where it was last imported from. Only a checkout has a commit."""
    if brought is None:
        return None
    shape: ImportSourceInfo = {"kind": brought.kind, "path": brought.path or None, "at": brought.at.isoformat()}
    if brought.commit:
        shape["commit"], shape["dirty"] = brought.commit, brought.is_dirty
    return shape


def import_response(
    looked: ImportPreview, policy: Policy, is_set: Callable[[str], bool], *, done: bool
) -> ImportResponse:
    """What was imported, or would be. Values of settings are in none of it."""
    found, own, toolset = looked.differences, looked.own, looked.install.toolset
    specs = looked.install.specs
    return {
        "id": toolset.id,
        "version": toolset.version,
        "digest": own.digest,
        "linkedFolder": own.linked,
        "source": import_source_info(toolset.imported_from),
        "imported": done,
        "downgrade": _downgrade_text(found),
        "changes": {
            "hasChanges": not found.is_empty,
            "versionChange": found.version_change,
            "summary": list(describe_install(found, looked.notes)),
            "tools": [{"id": str(each.tool), "change": each.change.value} for each in found.tools],
            "servers": [_part_diff_info(each) for each in found.servers],
            "overrides": [_part_diff_info(each) for each in found.overrides],
            "files": dict(Counter(each.change.value for each in found.files)),
        },
        "modulesNotRun": list(looked.modules),
        "newlyPending": [
            {"id": str(tool), "fingerprint": specs[tool].fingerprint, "needsOwnReview": tool in looked.needs_own_review}
            for tool in looked.waiting_tools
        ],
        "requirements": list(own.requirements),
        "stillPending": [str(tool) for tool in looked.pending_tools],
        "approved": [str(tool) for tool in looked.approved_tools],
        "secrets": [{"name": name, "set": is_set(name)} for name in own.secrets],
        "closedTools": [_closed_tool_info(each) for each in looked.closed_tools],
        "unconfirmedServers": [str(key) for key in looked.unconfirmed_servers(policy)],
        "warnings": list(looked.warnings),
        "policyVersion": policy.version,
    }


def _closed_tool_info(each: LockedPart) -> ClosedToolInfo:
    """In the words of a tool's verdict; a hidden one has no status."""
    shape: ClosedToolInfo = {
        "id": str(each.about),
        "verdict": "hidden",
        "message": each.sentence,
        "remedy": each.remedy,
    }
    if each.status is not None:
        shape["verdict"], shape["status"] = "locked", each.status
    return shape


def export_response(id: ToolsetId, bundle: ToolsetBundle) -> ExportResponse:
    """What of a toolset is not given away as it is, by names and places. No value is in it."""
    return {
        "toolset": id,
        "name": bundle.name,
        "bytes": len(bundle.content),
        "secrets": [{"name": name, "locations": list(places)} for name, places in bundle.secrets.items()],
        "droppedParts": list(bundle.dropped_parts),
        "omitted": list(bundle.left_out),
        "possibleSecrets": list(bundle.possible_secrets),
    }


def _part_diff_info(each: PartDifference) -> PartDiffInfo:
    return {"id": each.name, "change": each.change.value, "settings": list(each.settings)}


def _downgrade_text(found: InstallDifferences) -> str | None:
    if found.version_change is not VersionChange.DOWNGRADE:
        return None
    return describe_downgrade(found.toolset, found.before, found.after)


def own_connection(policy: Policy, toolset: ToolsetId) -> OwnTools | None:
    server = policy.servers.get(ToolsetKey(toolset))
    return server.connection if server is not None and isinstance(server.connection, OwnTools) else None


def is_enabled(policy: Policy, toolset: ToolsetId) -> bool:
    off = find_owner_off(ToolsetKey(toolset), policy)
    return off is None or off.owner != toolset


def worst_health(healths: Iterable[Health]) -> Health | None:
    return min(healths, key=lambda health: _WORST_FIRST.index(type(health)), default=None)


def healths(servers: list[Server], catalogue: Catalogue) -> Iterable[Health]:
    for server in servers:
        if isinstance(server.connection, OwnTools) and not server.connection.specs:
            continue
        listing = catalogue.listings.get(server.key)
        if listing is not None:
            yield listing.health


# What a request brings to be imported: a ZIP, a manifest, or a path of this machine; and how a refusal is answered.

MAX_UPLOAD_BYTES: Final = 100 * 1024 * 1024
_MAX_JSON_BYTES: Final = 4 * 1024 * 1024
_ALL_TOOLS: Final = "all"
# What it refers to is described beside the bodies of other routes, under the same names.
_IMPORT_SCHEMA: Final = {
    key: value
    for key, value in ImportBody.model_json_schema(ref_template="#/components/schemas/{model}").items()
    if key != "$defs"
}
IMPORT_BODIES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": _IMPORT_SCHEMA},
        },
    }
}


@asynccontextmanager
async def read_import_request(
    request: Request,
    installer: ToolsetInstaller,
    digest: str | None,
    approve: list[str],
    allow_downgrade: bool,
    version: int | None = None,
) -> AsyncIterator[ImportRequest]:
    wanted = ImportRequest(
        Path(),
        allow_downgrade=allow_downgrade,
        digest=digest,
        reviewed=dict(_parse_approval(each) for each in approve if each != _ALL_TOOLS),
        approve_all=_ALL_TOOLS in approve,
        version=version,
    )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = _parse_body(await _read_bounded(request, _MAX_JSON_BYTES))
        named = [] if body.approve == _ALL_TOOLS else body.approve
        yield replace(
            wanted,
            source=Path(body.path),
            display_path=body.display_path,
            link=body.link,
            reviewed={**wanted.reviewed, **{each.tool: Fingerprint(each.fingerprint) for each in named}},
            approve_all=wanted.approve_all or body.approve == _ALL_TOOLS,
        )
    elif kind in ("application/zip", "application/x-zip-compressed", "application/octet-stream"):
        async with _receive_upload(request, installer, "upload.zip") as file:
            yield replace(wanted, source=file, display_path=file.name, is_upload=True)
    elif kind in ("application/yaml", "application/x-yaml", "text/yaml"):
        async with _receive_upload(request, installer, "toolset.yaml") as file:
            yield replace(wanted, source=file, display_path=file.name, is_upload=True)
    else:
        what = "Send a ZIP as application/zip, a manifest as application/yaml, or a path as application/json."
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, what)


@contextmanager
def translate_import_errors() -> Iterator[None]:
    try:
        yield
    except InvalidToolsetError as error:
        problems = [str(problem) for problem in error.problems]
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(problems), {"errors": problems}) from None
    except ImportConflictError as error:
        raise version_conflict(error.current_version) from None
    except ImportRefusedError as error:
        raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None
    except FilesUnavailable as error:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None


async def run_secret_change(act: Awaitable[None]) -> None:
    try:
        await act
    except SecretsUnavailable as error:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
    except ValueError as error:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def _parse_body(content: bytes) -> ImportBody:
    try:
        body = ImportBody.model_validate(json.loads(content))
    except ValidationError as error:
        # As the framework tells what it reads itself: the first step is where in the request it stood.
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None
    except (ValueError, RecursionError):
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "The body is no JSON.") from None
    if not Path(body.path).is_absolute():
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "path: this must be an absolute path.")
    return body


def _parse_approval(text: str) -> tuple[str, Fingerprint]:
    tool, _, fingerprint = text.rpartition("=")
    if not tool or len(fingerprint) != 64:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "approve: write ID=FINGERPRINT, or all.")
    return tool, Fingerprint(fingerprint)


async def _read_bounded(request: Request, most: int) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {most:,} bytes.")
    return content


@asynccontextmanager
async def _receive_upload(request: Request, installer: ToolsetInstaller, name: str) -> AsyncIterator[Path]:
    """The body in a file of its own, never more of it than is taken."""
    with ExitStack() as stack:
        file = await anyio.to_thread.run_sync(_new_upload_path, installer, stack, name)
        try:
            with file.open("wb") as out:
                size = 0
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > MAX_UPLOAD_BYTES:
                        most = f"{MAX_UPLOAD_BYTES // 1024 // 1024} MiB"
                        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"What is sent is larger than {most}.")
                    await anyio.to_thread.run_sync(out.write, chunk)
        except OSError as error:
            raise FilesUnavailable(
                f"The upload cannot be kept: {error.strerror or error}. Nothing was changed."
            ) from None
        yield file


def _new_upload_path(installer: ToolsetInstaller, stack: ExitStack, name: str) -> Path:
    root = stack.enter_context(installer.files.stage())
    try:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix=STAGING_PREFIX, dir=root, ignore_cleanup_errors=True)
        )
    except OSError as error:
        raise FilesUnavailable(f"{root} cannot be written: {error.strerror or error}. Nothing was changed.") from None
    return Path(folder) / name


# Routes for toolsets: list, show, import, export and remove them, and the secrets that they ask for.

_ZIP_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The ZIP; with dryRun what would be in it.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def no_installer() -> ToolsetInstaller:
    raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "This gateway has no place for the files of toolsets.")


def toolset_routes(board: BoardState, operator: Operator, installer: Callable[[], ToolsetInstaller]) -> APIRouter:
    routes = make_router("toolsets")

    def current_toolset_info(toolset: Toolset) -> ToolsetInfo:
        asked = requested_secrets(board.policy).get(toolset.id, ())
        known = {name: installer().secrets.is_set(toolset.id, name) for name in asked}
        return toolset_info(toolset, board, board.resolution(View()), known)

    @routes.get("/toolsets")
    async def list_toolsets(limit: LimitParam = MAX_PAGE_SIZE, after: AfterParam = None) -> ToolsetsResponse:
        """Every toolset with its servers and tools."""
        toolsets, following = paginate([*board.policy.toolsets.values()], lambda each: each.id, limit, after)
        return {
            **following,
            "toolsets": [current_toolset_info(toolset) for toolset in toolsets],
            "policyVersion": board.policy.version,
        }

    @routes.post("/toolsets/import", openapi_extra=IMPORT_BODIES)
    @requires_scopes(TokenScope.ADMIN)
    async def import_toolset(
        request: Request,
        dry_run: Annotated[
            bool, Query(alias="dryRun", description="Only tell what would change. Nothing of it is run.")
        ] = False,
        describe: Annotated[
            bool, Query(description="With dryRun: run its modules all the same, to tell what its tools are.")
        ] = False,
        allow_downgrade: Annotated[bool, Query(alias="allowDowngrade")] = False,
        digest: Annotated[str | None, Query(description="The content that was looked at: no other.")] = None,
        approve: Annotated[
            list[str] | None, Query(description="ID=FINGERPRINT of a tool that was read, or all.", max_length=1_000)
        ] = None,
        progress: Annotated[str | None, Query(description="A name by which to ask how far it is.")] = None,
        if_match: IfMatchVersion = None,
    ) -> ImportResponse:
        """Bring a toolset onto the board: a ZIP or a manifest as the body, or the path of one or of a folder. All of it
        or nothing."""
        seen = board.policy
        with translate_import_errors(), installer().progress.track(progress) as step:
            async with read_import_request(
                request, installer(), digest, approve or [], allow_downgrade, parse_if_match(if_match)
            ) as wanted:
                if dry_run:
                    looked = await installer().preview(wanted, decision_author(), step, describe=describe)
                else:
                    looked = await installer().import_toolset(wanted, decision_author(), step)
        id, secrets = looked.install.toolset.id, installer().secrets
        return import_response(
            looked, seen if dry_run else board.policy, lambda name: secrets.is_set(id, name), done=not dry_run
        )

    @routes.get("/toolsets/imports/{name}")
    async def show_import(name: str) -> ImportStepResponse:
        """How far an import is that was given this name."""
        step = installer().progress[name]
        if step is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, "No import of this name is going on.")
        return {"message": step.message, "done": step.done_count, "total": step.total}

    @routes.get("/toolsets/{name}")
    async def show_toolset(name: str) -> ToolsetInfo:
        """One toolset: its tools with their statuses, its servers, secrets and files."""
        return current_toolset_info(board.policy.toolsets[find_toolset(board, name)])

    @routes.delete("/toolsets/{name}")
    async def remove_toolset(
        name: str,
        keep_workspace: Annotated[bool, Query(alias="keepWorkspace")] = False,
        if_match: IfMatchVersion = None,
    ) -> ToolsetRemovedResponse:
        """Take an installed toolset away, with all that belongs to it."""
        id = find_toolset(board, name)
        with translate_import_errors():
            left = await installer().remove(
                id, decision_author(), keep_workspace=keep_workspace, version=parse_if_match(if_match)
            )
        return {"removed": id, "warnings": list(left)}

    @routes.post("/toolsets/{name}/switch")
    async def switch_toolset(name: str, body: SwitchBody, if_match: IfMatchVersion = None) -> ToolsetSwitchResponse:
        """Switch a whole toolset on or off. Each of its servers and tools keeps its own switch."""
        id = find_toolset(board, name)
        await run_command(operator, SetSwitch(id, body.enabled, body.note), if_match)
        return {"toolsetId": id, "enabled": body.enabled}

    @routes.get("/toolsets/{name}/export", response_model=ExportResponse, responses=_ZIP_RESPONSES)
    async def export_toolset(
        name: str,
        dry_run: Annotated[
            bool, Query(alias="dryRun", description="Only tell, as JSON, what would be replaced and left out.")
        ] = False,
    ) -> Response:
        """The toolset as a ZIP that can be imported elsewhere, without secrets."""
        id = find_toolset(board, name)
        with translate_import_errors():
            bundle = await export_bundle(board.policy, installer().files, id)
        if dry_run:
            return Response(encode_json(export_response(id, bundle)), media_type=JSON_TYPE)
        headers = {"content-disposition": f'attachment; filename="{bundle.name}"'}
        headers |= {"x-pegboard-secrets": ",".join(bundle.secrets)} if bundle.secrets else {}
        return Response(bundle.content, media_type="application/zip", headers=headers)

    @routes.put("/toolsets/{name}/secrets/{secret}")
    async def set_toolset_secret(name: str, secret: str, body: SecretBody) -> SecretStateResponse:
        """Set a secret that the toolset asks for. It is kept encrypted, and never shown again. A reference such as
        ${NAME} needs the scope `admin`."""
        refuse_references(body.value)
        id = _toolset_with_secret(board, name, secret)
        await run_secret_change(installer().save_secret(id, secret, body.value, decision_author()))
        return {"toolsetId": id, "name": secret, "set": True}

    @routes.delete("/toolsets/{name}/secrets/{secret}")
    async def forget_toolset_secret(name: str, secret: str) -> SecretStateResponse:
        """Forget a secret."""
        id = _toolset_with_secret(board, name, secret)
        await run_secret_change(installer().delete_secret(id, secret, decision_author()))
        return {"toolsetId": id, "name": secret, "set": False}

    return routes


def find_toolset(board: BoardState, name: str) -> ToolsetId:
    toolsets = board.policy.toolsets
    if (id := ToolsetId(name)) in toolsets:
        return id
    near = closest_names(name, toolsets)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard toolset list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {name!r}. {hint}")


def _toolset_with_secret(board: BoardState, name: str, secret: str) -> ToolsetId:
    id = find_toolset(board, name)
    asked = requested_secrets(board.policy).get(id, ())
    if secret in asked:
        return id
    near = closest_names(secret, asked)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" It asks for: {', '.join(asked) or 'none'}."
    raise ProblemError(HTTPStatus.NOT_FOUND, f"Toolset {id!r} asks for no secret {secret!r}.{hint}")
