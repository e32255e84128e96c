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

from pegboard.config.editing import UneditableError
from pegboard.config.provenance import list_settings
from pegboard.config.saving import FileChangedError, SettingEdit, change_setting
from pegboard.core.scope import TokenScope
from pegboard.gateway.file_watch import CONFIG_RECORD_KIND
from pegboard.gateway.gateway import Gateway

from .access import decision_author, requires_scopes
from .answers import make_router
from .problems import ProblemError
from .settings import can_be_set

LOAD_TIMEOUT_S: Final = 5.0
_CHECK_INTERVAL_S: Final = 0.05
_DIGEST_PATTERN: Final = "^[0-9a-f]{64}$"


class SettingBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: Annotated[JsonValue, Field(description="What it shall be.")]
    fileDigest: Annotated[
        str, Field(pattern=_DIGEST_PATTERN, description="Of the file that you looked at: GET /settings.")
    ]
    dryRun: Annotated[bool, Field(description="Only tell what would change.")] = False


class ChangeSettingResponse(TypedDict):
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
    routes = make_router("settings")
    board, turn = gateway.board, anyio.Lock()

    @routes.put("/settings/{key}")
    @requires_scopes(TokenScope.ADMIN)
    async def change_a_setting(key: Annotated[str, InPath(max_length=200)], body: SettingBody) -> ChangeSettingResponse:
        """Write one setting into the operator's file: every other line stays as it is, remarks and all. The file is
        replaced whole, and only by one that can be loaded. With `dryRun` nothing is written."""
        settings = {each.key: each for each in list_settings(board.settings_locations, os.environ)}
        setting, file = settings.get(key), board.settings_locations.file
        if setting is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no setting {key!r}. See: GET /api/v1/settings")
        if file is None or not can_be_set(setting, file):
            told = f"{key} is not set here. GET /api/v1/settings tells where it is, and why."
            raise ProblemError(HTTPStatus.CONFLICT, told)
        act = partial(change_setting, Path(file), key, body.value, body.fileDigest, os.environ, dry=body.dryRun)
        async with turn:
            edit = await _run_edit(act)
        is_written = not body.dryRun and edit.digest != body.fileDigest
        if is_written:
            gateway.operator.record(
                CONFIG_RECORD_KIND, None, f"{key} was set in {Path(file).name} by the API", decision_author()
            )
            with anyio.move_on_after(LOAD_TIMEOUT_S):
                while board.settings_locations.digest != edit.digest:  # noqa: ASYNC110 - nothing else tells that it was loaded
                    await anyio.sleep(_CHECK_INTERVAL_S)
        return {
            "key": key,
            "patch": edit.patch,
            "written": is_written,
            "loaded": board.settings_locations.digest == edit.digest,
            "readAtStart": setting.at_start,
            "fileDigest": edit.digest,
        }

    return routes


async def _run_edit(act: "partial[SettingEdit]") -> SettingEdit:
    try:
        return await anyio.to_thread.run_sync(act)
    except UneditableError as error:
        told = str(error).splitlines()
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), {"errors": told}) from None
    except FileChangedError as error:
        raise ProblemError(HTTPStatus.PRECONDITION_FAILED, str(error)) from None
