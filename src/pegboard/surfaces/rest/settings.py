"""The route that tells how this gateway is set: every setting with where it comes from, the store and its health."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import anyio.to_thread
from fastapi import APIRouter
from typing_extensions import TypedDict

from pegboard import __version__
from pegboard.config.keys import TRUST
from pegboard.config.places import data_directory
from pegboard.config.provenance import Origin, Setting, provenance
from pegboard.config.saving import Kind, Taken, is_editable, taken
from pegboard.gateway.gateway import Gateway
from pegboard.ports import StoreAway
from pegboard.ports.storage import Storage, StorageNow

from .answers import routes_about
from .shapes import moment

_TRUST = Setting("servers.NAME.trust", TRUST.description, TRUST.default, TRUST.default, "default")


class VariableShape(TypedDict):
    name: str
    set: bool


class TakenShape(TypedDict):
    kind: Kind
    words: list[str]


class SettingShape(TypedDict):
    """`value` is what holds, without secrets; of a map its names. `default` is what holds if nobody says otherwise."""

    key: str
    description: str
    value: object
    default: object
    origin: Origin
    file: str | None
    line: int | None
    variables: list[VariableShape]
    readOnly: bool
    why: str
    """Where it stands, or why it cannot be changed here, and where it can."""
    readAtStart: bool
    takes: TakenShape | None
    """What it can be set to here; of one that is read-only, nothing."""


class StorageShape(TypedDict):
    """While it does not answer, only the sentence says anything."""

    url: str
    healthy: bool
    sentence: str
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


class PlaceShape(TypedDict):
    path: str | None
    origin: Literal["default", "environment", "command line"]


class PlacesShape(TypedDict):
    config: PlaceShape
    dataDir: PlaceShape


class VersionsShape(TypedDict):
    pegboard: str
    python: str
    mcp: str
    platform: str


class SettingsShape(TypedDict):
    settings: list[SettingShape]
    trust: SettingShape
    """Of a server that says nothing of its own."""
    fileDigest: str | None
    """Of the file as it was loaded: a change says on which one it stands."""
    places: PlacesShape
    storage: StorageShape
    versions: VersionsShape
    policyVersion: int


@dataclass(frozen=True)
class About:
    """Where this gateway runs and from what, as operators see it."""

    config: str | None
    data_dir: str
    endpoint: str | None
    store: str
    storage: StorageNow | None = None


def setting_routes(gateway: Gateway, about: About) -> APIRouter:
    routes = routes_about("settings")
    board = gateway.board

    @routes.get("/settings")
    async def show_settings() -> SettingsShape:
        """Every setting with its value, its default and where it comes from; the store and its health; versions."""
        told = await anyio.to_thread.run_sync(provenance, board.written, os.environ)
        return {
            "settings": [_setting_shape(each, board.written.file) for each in told],
            "trust": _setting_shape(_TRUST, board.written.file),
            "fileDigest": board.written.digest or None,
            "places": _places(about.config, about.data_dir),
            "storage": _storage_shape(about.store, await _asked(about.storage), gateway.audit.dropped),
            "versions": {
                "pegboard": __version__,
                "python": platform.python_version(),
                "mcp": version("mcp"),
                "platform": platform.platform(),
            },
            "policyVersion": board.policy.version,
        }

    return routes


async def _asked(storage: StorageNow | None) -> Storage | str:
    if storage is None:
        return "Nothing is known of it here."
    try:
        return await storage()
    except StoreAway as error:
        return str(error)


def _setting_shape(setting: Setting, file: str | None) -> SettingShape:
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
        "why": _why(setting, file),
        "readAtStart": setting.at_start,
        "takes": _taken_shape(taken(setting.key)) if is_set_here else None,
    }


def _taken_shape(taken: Taken) -> TakenShape:
    return {"kind": taken.kind, "words": [*taken.words]}


def can_be_set(setting: Setting, file: str | None) -> bool:
    """There must be a file to write it into, and nothing outside of the file may own it."""
    owned = setting.variables or setting.origin == "environment" or setting.is_masked
    return file is not None and not owned and is_editable(setting.key)


def _why(setting: Setting, file: str | None) -> str:
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


def _places(config: str | None, data_dir: str) -> PlacesShape:
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


def _storage_shape(url: str, found: Storage | str, dropped: int) -> StorageShape:
    if isinstance(found, str):
        return {
            "url": url,
            "healthy": False,
            "sentence": found,
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
        "sentence": f"{found.engine} {found.version}, {size}, {found.calls:,} records of activity.",
        "engine": found.engine,
        "version": found.version,
        "revision": found.revision,
        "bytes": found.size,
        "calls": found.calls,
        "oldestCall": moment(found.oldest),
        "keepDays": found.keep_days,
        "keepRows": found.keep_rows,
        "recordsArguments": found.arguments,
        "recordsResults": found.results,
        "droppedRecords": dropped,
    }
