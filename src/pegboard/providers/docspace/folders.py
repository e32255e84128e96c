"""The tools of the toolset `folders`."""

from typing import Final

from pegboard.core.json.values import JsonObject
from pegboard.providers.docspace.api import DocSpaceAnswer, DocSpaceApi, api_path
from pegboard.providers.docspace.files import await_operation, deletion_body
from pegboard.providers.docspace.models import (
    APPLY_FILTER,
    CONTENT,
    CONTENT_FIELDS,
    CONTENT_FILTERS,
    COUNT_ARGUMENT,
    FOLDER,
    FOLDER_FIELDS,
    SEARCH_AREAS,
    SORT_ORDERS,
    DocSpaceTool,
    fields_argument,
    filters_argument,
    filters_of,
    number_argument,
    run_step,
)
from pegboard.providers.docspace.operations import OPERATIONS
from pegboard.providers.docspace.validation import (
    BooleanType,
    NumberType,
    ObjectType,
    TextOrNumberType,
    TextType,
    UuidType,
    optional_members,
)

_FOLDER_ID: Final = NumberType("The id of the folder.")
_START: Final = NumberType("The place of the first item, counted from 0.")
_ORDER: Final = NumberType("The order.", choices=SORT_ORDERS)
_CONTENT_FILTER: Final = NumberType("What kind of items to answer with.", choices=CONTENT_FILTERS)
_OWNER: Final = UuidType("The user or group whose items to answer with.")
_APPLY_TO: Final = TextType("Whether files, folders or both are filtered.", APPLY_FILTER)
_SEARCH_TEXT: Final = TextType("What to look for in titles.")
_SORT: Final = TextType("What to sort by, such as DateAndTime or AZ.")


async def _create(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "folder", number_argument(given, "parentId"))
    return await run_step("Creating folder.", api.post(at, FOLDER, {"title": given["title"]}, filters_of(given)))


async def _delete(api: DocSpaceApi, given: JsonObject) -> str:
    at = api_path("files", "folder", number_argument(given, "folderId"))
    started = await run_step("Deleting folder.", api.delete(at, OPERATIONS, deletion_body()))
    return await await_operation(api, "delete", "folder", started, "Folder deleted.")


async def _content(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", number_argument(given, "folderId"))
    return await run_step("Getting folder.", api.get(at, CONTENT, filters_of(given)))


async def _folder_info(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "folder", number_argument(given, "folderId"))
    return await run_step("Getting folder info.", api.get(at, FOLDER, filters_of(given)))


async def _rename(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "folder", number_argument(given, "folderId"))
    return await run_step("Renaming folder.", api.put(at, FOLDER, {"title": given["title"]}, filters_of(given)))


async def _my_folder(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting my folder.", api.get(api_path("files", "@my"), CONTENT, filters_of(given)))


FOLDER_TOOLS: Final = (
    DocSpaceTool(
        "create_folder",
        "Create a folder.",
        ObjectType(
            {
                "parentId": NumberType("The id of the room or folder that it goes into."),
                "title": TextType("Its name."),
                "filters": filters_argument(FOLDER_FIELDS),
            }
        ),
        _create,
        response_type=FOLDER,
    ),
    DocSpaceTool("delete_folder", "Delete a folder.", ObjectType({"folderId": _FOLDER_ID}), _delete),
    DocSpaceTool(
        "get_folder_content",
        "Get content of a folder.",
        ObjectType(
            {
                "folderId": _FOLDER_ID,
                "filters": ObjectType(
                    {
                        **optional_members(
                            userIdOrGroupId=_OWNER,
                            filterType=_CONTENT_FILTER,
                            roomId=TextOrNumberType("The id of a room."),
                            excludeSubject=BooleanType("Whether to leave out the items of that user or group instead."),
                            applyFilterOption=_APPLY_TO,
                            extension=TextType("The extension of files, with its dot."),
                            searchArea=TextType("Where to look.", SEARCH_AREAS),
                        ),
                        "count": COUNT_ARGUMENT,
                        **optional_members(startIndex=_START, sortBy=_SORT, sortOrder=_ORDER, filterValue=_SEARCH_TEXT),
                        "fields": fields_argument(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                ),
            }
        ),
        _content,
        is_read_only=True,
        response_type=CONTENT,
    ),
    DocSpaceTool(
        "get_folder_info",
        "Get folder information.",
        ObjectType({"folderId": _FOLDER_ID, "filters": filters_argument(FOLDER_FIELDS)}),
        _folder_info,
        is_read_only=True,
        response_type=FOLDER,
    ),
    DocSpaceTool(
        "rename_folder",
        "Rename a folder.",
        ObjectType(
            {"folderId": _FOLDER_ID, "title": TextType("Its new name."), "filters": filters_argument(FOLDER_FIELDS)}
        ),
        _rename,
        response_type=FOLDER,
    ),
    DocSpaceTool(
        "get_my_folder",
        "Get the 'My Documents' folder.",
        ObjectType(
            {
                "filters": ObjectType(
                    {
                        **optional_members(
                            userIdOrGroupId=_OWNER, filterType=_CONTENT_FILTER, applyFilterOption=_APPLY_TO
                        ),
                        "count": COUNT_ARGUMENT,
                        **optional_members(startIndex=_START, sortBy=_SORT, sortOrder=_ORDER, filterValue=_SEARCH_TEXT),
                        "fields": fields_argument(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                )
            }
        ),
        _my_folder,
        is_read_only=True,
        response_type=CONTENT,
    ),
)
