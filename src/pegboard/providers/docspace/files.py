"""The tools of the toolset `files`."""

from typing import Final

from pegboard.core.tool import JsonObject

from .api import DocSpaceAnswer, DocSpaceApi
from .asking import api_path
from .checking import AnyValueType, ListType, NumberType, ObjectType, OptionalMember, TextType
from .choices import FILE_FIELDS
from .downloading import download
from .operations import OPERATIONS, wait_until_done
from .shapes import CONTENT, FILE
from .tool import DocSpaceTool, filters_argument, filters_of, number_argument, run_step
from .trouble import DocSpaceError
from .uploading import upload

_FILE_ID: Final = NumberType("The id of the file.")
_KEEP_BOTH: Final = 2
"""What a copy or move does where the name is taken: it keeps both."""


async def await_operation(api: DocSpaceApi, doing: str, noun: str, started: DocSpaceAnswer, done: str) -> str:
    """Waits for what was started."""
    try:
        await wait_until_done(api, started.payload)
    except DocSpaceError as failed:
        raise DocSpaceError(f"Resolving {doing} {noun} operations.", failed) from failed
    return done


async def _delete(api: DocSpaceApi, given: JsonObject) -> str:
    file = number_argument(given, "fileId")
    trash = await run_step("Getting trash folder.", api.get(api_path("files", "@trash"), CONTENT))
    match trash.payload:
        case {"current": dict(current)}:
            pass
        case _:
            raise DocSpaceError("Trash folder is not defined.")
    if (bin_ := current.get("id")) is None:
        raise DocSpaceError("Trash folder ID is not defined.")
    facts = await run_step("Getting file info.", api.get(api_path("files", "file", file), FILE))
    match facts.payload:
        case {"folderId": folder} if folder is not None:
            pass
        case _:
            raise DocSpaceError("File folder ID is not defined.")
    if folder == bin_:
        return "File is already in the trash folder."
    started = await run_step("Deleting file.", api.delete(api_path("files", "file", file), OPERATIONS, deletion_body()))
    return await await_operation(api, "delete", "file", started, "File deleted.")


def deletion_body() -> JsonObject:
    """Into the trash, where it can be fetched from again."""
    return {"deleteAfter": False, "immediately": False}


async def _file_info(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "file", number_argument(given, "fileId"))
    return await run_step("Getting file info.", api.get(at, FILE, filters_of(given)))


async def _update(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "file", number_argument(given, "fileId"))
    return await run_step("Updating file.", api.put(at, FILE, {"title": given["title"]}))


async def _copy(api: DocSpaceApi, given: JsonObject) -> str:
    started = await run_step("Copying batch items.", _start_batch(api, "copy", given))
    return await await_operation(api, "copy", "batch items", started, "Batch items copied.")


async def _move(api: DocSpaceApi, given: JsonObject) -> str:
    started = await run_step("Moving batch items.", _start_batch(api, "move", given))
    return await await_operation(api, "move", "batch items", started, "Batch items moved.")


async def _start_batch(api: DocSpaceApi, act: str, given: JsonObject) -> DocSpaceAnswer:
    body: JsonObject = {**given, "conflictResolveType": _KEEP_BOTH, "deleteAfter": False}
    return await api.put(api_path("files", "fileops", act), OPERATIONS, body)


async def _download(api: DocSpaceApi, given: JsonObject) -> str:
    return await download(api, number_argument(given, "fileId"))


async def _upload(api: DocSpaceApi, given: JsonObject) -> JsonObject:
    return await upload(api, given)


def _batch_arguments(verb: str) -> ObjectType:
    return ObjectType(
        {
            "folderIds": OptionalMember(
                ListType(
                    AnyValueType(),
                    f"The ids of the folders to {verb}: numbers, or texts for folders of other storages.",
                )
            ),
            "fileIds": OptionalMember(ListType(AnyValueType(), f"The ids of the files to {verb}.")),
            "destFolderId": OptionalMember(AnyValueType(f"The id of the folder to {verb} them into.")),
        }
    )


FILE_TOOLS: Final = (
    DocSpaceTool("delete_file", "Delete a file.", ObjectType({"fileId": _FILE_ID}), _delete),
    DocSpaceTool(
        "get_file_info",
        "Get file information.",
        ObjectType({"fileId": _FILE_ID, "filters": filters_argument(FILE_FIELDS)}),
        _file_info,
        is_read_only=True,
        response_type=FILE,
    ),
    DocSpaceTool(
        "update_file",
        "Update a file.",
        ObjectType({"fileId": _FILE_ID, "title": TextType("Its new name.")}),
        _update,
        response_type=FILE,
    ),
    DocSpaceTool("copy_batch_items", "Copy to a folder.", _batch_arguments("copy"), _copy),
    DocSpaceTool("move_batch_items", "Move to a folder.", _batch_arguments("move"), _move),
    DocSpaceTool(
        "download_file_as_text",
        "Download a file as text.",
        ObjectType({"fileId": _FILE_ID}),
        _download,
        is_read_only=True,
    ),
    DocSpaceTool(
        "upload_file",
        "Upload a file.",
        ObjectType(
            {
                "parentId": NumberType("The id of the room or folder that it goes into."),
                "filename": TextType("Its name, with an extension."),
                "content": TextType("What is in it: text, or base64 where encoding says so."),
                "encoding": OptionalMember(
                    TextType("How content is written; base64 is for files that are not text.", ("text", "base64"))
                ),
            }
        ),
        _upload,
    ),
)
