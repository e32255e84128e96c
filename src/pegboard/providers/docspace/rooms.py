"""The tools of the toolset `rooms`."""

from collections.abc import Mapping, Sequence
from typing import Final

from pegboard.core.json.values import Json, JsonObject
from pegboard.providers.docspace.api import DocSpaceAnswer, DocSpaceApi, api_path
from pegboard.providers.docspace.files import await_operation
from pegboard.providers.docspace.limits import DocSpaceError, Issue
from pegboard.providers.docspace.models import (
    ACCESS_DESCRIPTIONS,
    ACCESS_LEVELS,
    ACCESS_LEVELS_BY_ROOM_TYPE,
    CONTENT,
    CONTENT_FIELDS,
    COUNT_ARGUMENT,
    CREATED_ROOM,
    FOLDER,
    FOLDER_FIELDS,
    PEOPLE,
    PERSON_FIELDS,
    ROOM_SORT_KEYS,
    ROOM_TYPE_DESCRIPTIONS,
    ROOM_TYPES,
    SEARCH_AREAS,
    SECURITY,
    SECURITY_FIELDS,
    SHARE_FIELDS,
    SHARE_FILTERS,
    SHARES,
    SORT_ORDERS,
    DocSpaceTool,
    fields_argument,
    filters_argument,
    filters_of,
    number_argument,
    run_step,
    without_members,
)
from pegboard.providers.docspace.operations import OPERATION
from pegboard.providers.docspace.validation import (
    JSON_SCHEMA_DIALECT,
    BooleanType,
    ListType,
    NumberType,
    ObjectType,
    OptionalMember,
    TextType,
    optional_members,
)

_ROOM_ID: Final = NumberType("The id of the room.")
_PUBLIC_ROOM: Final = 6
_START: Final = NumberType("The place of the first item, counted from 0.")


