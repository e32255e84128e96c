"""The tools of the toolset `folders`."""

from typing import Final

from pegboard.core.tool import JsonObject

from .api import Answer, Api
from .asking import path
from .checking import Flag, Number, Shape, Text, TextOrNumber, Uuid, some
from .choices import APPLY_FILTER, CONTENT_FIELDS, FILTERS, FOLDER_FIELDS, SEARCH_AREAS, SORT_ORDERS
from .files import deletion, operated
from .operations import OPERATIONS
from .shapes import CONTENT, FOLDER
from .tool import COUNT, DocSpaceTool, fields, filters, number, only, told

_FOLDER: Final = Number("The id of the folder.")
_START: Final = Number("The place of the first item, counted from 0.")
_ORDER: Final = Number("The order.", choices=SORT_ORDERS)
_KIND: Final = Number("What kind of items to answer with.", choices=FILTERS)
_WHOSE: Final = Uuid("The user or group whose items to answer with.")
_WHICH: Final = Text("Whether files, folders or both are filtered.", APPLY_FILTER)
_WORDS: Final = Text("What to look for in titles.")
_SORT: Final = Text("What to sort by, such as DateAndTime or AZ.")


async def _create(api: Api, given: JsonObject) -> Answer:
    at = path("files", "folder", number(given, "parentId"))
    return await told("Creating folder.", api.post(at, FOLDER, {"title": given["title"]}, filters(given)))


async def _delete(api: Api, given: JsonObject) -> str:
    at = path("files", "folder", number(given, "folderId"))
    started = await told("Deleting folder.", api.delete(at, OPERATIONS, deletion()))
    return await operated(api, "delete", "folder", started, "Folder deleted.")


async def _content(api: Api, given: JsonObject) -> Answer:
    at = path("files", number(given, "folderId"))
    return await told("Getting folder.", api.get(at, CONTENT, filters(given)))


async def _facts(api: Api, given: JsonObject) -> Answer:
    at = path("files", "folder", number(given, "folderId"))
    return await told("Getting folder info.", api.get(at, FOLDER, filters(given)))


async def _rename(api: Api, given: JsonObject) -> Answer:
    at = path("files", "folder", number(given, "folderId"))
    return await told("Renaming folder.", api.put(at, FOLDER, {"title": given["title"]}, filters(given)))


async def _mine(api: Api, given: JsonObject) -> Answer:
    return await told("Getting my folder.", api.get(path("files", "@my"), CONTENT, filters(given)))


FOLDERS: Final = (
    DocSpaceTool(
        "create_folder",
        "Create a folder.",
        Shape(
            {
                "parentId": Number("The id of the room or folder that it goes into."),
                "title": Text("Its name."),
                "filters": only(FOLDER_FIELDS),
            }
        ),
        _create,
        answers=FOLDER,
    ),
    DocSpaceTool("delete_folder", "Delete a folder.", Shape({"folderId": _FOLDER}), _delete),
    DocSpaceTool(
        "get_folder_content",
        "Get content of a folder.",
        Shape(
            {
                "folderId": _FOLDER,
                "filters": Shape(
                    {
                        **some(
                            userIdOrGroupId=_WHOSE,
                            filterType=_KIND,
                            roomId=TextOrNumber("The id of a room."),
                            excludeSubject=Flag("Whether to leave out the items of that user or group instead."),
                            applyFilterOption=_WHICH,
                            extension=Text("The extension of files, with its dot."),
                            searchArea=Text("Where to look.", SEARCH_AREAS),
                        ),
                        "count": COUNT,
                        **some(startIndex=_START, sortBy=_SORT, sortOrder=_ORDER, filterValue=_WORDS),
                        "fields": fields(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                ),
            }
        ),
        _content,
        reads=True,
        answers=CONTENT,
    ),
    DocSpaceTool(
        "get_folder_info",
        "Get folder information.",
        Shape({"folderId": _FOLDER, "filters": only(FOLDER_FIELDS)}),
        _facts,
        reads=True,
        answers=FOLDER,
    ),
    DocSpaceTool(
        "rename_folder",
        "Rename a folder.",
        Shape({"folderId": _FOLDER, "title": Text("Its new name."), "filters": only(FOLDER_FIELDS)}),
        _rename,
        answers=FOLDER,
    ),
    DocSpaceTool(
        "get_my_folder",
        "Get the 'My Documents' folder.",
        Shape(
            {
                "filters": Shape(
                    {
                        **some(userIdOrGroupId=_WHOSE, filterType=_KIND, applyFilterOption=_WHICH),
                        "count": COUNT,
                        **some(startIndex=_START, sortBy=_SORT, sortOrder=_ORDER, filterValue=_WORDS),
                        "fields": fields(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                )
            }
        ),
        _mine,
        reads=True,
        answers=CONTENT,
    ),
)
