"""Toolsets for tests: written as people write them, packed, and brought onto a whole board in this process."""

import json
import shutil
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import yaml
from tests.support.house import call_of

from pegboard.bootstrap.application import Application, open_application
from pegboard.core.calls.call import ToolFailure, ToolSuccess
from pegboard.core.decision.resolve import LockedTool, OpenTool
from pegboard.core.json.values import Json
from pegboard.core.model.ids import LOCAL_PRINCIPAL, ToolsetId
from pegboard.core.model.selection import View
from pegboard.gateway.toolsets.installer import ImportStep
from pegboard.gateway.toolsets.reader import ImportPreview, ImportRequest
from pegboard.surfaces.cli.api import ServerFilter

MINE = ToolsetId("mine")
PATIENCE = 60.0
WORDS = '''\
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()


def count(text: str) -> int:
    """How many letters."""
    return len(text)
'''


def tool(id: str, **more: Json) -> dict[str, Json]:
    return {"id": id, "entrypoint": f"tools.words:{id}", **more}


def manifest(*tools: Mapping[str, Json], version: str = "1.0.0", id: str = "mine", **more: Any) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "version": version, "tools": [*tools] or [tool("shout")], **more}


def laid_out(folder: Path, said: Mapping[str, Any], files: Mapping[str, str] | None = None) -> Path:
    """A toolset as its author has it; what was there before is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in {"toolset.yaml": yaml.safe_dump({**said}), **(files or {"tools/words.py": WORDS})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def zipped(folder: Path, file: Path | None = None, top: str = "") -> Path:
    target = file or folder.with_suffix(".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"{top}{path.relative_to(folder).as_posix()}")
    return target


def every(key: str, id: str) -> bool:
    return True


@asynccontextmanager
async def housed(data_dir: Path, starts: ServerFilter = every, *, follow: bool = False) -> AsyncIterator[Application]:
    """All that a gateway is, without an address."""
    with anyio.fail_after(PATIENCE * 2):
        async with open_application(data_dir, None, starts, follow=follow) as house:
            yield house


async def brought(house: Application, source: Path, **more: Any) -> ImportPreview:
    return await house.installer.import_toolset(ImportRequest(source, **more), LOCAL_PRINCIPAL, ImportStep())


async def looked(house: Application, source: Path, *, describe: bool = True, **more: Any) -> ImportPreview:
    return await house.installer.preview(
        ImportRequest(source, **more), LOCAL_PRINCIPAL, ImportStep(), describe=describe
    )


async def until_open(house: Application, *tools: str) -> None:
    """Until these can be called, and first sight has been recorded."""
    board = house.gateway.board
    with anyio.move_on_after(PATIENCE), board.changes.subscribe() as bell:
        while not {*tools} <= {tool for tool, status in statuses(house).items() if status == "open"}:
            await bell.wait()
        return
    healths = {str(source): word.health for source, word in board.catalogue.listings.items()}
    raise AssertionError(f"{tools} are not all open: {statuses(house)}, {healths}")


def statuses(house: Application, toolset: ToolsetId = MINE) -> dict[str, str]:
    verdicts = house.gateway.board.resolution(View()).verdicts
    return {
        str(id): verdict.status.value
        if isinstance(verdict, LockedTool)
        else "open"
        if isinstance(verdict, OpenTool)
        else "absent"
        for id, verdict in verdicts.items()
        if id.toolset == toolset
    }


async def called(house: Application, name: str, /, **arguments: Json) -> Any:
    """What a caller gets: the text of the answer, or why there is none."""
    with anyio.fail_after(PATIENCE):
        ended = await house.gateway.caller.call(call_of(name, arguments), View())
    if not isinstance(ended, ToolSuccess | ToolFailure):
        return ended
    return "".join(part.get("text", "") for part in json.loads(ended.body)["content"])