async def _create(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    body = without_members(given, "filters")
    return await run_step("Creating room.", api.post(api_path("files", "rooms"), CREATED_ROOM, body, filters_of(given)))


async def _room_info(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting room info.", api.get(_room_path(given), FOLDER, filters_of(given)))


async def _update(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    body = without_members(given, "roomId", "filters")
    return await run_step("Updating room.", api.put(_room_path(given), FOLDER, body, filters_of(given)))


async def _archive(api: DocSpaceApi, given: JsonObject) -> str:
    started = await run_step("Archiving room.", api.put(_room_path(given, "archive"), OPERATION, {}))
    return await await_operation(api, "archive", "room", started, "Room archived.")


async def _set_share(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    body = without_members(given, "roomId", "filters")
    return await run_step(
        "Setting room security.", api.put(_room_path(given, "share"), SECURITY, body, filters_of(given))
    )


async def _list_shares(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting room security info.", api.get(_room_path(given, "share"), SHARES, filters_of(given)))


async def _list_rooms(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting rooms folder.", api.get(api_path("files", "rooms"), CONTENT, filters_of(given)))


async def _room_types(api: DocSpaceApi, given: JsonObject) -> JsonObject:
    return _choices_schema(ROOM_TYPE_DESCRIPTIONS, [*ROOM_TYPES])


async def _access_levels(api: DocSpaceApi, given: JsonObject) -> JsonObject:
    room = await run_step("Getting room info.", api.get(_room_path(given), FOLDER))
    match room.payload:
        case {"roomType": int() | float() as kind} if not isinstance(kind, bool):
            pass
        case _:
            raise DocSpaceError("Room type is not defined.")
    if (levels := ACCESS_LEVELS_BY_ROOM_TYPE.get(int(kind))) is None:
        # A type that we know no levels of: no list is better than a wrong one.
        expected = "|".join(map(str, ACCESS_LEVELS_BY_ROOM_TYPE))
        issue = Issue(("roomType",), "invalid_value", f"Invalid option: expected one of {expected}")
        raise DocSpaceError("Getting room info.", DocSpaceError("Parsing response.", [issue]))
    return _choices_schema(ACCESS_DESCRIPTIONS, levels)


def _room_path(given: Mapping[str, Json], *steps: str) -> str:
    return api_path("files", "rooms", number_argument(given, "roomId"), *steps)


def _choices_schema(stories: Mapping[int, str], values: Sequence[int]) -> JsonObject:
    """A JSON Schema of the values that fit, each with what it means."""
    told: list[Json] = [{"type": "number", "const": value, "description": stories[value]} for value in values]
    return {"$schema": JSON_SCHEMA_DIALECT, "anyOf": told}


def _check_invitee(invitation: Mapping[str, Json]) -> Issue | None:
    if invitation.get("id") or invitation.get("email"):
        return None
    return Issue(("id", "email"), "custom", "Either User ID or User Email must be provided.")


ROOM_TOOLS: Final = (
    DocSpaceTool(
        "create_room",
        "Create a room.",
        ObjectType(
            {
                "title": TextType("Its name."),
                "roomType": OptionalMember(NumberType("What kind of room.", choices=ROOM_TYPES), _PUBLIC_ROOM),
                "filters": filters_argument(FOLDER_FIELDS),
            }
        ),
        _create,
        response_type=CREATED_ROOM,
    ),
    DocSpaceTool(
        "get_room_info",
        "Get room information.",
        ObjectType({"roomId": _ROOM_ID, "filters": filters_argument(FOLDER_FIELDS)}),
        _room_info,
        is_read_only=True,
        response_type=FOLDER,
    ),
    DocSpaceTool(
        "update_room",
        "Update a room.",
        ObjectType(
            {
                "roomId": _ROOM_ID,
                "title": OptionalMember(TextType("Its new name.")),
                "filters": filters_argument(FOLDER_FIELDS),
            }
        ),
        _update,
        response_type=FOLDER,
    ),
    DocSpaceTool("archive_room", "Archive a room.", ObjectType({"roomId": _ROOM_ID}), _archive),
    DocSpaceTool(
        "set_room_security",
        "Invite or remove users from a room.",
        ObjectType(
            {
                "roomId": _ROOM_ID,
                "invitations": ListType(
                    ObjectType(
                        optional_members(
                            id=TextType("The id of a user. Give it, or email."),
                            email=TextType("The e-mail address of somebody who may be no user yet."),
                            access=NumberType("What they may do; 0 takes them out of the room.", choices=ACCESS_LEVELS),
                        ),
                        extra_check=_check_invitee,
                    ),
                    "Who is invited, gets another access level, or is taken out.",
                ),
                **optional_members(
                    notify=BooleanType("Whether they are told by e-mail."),
                    message=TextType("What the e-mail says."),
                    culture=TextType("The language of the e-mail, such as en-US."),
                ),
                "filters": filters_argument(SECURITY_FIELDS),
            }
        ),
        _set_share,
        response_type=SECURITY,
    ),
    DocSpaceTool(
        "get_room_security_info",
        "Get a list of users with their access levels to a room.",
        ObjectType(
            {
                "roomId": _ROOM_ID,
                "filters": ObjectType(
                    {
                        **optional_members(
                            filterType=NumberType("Whose access to answer with.", choices=SHARE_FILTERS)
                        ),
                        "count": COUNT_ARGUMENT,
                        **optional_members(startIndex=_START, filterValue=TextType("What to look for in names.")),
                        "fields": fields_argument(SHARE_FIELDS),
                    },
                    "What to answer with.",
                ),
            }
        ),
        _list_shares,
        is_read_only=True,
        response_type=SHARES,
    ),
    DocSpaceTool(
        "get_rooms_folder",
        "Get the 'Rooms' folder.",
        ObjectType(
            {
                "filters": ObjectType(
                    {
                        **optional_members(
                            type=ListType(
                                NumberType("A type of room.", choices=ROOM_TYPES), "Only rooms of these types."
                            ),
                            subjectId=TextType("The id of a user whose rooms to answer with."),
                            searchArea=TextType("Where to look.", SEARCH_AREAS),
                            withoutTags=BooleanType("Only rooms that have no tags."),
                            tags=TextType('Only rooms with these tags, as a JSON list: ["one","two"].'),
                            excludeSubject=BooleanType("Whether to leave out the rooms of that user instead."),
                        ),
                        "count": COUNT_ARGUMENT,
                        **optional_members(
                            startIndex=_START,
                            sortBy=TextType("What to sort by.", ROOM_SORT_KEYS),
                            sortOrder=NumberType("The order.", choices=SORT_ORDERS),
                            filterValue=TextType("What to look for in titles."),
                        ),
                        "fields": fields_argument(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                )
            }
        ),
        _list_rooms,
        is_read_only=True,
        response_type=CONTENT,
    ),
    DocSpaceTool(
        "get_room_types",
        "Get a list of available room types.",
        ObjectType(),
        _room_types,
        is_read_only=True,
        checks_arguments=False,
    ),
    DocSpaceTool(
        "get_room_access_levels",
        "Get a list of available room invitation access levels.",
        ObjectType({"roomId": _ROOM_ID}),
        _access_levels,
        is_read_only=True,
    ),
)


# The tools of the toolset `people`.


async def _list_people(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    return await run_step("Getting people.", api.get(api_path("people", "filter"), PEOPLE, filters_of(given)))


PEOPLE_TOOLS: Final = (
    DocSpaceTool(
        "get_all_people",
        "Get all people.",
        ObjectType(
            {
                "filters": ObjectType(
                    {
                        "count": COUNT_ARGUMENT,
                        **optional_members(
                            startIndex=NumberType("The place of the first user, counted from 0."),
                            sortBy=TextType("What to sort by, such as displayname."),
                            sortOrder=NumberType("The order.", choices=SORT_ORDERS),
                            filterSeparator=TextType("What stands between the words of filterValue."),
                            filterValue=TextType("What to look for in names and addresses."),
                        ),
                        "fields": fields_argument(PERSON_FIELDS),
                    },
                    "Which users to answer with, and what of them.",
                )
            }
        ),
        _list_people,
        is_read_only=True,
        response_type=PEOPLE,
    ),
)
