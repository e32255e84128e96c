"""Routes for toolsets: list, show, import, export and remove them, and the secrets that they ask for."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from pegboard.core.commands import ThrowSwitch
from pegboard.core.ids import ToolsetId
from pegboard.core.reference import closest
from pegboard.core.scope import Scope
from pegboard.core.toolset import Toolset
from pegboard.core.view import View
from pegboard.gateway.gateway import Gateway
from pegboard.gateway.toolsets.exporting import exported
from pegboard.gateway.toolsets.installer import Installer
from pegboard.gateway.toolsets.secrets import secrets_asked

from .access import needs, refuse_references, whoever
from .answers import JSON, routes_about, written
from .bodies import SecretBody, SwitchBody
from .deciding import Version, done, version_of
from .pages import MOST, After, Limit, page_of
from .problems import Problem
from .toolset_imports import IMPORT_BODIES, answering, told, wanted_of
from .toolset_shapes import (
    ExportShape,
    ImportShape,
    ImportStepShape,
    KeptSecretShape,
    RemovedToolsetShape,
    SwitchedToolsetShape,
    ToolsetShape,
    ToolsetsShape,
    export_shape,
    import_shape,
    toolset_shape,
)

_ZIP: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The ZIP; with dryRun what would be in it.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def nobody_installs() -> Installer:
    raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "This gateway has no place for the files of toolsets.")


def toolset_routes(gateway: Gateway, installer: Callable[[], Installer]) -> APIRouter:
    routes = routes_about("toolsets")
    board = gateway.board

    def shown(toolset: Toolset) -> ToolsetShape:
        asked = secrets_asked(board.policy).get(toolset.id, ())
        known = {name: installer().secrets.is_set(toolset.id, name) for name in asked}
        return toolset_shape(toolset, board, board.resolution(View()), known)

    @routes.get("/toolsets")
    async def list_toolsets(limit: Limit = MOST, after: After = None) -> ToolsetsShape:
        """Every toolset with its servers and tools."""
        toolsets, following = page_of([*board.policy.toolsets.values()], lambda each: each.id, limit, after)
        return {
            **following,
            "toolsets": [shown(toolset) for toolset in toolsets],
            "policyVersion": board.policy.version,
        }

    @routes.post("/toolsets/import", openapi_extra=IMPORT_BODIES)
    @needs(Scope.ADMIN)
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
        if_match: Version = None,
    ) -> ImportShape:
        """Bring a toolset onto the board: a ZIP or a manifest as the body, or the path of one or of a folder. All of it
        or nothing."""
        seen = board.policy
        with answering(), installer().progress.named(progress) as step:
            async with wanted_of(
                request, installer(), digest, approve or [], allow_downgrade, version_of(if_match)
            ) as wanted:
                if dry_run:
                    looked = await installer().look(wanted, whoever(), step, describe=describe)
                else:
                    looked = await installer().bring(wanted, whoever(), step)
        id, secrets = looked.install.toolset.id, installer().secrets
        return import_shape(
            looked, seen if dry_run else board.policy, lambda name: secrets.is_set(id, name), done=not dry_run
        )

    @routes.get("/toolsets/imports/{name}")
    async def show_import(name: str) -> ImportStepShape:
        """How far an import is that was given this name."""
        step = installer().progress[name]
        if step is None:
            raise Problem(HTTPStatus.NOT_FOUND, "No import of this name is going on.")
        return {"said": step.said, "done": step.done, "total": step.total}

    @routes.get("/toolsets/{name}")
    async def show_toolset(name: str) -> ToolsetShape:
        """One toolset: its tools with their statuses, its servers, secrets and files."""
        return shown(board.policy.toolsets[toolset_named(gateway, name)])

    @routes.delete("/toolsets/{name}")
    async def remove_toolset(
        name: str,
        keep_workspace: Annotated[bool, Query(alias="keepWorkspace")] = False,
        if_match: Version = None,
    ) -> RemovedToolsetShape:
        """Take an installed toolset away, with all that belongs to it."""
        id = toolset_named(gateway, name)
        with answering():
            left = await installer().remove(id, whoever(), keep_workspace=keep_workspace, version=version_of(if_match))
        return {"removed": id, "warnings": list(left)}

    @routes.post("/toolsets/{name}/switch")
    async def switch_toolset(name: str, body: SwitchBody, if_match: Version = None) -> SwitchedToolsetShape:
        """Switch a whole toolset on or off. Each of its servers and tools keeps its own switch."""
        id = toolset_named(gateway, name)
        await done(gateway, ThrowSwitch(id, body.on, body.note), if_match)
        return {"toolsetId": id, "on": body.on}

    @routes.get("/toolsets/{name}/export", response_model=ExportShape, responses=_ZIP)
    async def export_toolset(
        name: str,
        dry_run: Annotated[
            bool, Query(alias="dryRun", description="Only tell, as JSON, what would be replaced and left out.")
        ] = False,
    ) -> Response:
        """The toolset as a ZIP that can be imported elsewhere, without secrets."""
        id = toolset_named(gateway, name)
        with answering():
            bundle = await exported(board.policy, installer().files, id)
        if dry_run:
            return Response(written(export_shape(id, bundle)), media_type=JSON)
        headers = {"content-disposition": f'attachment; filename="{bundle.name}"'}
        headers |= {"x-pegboard-secrets": ",".join(bundle.secrets)} if bundle.secrets else {}
        return Response(bundle.content, media_type="application/zip", headers=headers)

    @routes.put("/toolsets/{name}/secrets/{secret}")
    async def set_toolset_secret(name: str, secret: str, body: SecretBody) -> KeptSecretShape:
        """Set a secret that the toolset asks for. It is kept encrypted, and never shown again. A reference such as
        ${NAME} needs the scope `admin`."""
        refuse_references(body.value)
        id = _asking(gateway, name, secret)
        await told(installer().keep_secret(id, secret, body.value, whoever()))
        return {"toolsetId": id, "name": secret, "set": True}

    @routes.delete("/toolsets/{name}/secrets/{secret}")
    async def forget_toolset_secret(name: str, secret: str) -> KeptSecretShape:
        """Forget a secret."""
        id = _asking(gateway, name, secret)
        await told(installer().forget_secret(id, secret, whoever()))
        return {"toolsetId": id, "name": secret, "set": False}

    return routes


def toolset_named(gateway: Gateway, name: str) -> ToolsetId:
    toolsets = gateway.board.policy.toolsets
    if (id := ToolsetId(name)) in toolsets:
        return id
    near = closest(name, toolsets)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}?" if near else "See: pegboard toolset list"
    raise Problem(HTTPStatus.NOT_FOUND, f"There is no toolset {name!r}. {hint}")


def _asking(gateway: Gateway, name: str, secret: str) -> ToolsetId:
    id = toolset_named(gateway, name)
    asked = secrets_asked(gateway.board.policy).get(id, ())
    if secret in asked:
        return id
    near = closest(secret, asked)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" It asks for: {', '.join(asked) or 'none'}."
    raise Problem(HTTPStatus.NOT_FOUND, f"Toolset {id!r} asks for no secret {secret!r}.{hint}")
