"""Routes for toolsets: list, show, import, export and remove them, and the secrets that they ask for."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from pegboard.core.commands import SetSwitch
from pegboard.core.ids import ToolsetId
from pegboard.core.reference import closest_names
from pegboard.core.scope import TokenScope
from pegboard.core.toolset import Toolset
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.exporting import export_bundle
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.toolsets.secrets import requested_secrets

from .access import decision_author, refuse_references, requires_scopes
from .answers import JSON_TYPE, encode_json, make_router
from .bodies import SecretBody, SwitchBody
from .deciding import IfMatchVersion, parse_if_match, run_command
from .pages import MAX_PAGE_SIZE, AfterParam, LimitParam, paginate
from .problems import ProblemError
from .toolset_imports import IMPORT_BODIES, read_import_request, run_secret_change, translate_import_errors
from .toolset_shapes import (
    ExportResponse,
    ImportResponse,
    ImportStepResponse,
    SecretStateResponse,
    ToolsetInfo,
    ToolsetRemovedResponse,
    ToolsetsResponse,
    ToolsetSwitchResponse,
    export_response,
    import_response,
    toolset_info,
)

_ZIP_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The ZIP; with dryRun what would be in it.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def no_installer() -> ToolsetInstaller:
    raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "This gateway has no place for the files of toolsets.")


def toolset_routes(gateway: Gateway, installer: Callable[[], ToolsetInstaller]) -> APIRouter:
    routes = make_router("toolsets")
    board = gateway.board

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
        return {"said": step.message, "done": step.done_count, "total": step.total}

    @routes.get("/toolsets/{name}")
    async def show_toolset(name: str) -> ToolsetInfo:
        """One toolset: its tools with their statuses, its servers, secrets and files."""
        return current_toolset_info(board.policy.toolsets[find_toolset(gateway, name)])

    @routes.delete("/toolsets/{name}")
    async def remove_toolset(
        name: str,
        keep_workspace: Annotated[bool, Query(alias="keepWorkspace")] = False,
        if_match: IfMatchVersion = None,
    ) -> ToolsetRemovedResponse:
        """Take an installed toolset away, with all that belongs to it."""
        id = find_toolset(gateway, name)
        with translate_import_errors():
            left = await installer().remove(
                id, decision_author(), keep_workspace=keep_workspace, version=parse_if_match(if_match)
            )
        return {"removed": id, "warnings": list(left)}

    @routes.post("/toolsets/{name}/switch")
    async def switch_toolset(name: str, body: SwitchBody, if_match: IfMatchVersion = None) -> ToolsetSwitchResponse:
        """Switch a whole toolset on or off. Each of its servers and tools keeps its own switch."""
        id = find_toolset(gateway, name)
        await run_command(gateway, SetSwitch(id, body.on, body.note), if_match)
        return {"toolsetId": id, "on": body.on}

    @routes.get("/toolsets/{name}/export", response_model=ExportResponse, responses=_ZIP_RESPONSES)
    async def export_toolset(
        name: str,
        dry_run: Annotated[
            bool, Query(alias="dryRun", description="Only tell, as JSON, what would be replaced and left out.")
        ] = False,
    ) -> Response:
        """The toolset as a ZIP that can be imported elsewhere, without secrets."""
        id = find_toolset(gateway, name)
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
        id = _toolset_with_secret(gateway, name, secret)
        await run_secret_change(installer().save_secret(id, secret, body.value, decision_author()))
        return {"toolsetId": id, "name": secret, "set": True}

    @routes.delete("/toolsets/{name}/secrets/{secret}")
    async def forget_toolset_secret(name: str, secret: str) -> SecretStateResponse:
        """Forget a secret."""
        id = _toolset_with_secret(gateway, name, secret)
        await run_secret_change(installer().delete_secret(id, secret, decision_author()))
        return {"toolsetId": id, "name": secret, "set": False}

    return routes


def find_toolset(gateway: Gateway, name: str) -> ToolsetId:
    toolsets = gateway.board.policy.toolsets
    if (id := ToolsetId(name)) in toolsets:
        return id
    near = closest_names(name, toolsets)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard toolset list"
    raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no toolset {name!r}. {hint}")


def _toolset_with_secret(gateway: Gateway, name: str, secret: str) -> ToolsetId:
    id = find_toolset(gateway, name)
    asked = requested_secrets(gateway.board.policy).get(id, ())
    if secret in asked:
        return id
    near = closest_names(secret, asked)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" It asks for: {', '.join(asked) or 'none'}."
    raise ProblemError(HTTPStatus.NOT_FOUND, f"Toolset {id!r} asks for no secret {secret!r}.{hint}")
