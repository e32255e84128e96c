"""Routes: settings and their origin, and the state of the store."""

import os
import platform
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from typing_extensions import TypedDict

from pegboard import __version__
from pegboard.config.edit import (
    AcceptedValue,
    FileChangedError,
    SettingEdit,
    SettingKind,
    UneditableError,
    accepted_value,
    change_setting,
    is_editable,
)
from pegboard.config.keys.root import TRUST
from pegboard.config.paths import data_directory
from pegboard.config.provenance import Setting, SettingOrigin, list_settings
from pegboard.core.model.principals import TokenScope
from pegboard.gateway.board import BoardState
from pegboard.gateway.file_watch import CONFIG_RECORD_KIND
from pegboard.gateway.operator import Operator
from pegboard.ports.audit import Audit, StoreUnavailable
from pegboard.ports.stores import Storage, StorageProbe
from pegboard.surfaces.rest.auth import decision_author, requires_scopes
from pegboard.surfaces.rest.responses import ProblemError, make_router
from pegboard.surfaces.rest.schemas import iso_time

_TRUST_SETTING = Setting("servers.NAME.trust", TRUST.description, TRUST.default, TRUST.default, "default")


class VariableInfo(TypedDict):
    name: str
    set: bool


class SettingTypeInfo(TypedDict):
    kind: SettingKind
    choices: list[str]


class SettingInfo(TypedDict):
    """`value` is what holds, without secrets; of a map its names. `default` is what holds if nobody says otherwise."""

    key: str
    description: str
    value: object
    default: object
    origin: SettingOrigin
    file: str | None
    line: int | None
    variables: list[VariableInfo]
    readOnly: bool
    changeHint: str
    """Where it stands, or why it cannot be changed here, and where it can."""
    requiresRestart: bool
    accepts: SettingTypeInfo | None
    """What it can be set to here; of one that is read-only, nothing."""


class StorageInfo(TypedDict):
    """While it does not answer, only the sentence says anything."""

    url: str
    healthy: bool
    message: str
    engine: str | None
    version: str | None
    revision: str | None
    bytes: int | None
    calls: int | None
    oldestCall: str | None
    keepDays: float | None
    keepRows: int | None
    recordsArguments: bool | None
    recordsResults: bool | None
    droppedRecords: int


class LocationInfo(TypedDict):
    path: str | None
    origin: Literal["default", "environment", "command line"]


class LocationsInfo(TypedDict):
    config: LocationInfo
    dataDir: LocationInfo


class VersionsInfo(TypedDict):
    pegboard: str
    python: str
    mcp: str
    platform: str


class SettingsResponse(TypedDict):
    settings: list[SettingInfo]
    trust: SettingInfo
    """Of a server that says nothing of its own."""
    fileDigest: str | None
    """Of the file as it was loaded: a change says on which one it stands."""
    locations: LocationsInfo
    storage: StorageInfo
    versions: VersionsInfo
    policyVersion: int


@dataclass(frozen=True)
class RuntimeInfo:
    """Where this gateway runs and from what, as operators see it."""

    config: str | None
    data_dir: str
    endpoint: str | None
    store: str
    storage: StorageProbe | None = None


def setting_routes(board: BoardState, audit: Audit, about: RuntimeInfo) -> APIRouter:
    routes = make_router("settings")

    @routes.get("/settings")
    async def show_settings() -> SettingsResponse:
        """Every setting with its value, its default and where it comes from; the store and its health; versions."""
        told = await anyio.to_thread.run_sync(list_settings, board.settings_locations, os.environ)
        return {
            "settings": [_setting_info(each, board.settings_locations.file) for each in told],
            "trust": _setting_info(_TRUST_SETTING, board.settings_locations.file),
            "fileDigest": board.settings_locations.digest or None,
            "locations": _locations_info(about.config, about.data_dir),
            "storage": _storage_info(about.store, await _read_storage(about.storage), audit.dropped_count),
            "versions": {
                "pegboard": __version__,
                "python": platform.python_version(),
                "mcp": version("mcp"),
                "platform": platform.platform(),
            },
            "policyVersion": board.policy.version,
        }

    return routes


