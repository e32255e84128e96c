"""The tools of the toolset `rooms`."""

from collections.abc import Mapping, Sequence
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .api import Answer, Api
from .asking import path
from .checking import DIALECT, Flag, Many, Number, Optional, Shape, Text, some
from .choices import (
    ACCESS,
    ACCESS_IN,
    ACCESS_STORIES,
    CONTENT_FIELDS,
    FOLDER_FIELDS,
    ROOM_SORTS,
    ROOM_TYPE_STORIES,
    ROOM_TYPES,
    SEARCH_AREAS,
    SECURITY_FIELDS,
    SHARE_FIELDS,
    SHARE_FILTERS,
    SORT_ORDERS,
)
from .files import operated
from .operations import OPERATION
from .shapes import CONTENT, CREATED_ROOM, FOLDER, SECURITY, SHARES
from .tool import COUNT, DocSpaceTool, fields, filters, number, only, told, without
from .trouble import Issue, Trouble

_ROOM: Final = Number("The id of the room.")
_PUBLIC: Final = 6
_START: Final = Number("The place of the first item, counted from 0.")


async def _create(api: Api, given: JsonObject) -> Answer:
    body = without(given, "filters")
    return await told("Creating room.", api.post(path("files", "rooms"), CREATED_ROOM, body, filters(given)))


async def _facts(api: Api, given: JsonObject) -> Answer:
    return await told("Getting room info.", api.get(_at(given), FOLDER, filters(given)))


async def _update(api: Api, given: JsonObject) -> Answer:
    body = without(given, "roomId", "filters")
    return await told("Updating room.", api.put(_at(given), FOLDER, body, filters(given)))


async def _archive(api: Api, given: JsonObject) -> str:
    started = await told("Archiving room.", api.put(_at(given, "archive"), OPERATION, {}))
    return await operated(api, "archive", "room", started, "Room archived.")


async def _share(api: Api, given: JsonObject) -> Answer:
    body = without(given, "roomId", "filters")
    return await told("Setting room security.", api.put(_at(given, "share"), SECURITY, body, filters(given)))


async def _shares(api: Api, given: JsonObject) -> Answer:
    return await told("Getting room security info.", api.get(_at(given, "share"), SHARES, filters(given)))


async def _rooms(api: Api, given: JsonObject) -> Answer:
    return await told("Getting rooms folder.", api.get(path("files", "rooms"), CONTENT, filters(given)))


async def _types(api: Api, given: JsonObject) -> JsonObject:
    return _one_of(ROOM_TYPE_STORIES, [*ROOM_TYPES])


async def _levels(api: Api, given: JsonObject) -> JsonObject:
    room = await told("Getting room info.", api.get(_at(given), FOLDER))
    match room.response:
        case {"roomType": int() | float() as kind} if not isinstance(kind, bool):
            pass
        case _:
            raise Trouble("Room type is not defined.")
    if (levels := ACCESS_IN.get(int(kind))) is None:
        # A type that we know no levels of: no list is better than a wrong one.
        expected = "|".join(map(str, ACCESS_IN))
        issue = Issue(("roomType",), "invalid_value", f"Invalid option: expected one of {expected}")
        raise Trouble("Getting room info.", Trouble("Parsing response.", [issue]))
    return _one_of(ACCESS_STORIES, levels)


def _at(given: Mapping[str, Json], *steps: str) -> str:
    return path("files", "rooms", number(given, "roomId"), *steps)


def _one_of(stories: Mapping[int, str], values: Sequence[int]) -> JsonObject:
    """A JSON Schema of the values that fit, each with what it means."""
    told: list[Json] = [{"type": "number", "const": value, "description": stories[value]} for value in values]
    return {"$schema": DIALECT, "anyOf": told}


def _names_somebody(invitation: Mapping[str, Json]) -> Issue | None:
    if invitation.get("id") or invitation.get("email"):
        return None
    return Issue(("id", "email"), "custom", "Either User ID or User Email must be provided.")


