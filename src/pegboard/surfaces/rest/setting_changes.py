"""The route that writes a setting into the operator's file, where only an administrator may and only some settings."""

import os
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from typing_extensions import TypedDict

from pegboard.config.editing import Uneditable
from pegboard.config.provenance import provenance
from pegboard.config.saving import Edit, Overtaken, change_setting
from pegboard.core.scope import Scope
from pegboard.gateway.file_watch import CONFIG
from pegboard.gateway.gateway import Gateway

from .access import needs, whoever
from .answers import routes_about
from .problems import Problem
from .settings import can_be_set

LOADS_WITHIN: Final = 5.0
_LOOK: Final = 0.05
_DIGEST: Final = "^[0-9a-f]{64}$"


class SettingBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: Annotated[JsonValue, Field(description="What it shall be.")]
    fileDigest: Annotated[str, Field(pattern=_DIGEST, description="Of the file that you looked at: GET /settings.")]
    dryRun: Annotated[bool, Field(description="Only tell what would change.")] = False


class ChangedSetting(TypedDict):
    key: str
    patch: str
    """The lines of the file that differ, as `diff -u` shows them. Empty: it says so already."""
    written: bool
    loaded: bool
    """Whether the gateway has taken the file over by now."""
    readAtStart: bool
    """Whether it holds only after the next start."""
    fileDigest: str


def setting_change_routes(gateway: Gateway) -> APIRouter:
    routes = routes_about("settings")
    board, turn = gateway.board, anyio.Lock()

    @routes.put("/settings/{key}")
    @needs(Scope.ADMIN)
    async def change_a_setting(key: Annotated[str, InPath(max_length=200)], body: SettingBody) -> ChangedSetting:
        """Write one setting into the operator's file: every other line stays as it is, remarks and all. The file is
        replaced whole, and only by one that can be loaded. With `dryRun` nothing is written."""
        settings = {each.key: each for each in provenance(board.written, os.environ)}
        setting, file = settings.get(key), board.written.file
        if setting is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no setting {key!r}. See: GET /api/v1/settings")
        if file is None or not can_be_set(setting, file):
            told = f"{key} is not set here. GET /api/v1/settings tells where it is, and why."
            raise Problem(HTTPStatus.CONFLICT, told)
        act = partial(change_setting, Path(file), key, body.value, body.fileDigest, os.environ, dry=body.dryRun)
        async with turn:
            edit = await _edited(act)
        is_written = not body.dryRun and edit.digest != body.fileDigest
        if is_written:
            gateway.operator.record(CONFIG, None, f"{key} was set in {Path(file).name} by the API", whoever())
            with anyio.move_on_after(LOADS_WITHIN):
                while board.written.digest != edit.digest:  # noqa: ASYNC110 - nothing else tells that it was loaded
                    await anyio.sleep(_LOOK)
        return {
            "key": key,
            "patch": edit.patch,
            "written": is_written,
            "loaded": board.written.digest == edit.digest,
            "readAtStart": setting.at_start,
            "fileDigest": edit.digest,
        }

    return routes


async def _edited(act: "partial[Edit]") -> Edit:
    try:
        return await anyio.to_thread.run_sync(act)
    except Uneditable as error:
        told = str(error).splitlines()
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), {"errors": told}) from None
    except Overtaken as error:
        raise Problem(HTTPStatus.PRECONDITION_FAILED, str(error)) from None