async def _read_storage(storage: StorageProbe | None) -> Storage | str:
    if storage is None:
        return "Nothing is known of it here."
    try:
        return await storage()
    except StoreUnavailable as error:
        return str(error)


def _setting_info(setting: Setting, file: str | None) -> SettingInfo:
    is_set_here = can_be_set(setting, file)
    return {
        "key": setting.key,
        "description": setting.description,
        "value": setting.value,
        "default": setting.default,
        "origin": setting.origin,
        "file": file if setting.line is not None else None,
        "line": setting.line,
        "variables": [{"name": name, "set": is_set} for name, is_set in setting.variables],
        "readOnly": not is_set_here,
        "changeHint": _where_to_change(setting, file),
        "requiresRestart": setting.at_start,
        "accepts": _setting_type_info(accepted_value(setting.key)) if is_set_here else None,
    }


def _setting_type_info(taken: AcceptedValue) -> SettingTypeInfo:
    return {"kind": taken.kind, "choices": [*taken.choices]}


def can_be_set(setting: Setting, file: str | None) -> bool:
    """There must be a file to write it into, and nothing outside of the file may own it."""
    owned = setting.variables or setting.origin == "environment" or setting.is_masked
    return file is not None and not owned and is_editable(setting.key)


def _where_to_change(setting: Setting, file: str | None) -> str:
    if can_be_set(setting, file):
        then = " What is set here holds after the next start." if setting.at_start else ""
        return f"It is written at {file}:{setting.line}.{then}" if setting.line else f"Nobody says it.{then}"
    again = " and start the gateway again" if setting.at_start else ""
    match setting.origin:
        case "environment":
            names = ", ".join(name for name, _ in setting.variables)
            owner = f"the environment ({names})" if names else "the environment"
            return f"It is owned by {owner}. Change it there and start the gateway again."
        case "file":
            return f"It is written at {file}:{setting.line}. Change it there{again}."
        case "default":
            return f"Nobody says it. Write {setting.key} into {file or 'a pegboard.yaml'}{again}."


def _locations_info(config: str | None, data_dir: str) -> LocationsInfo:
    named, kept = os.environ.get("PEGBOARD_CONFIG"), os.environ.get("PEGBOARD_DATA_DIR")
    by_name = named is not None and str(Path(named).absolute()) == config
    by_kept = kept is not None and str(Path(kept).absolute()) == data_dir
    usual = str(data_directory(None, {})) == data_dir
    return {
        "config": {
            "path": config,
            "origin": "environment" if by_name else "default" if config is None else "command line",
        },
        "dataDir": {"path": data_dir, "origin": "environment" if by_kept else "default" if usual else "command line"},
    }


def _storage_info(url: str, found: Storage | str, dropped: int) -> StorageInfo:
    if isinstance(found, str):
        return {
            "url": url,
            "healthy": False,
            "message": found,
            "engine": None,
            "version": None,
            "revision": None,
            "bytes": None,
            "calls": None,
            "oldestCall": None,
            "keepDays": None,
            "keepRows": None,
            "recordsArguments": None,
            "recordsResults": None,
            "droppedRecords": dropped,
        }
    size = f"{found.size / 1_000_000:,.1f} MB"
    return {
        "url": url,
        "healthy": True,
        "message": f"{found.engine} {found.version}, {size}, {found.calls:,} records of activity.",
        "engine": found.engine,
        "version": found.version,
        "revision": found.revision,
        "bytes": found.size,
        "calls": found.calls,
        "oldestCall": iso_time(found.oldest),
        "keepDays": found.keep_days,
        "keepRows": found.keep_rows,
        "recordsArguments": found.arguments,
        "recordsResults": found.results,
        "droppedRecords": dropped,
    }


# The route that writes a setting into the operator's file, where only an administrator may and only some settings.

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
    requiresRestart: bool
    """Whether it holds only after the next start."""
    fileDigest: str


def setting_change_routes(board: BoardState, operator: Operator) -> APIRouter:
    routes = make_router("settings")
    turn = anyio.Lock()

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
            operator.record(
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
            "requiresRestart": setting.at_start,
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