ROOMS: Final = (
    DocSpaceTool(
        "create_room",
        "Create a room.",
        Shape(
            {
                "title": Text("Its name."),
                "roomType": Optional(Number("What kind of room.", choices=ROOM_TYPES), _PUBLIC),
                "filters": only(FOLDER_FIELDS),
            }
        ),
        _create,
        answers=CREATED_ROOM,
    ),
    DocSpaceTool(
        "get_room_info",
        "Get room information.",
        Shape({"roomId": _ROOM, "filters": only(FOLDER_FIELDS)}),
        _facts,
        reads=True,
        answers=FOLDER,
    ),
    DocSpaceTool(
        "update_room",
        "Update a room.",
        Shape({"roomId": _ROOM, "title": Optional(Text("Its new name.")), "filters": only(FOLDER_FIELDS)}),
        _update,
        answers=FOLDER,
    ),
    DocSpaceTool("archive_room", "Archive a room.", Shape({"roomId": _ROOM}), _archive),
    DocSpaceTool(
        "set_room_security",
        "Invite or remove users from a room.",
        Shape(
            {
                "roomId": _ROOM,
                "invitations": Many(
                    Shape(
                        some(
                            id=Text("The id of a user. Give it, or email."),
                            email=Text("The e-mail address of somebody who may be no user yet."),
                            access=Number("What they may do; 0 takes them out of the room.", choices=ACCESS),
                        ),
                        also=_names_somebody,
                    ),
                    "Who is invited, gets another access level, or is taken out.",
                ),
                **some(
                    notify=Flag("Whether they are told by e-mail."),
                    message=Text("What the e-mail says."),
                    culture=Text("The language of the e-mail, such as en-US."),
                ),
                "filters": only(SECURITY_FIELDS),
            }
        ),
        _share,
        answers=SECURITY,
    ),
    DocSpaceTool(
        "get_room_security_info",
        "Get a list of users with their access levels to a room.",
        Shape(
            {
                "roomId": _ROOM,
                "filters": Shape(
                    {
                        **some(filterType=Number("Whose access to answer with.", choices=SHARE_FILTERS)),
                        "count": COUNT,
                        **some(startIndex=_START, filterValue=Text("What to look for in names.")),
                        "fields": fields(SHARE_FIELDS),
                    },
                    "What to answer with.",
                ),
            }
        ),
        _shares,
        reads=True,
        answers=SHARES,
    ),
    DocSpaceTool(
        "get_rooms_folder",
        "Get the 'Rooms' folder.",
        Shape(
            {
                "filters": Shape(
                    {
                        **some(
                            type=Many(Number("A type of room.", choices=ROOM_TYPES), "Only rooms of these types."),
                            subjectId=Text("The id of a user whose rooms to answer with."),
                            searchArea=Text("Where to look.", SEARCH_AREAS),
                            withoutTags=Flag("Only rooms that have no tags."),
                            tags=Text('Only rooms with these tags, as a JSON list: ["one","two"].'),
                            excludeSubject=Flag("Whether to leave out the rooms of that user instead."),
                        ),
                        "count": COUNT,
                        **some(
                            startIndex=_START,
                            sortBy=Text("What to sort by.", ROOM_SORTS),
                            sortOrder=Number("The order.", choices=SORT_ORDERS),
                            filterValue=Text("What to look for in titles."),
                        ),
                        "fields": fields(CONTENT_FIELDS),
                    },
                    "What to answer with.",
                )
            }
        ),
        _rooms,
        reads=True,
        answers=CONTENT,
    ),
    DocSpaceTool("get_room_types", "Get a list of available room types.", Shape(), _types, reads=True, checks=False),
    DocSpaceTool(
        "get_room_access_levels",
        "Get a list of available room invitation access levels.",
        Shape({"roomId": _ROOM}),
        _levels,
        reads=True,
    ),
)
