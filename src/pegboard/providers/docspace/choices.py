"""The numbers and names that DocSpace's API gives to things, and what each means."""

from collections.abc import Mapping
from typing import Final

ROOM_TYPES: Final[Mapping[int, str]] = {
    1: "form filling",
    2: "collaboration",
    5: "custom",
    6: "public",
    8: "virtual data room",
}
ROOM_TYPE_DESCRIPTIONS: Final[Mapping[int, str]] = {
    1: "Form filling room: holds PDF forms for members and guests to fill out, and gathers what they entered.",
    2: "Collaboration room: a team works on documents together.",
    5: "Custom room: set up for a purpose of your own.",
    6: "Public room: its documents can be opened by link, without an account.",
    8: "Virtual data room: documents that are watched and protected against copying.",
}
ACCESS_LEVELS: Final[Mapping[int, str]] = {
    0: "no access",
    2: "viewer",
    5: "reviewer",
    6: "commenter",
    7: "form filler",
    9: "room manager",
    10: "editor",
    11: "content creator",
}
ACCESS_DESCRIPTIONS: Final[Mapping[int, str]] = {
    2: "Viewer: opens files to read them.",
    5: "Reviewer: reads files, suggests changes and comments.",
    6: "Commenter: reads files and comments.",
    7: "Form filler: fills out forms and sees the ones they filled out.",
    9: "Room manager: manages the room and the people in it. Takes a paid seat.",
    10: "Editor: reads, edits, reviews and comments on files that are there.",
    11: "Content creator: makes and edits files, and manages neither people nor settings.",
}
ACCESS_LEVELS_BY_ROOM_TYPE: Final[Mapping[int, tuple[int, ...]]] = {
    1: (7, 9, 11),
    2: (2, 9, 10, 11),
    5: (2, 5, 6, 9, 10, 11),
    6: (9, 11),
    8: (2, 7, 9, 10, 11),
}
"""Which levels an invitation can give, by the type of the room."""

CONTENT_FILTERS: Final[Mapping[int, str]] = {
    0: "everything",
    1: "files",
    2: "folders",
    3: "documents",
    4: "presentations",
    5: "spreadsheets",
    7: "images",
    8: "by user",
    9: "by department",
    10: "archives",
    11: "by extension",
    12: "media",
    13: "form filling rooms",
    14: "collaboration rooms",
    17: "custom rooms",
    20: "public rooms",
    22: "PDF",
    23: "PDF forms",
    24: "virtual data rooms",
}
SHARE_FILTERS: Final[Mapping[int, str]] = {
    0: "users and groups",
    1: "invitation links",
    2: "external links",
    4: "additional external links",
    8: "primary external link",
    16: "users",
    32: "groups",
}
SORT_ORDERS: Final[Mapping[int, str]] = {0: "ascending", 1: "descending"}
APPLY_FILTER: Final = ("All", "Files", "Folders")
SEARCH_AREAS: Final = ("Active", "Archive", "Any", "RecentByLinks", "Template")
ROOM_SORT_KEYS: Final = ("DateAndTime", "AZ", "Author", "RoomType", "Tags")

_ENTRY_FIELDS: Final = (
    *("id", "rootFolderId", "canShare", "security", "title", "access", "shared", "created"),
    *("createdBy.id", "createdBy.displayName", "createdBy.isAnonim", "fileEntryType"),
)
FILE_FIELDS: Final = (*_ENTRY_FIELDS, "folderId", "fileType", "fileExst", "comment", "encrypted", "locked")
FOLDER_FIELDS: Final = (
    *(
        *_ENTRY_FIELDS,
        "parentId",
        "filesCount",
        "foldersCount",
        "isShareable",
        "isFavorite",
        "tags",
        "roomType",
        "private",
    ),
    *("type", "inRoom"),
)
CONTENT_FIELDS: Final = (
    *(f"files.{name}" for name in FILE_FIELDS),
    *(f"folders.{name}" for name in FOLDER_FIELDS),
    *(f"current.{name}" for name in FOLDER_FIELDS),
    *("startIndex", "count", "total"),
)
SHARE_FIELDS: Final = ("access", "sharedTo", "isLocked", "isOwner", "canEditAccess", "subjectType")
SECURITY_FIELDS: Final = (*(f"members.{name}" for name in SHARE_FIELDS), "warning", "error")
PERSON_FIELDS: Final = (
    *("id", "displayName", "isAnonim", "email", "birthday", "status", "department"),
    *("isAdmin", "isRoomAdmin", "isOwner", "isVisitor", "isCollaborator"),
)
