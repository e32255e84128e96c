"""The tools of the toolset `files`."""

from typing import Final

from pegboard.core.tool import JsonObject

from .api import Answer, Api
from .asking import path
from .checking import Anything, Many, Number, Optional, Shape, Text
from .choices import FILE_FIELDS
from .downloading import download
from .operations import OPERATIONS, resolved
from .shapes import CONTENT, FILE
from .tool import DocSpaceTool, filters, number, only, told
from .trouble import Trouble
from .uploading import upload

_FILE: Final = Number("The id of the file.")
_DUPLICATE: Final = 2
"""What a copy or move does where the name is taken: it keeps both."""


async def operated(api: Api, doing: str, noun: str, started: Answer, done: str) -> str:
    """Waits for what was started."""
    try:
        await resolved(api, started.response)
    except Trouble as failed:
        raise Trouble(f"Resolving {doing} {noun} operations.", failed) from failed
    return done


async def _delete(api: Api, given: JsonObject) -> str:
    file = number(given, "fileId")
    trash = await told("Getting trash folder.", api.get(path("files", "@trash"), CONTENT))
    match trash.response:
        case {"current": dict(current)}:
            pass
        case _:
            raise Trouble("Trash folder is not defined.")
    if (bin_ := current.get("id")) is None:
        raise Trouble("Trash folder ID is not defined.")
    facts = await told("Getting file info.", api.get(path("files", "file", file), FILE))
    match facts.response:
        case {"folderId": folder} if folder is not None:
            pass
        case _:
            raise Trouble("File folder ID is not defined.")
    if folder == bin_:
        return "File is already in the trash folder."
    started = await told("Deleting file.", api.delete(path("files", "file", file), OPERATIONS, deletion()))
    return await operated(api, "delete", "file", started, "File deleted.")


def deletion() -> JsonObject:
    """Into the trash, where it can be fetched from again."""
    return {"deleteAfter": False, "immediately": False}


async def _facts(api: Api, given: JsonObject) -> Answer:
    at = path("files", "file", number(given, "fileId"))
    return await told("Getting file info.", api.get(at, FILE, filters(given)))


async def _update(api: Api, given: JsonObject) -> Answer:
    at = path("files", "file", number(given, "fileId"))
    return await told("Updating file.", api.put(at, FILE, {"title": given["title"]}))


async def _copy(api: Api, given: JsonObject) -> str:
    started = await told("Copying batch items.", _batch(api, "copy", given))
    return await operated(api, "copy", "batch items", started, "Batch items copied.")


async def _move(api: Api, given: JsonObject) -> str:
    started = await told("Moving batch items.", _batch(api, "move", given))
    return await operated(api, "move", "batch items", started, "Batch items moved.")


async def _batch(api: Api, act: str, given: JsonObject) -> Answer:
    body: JsonObject = {**given, "conflictResolveType": _DUPLICATE, "deleteAfter": False}
    return await api.put(path("files", "fileops", act), OPERATIONS, body)


async def _download(api: Api, given: JsonObject) -> str:
    return await download(api, number(given, "fileId"))


async def _upload(api: Api, given: JsonObject) -> JsonObject:
    return await upload(api, given)


def _items(verb: str) -> Shape:
    return Shape(
        {
            "folderIds": Optional(
                Many(Anything(), f"The ids of the folders to {verb}: numbers, or texts for folders of other storages.")
            ),
            "fileIds": Optional(Many(Anything(), f"The ids of the files to {verb}.")),
            "destFolderId": Optional(Anything(f"The id of the folder to {verb} them into.")),
        }
    )


FILES: Final = (
    DocSpaceTool("delete_file", "Delete a file.", Shape({"fileId": _FILE}), _delete),
    DocSpaceTool(
        "get_file_info",
        "Get file information.",
        Shape({"fileId": _FILE, "filters": only(FILE_FIELDS)}),
        _facts,
        reads=True,
        answers=FILE,
    ),
    DocSpaceTool(
        "update_file",
        "Update a file.",
        Shape({"fileId": _FILE, "title": Text("Its new name.")}),
        _update,
        answers=FILE,
    ),
    DocSpaceTool("copy_batch_items", "Copy to a folder.", _items("copy"), _copy),
    DocSpaceTool("move_batch_items", "Move to a folder.", _items("move"), _move),
    DocSpaceTool("download_file_as_text", "Download a file as text.", Shape({"fileId": _FILE}), _download, reads=True),
    DocSpaceTool(
        "upload_file",
        "Upload a file.",
        Shape(
            {
                "parentId": Number("The id of the room or folder that it goes into."),
                "filename": Text("Its name, with an extension."),
                "content": Text("What is in it: text, or base64 where encoding says so."),
                "encoding": Optional(
                    Text("How content is written; base64 is for files that are not text.", ("text", "base64"))
                ),
            }
        ),
        _upload,
    ),
)
