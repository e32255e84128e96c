"""DocSpace's answers: known members, all optional, and output schemas of the tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from pegboard.core.json.values import Json, JsonObject
from pegboard.core.model.tool import ToolSpec
from pegboard.providers.docspace.api import DocSpaceAnswer, DocSpaceApi
from pegboard.providers.docspace.limits import DocSpaceError
from pegboard.providers.docspace.validation import (
    JSON_SCHEMA_DIALECT,
    AnyValueType,
    BooleanType,
    ListType,
    NumberType,
    ObjectType,
    OptionalMember,
    TextOrNumberType,
    TextType,
    ValueSender,
    ValueType,
    optional_members,
)

_PERSON: Final = ObjectType(optional_members(id=TextType(), displayName=TextType(), isAnonim=BooleanType()))
_ENTRY: Final = optional_members(
    id=TextOrNumberType(),
    rootFolderId=TextOrNumberType(),
    canShare=BooleanType(),
    security=AnyValueType("What the caller may do with it."),
    title=TextType(),
    access=AnyValueType("The caller's access level."),
    shared=BooleanType(),
    created=TextType(),
    createdBy=_PERSON,
    fileEntryType=AnyValueType("1 for a folder, 2 for a file."),
)
FILE: Final = ObjectType(
    {
        **_ENTRY,
        **optional_members(
            folderId=TextOrNumberType("The folder that it lies in."),
            fileType=NumberType(),
            fileExst=TextType("The extension, with its dot."),
            comment=TextType(),
            encrypted=BooleanType(),
            locked=BooleanType(),
        ),
    }
)
FOLDER: Final = ObjectType(
    {
        **_ENTRY,
        **optional_members(
            parentId=TextOrNumberType(),
            filesCount=NumberType(),
            foldersCount=NumberType(),
            isShareable=BooleanType(),
            isFavorite=BooleanType(),
            tags=ListType(TextType()),
            roomType=NumberType("The type of the room; absent for folders that are none."),
            private=BooleanType(),
            type=NumberType(),
            inRoom=BooleanType(),
        ),
    }
)
CONTENT: Final = ObjectType(
    optional_members(
        files=ListType(ObjectType(_ENTRY)),
        folders=ListType(ObjectType(_ENTRY)),
        current=FOLDER,
        startIndex=NumberType(),
        count=NumberType(),
        total=NumberType(),
    )
)
CREATED_ROOM: Final = ObjectType({**FOLDER.members, **CONTENT.members})
"""A room is a folder, and is answered as one; today's clients have been told of a folder's content."""
SHARE: Final = ObjectType(
    optional_members(
        access=NumberType(),
        sharedTo=AnyValueType("The user, group or link that has the access."),
        isLocked=BooleanType(),
        isOwner=BooleanType(),
        canEditAccess=BooleanType(),
        subjectType=NumberType(),
    )
)
SHARES: Final = ListType(SHARE)
SECURITY: Final = ObjectType(optional_members(members=SHARES, warning=TextType(), error=AnyValueType()))
PEOPLE: Final = ListType(
    ObjectType(
        {
            **_PERSON.members,
            **optional_members(
                email=AnyValueType(),
                birthday=AnyValueType(),
                status=AnyValueType("1 for an active user."),
                department=AnyValueType(),
                isAdmin=AnyValueType(),
                isRoomAdmin=AnyValueType(),
                isOwner=AnyValueType(),
                isVisitor=AnyValueType(),
                isCollaborator=AnyValueType(),
            ),
        }
    )
)


def envelope_schema(response: ValueType) -> JsonObject:
    """The schema of a whole answer. It allows whatever the check of answers lets through, and so members that a newer
    DocSpace adds."""
    return {
        "$schema": JSON_SCHEMA_DIALECT,
        "type": "object",
        "properties": {
            "status": {"type": "number", "description": "0 when all is well."},
            "statusCode": {"type": "number", "description": "The HTTP status."},
            "response": _without_null(response.schema(ValueSender.DOCSPACE)),
            "count": {"type": ["number", "null"], "description": "How many items this answer holds."},
            "total": {"type": ["number", "null"], "description": "How many items there are."},
            "links": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"href": {"type": "string"}, "action": {"type": "string"}},
                    "required": ["href", "action"],
                },
            },
        },
        "required": ["status", "statusCode", "response", "links"],
    }


def _without_null(schema: JsonObject) -> JsonObject:
    """The response as a whole is never null."""
    match schema.get("type"):
        case [str(name), "null"]:
            return {**schema, "type": name}
        case _:
            return schema


# The numbers and names that DocSpace's API gives to things, and what each means.

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


# A tool of DocSpace: what it is called with, what it does, and what it answers.

ToolFunction: TypeAlias = Callable[[DocSpaceApi, JsonObject], Awaitable[str | DocSpaceAnswer | JsonObject]]
"""Takes arguments that fit. A text is the result; an answer is told whole; anything else is told as JSON. Raises
`DocSpaceError`."""

COUNT_ARGUMENT: Final = OptionalMember(NumberType("How many items to answer with.", minimum=1, maximum=50), 30)


@dataclass(frozen=True)
class DocSpaceTool:
    name: str
    description: str
    arguments: ObjectType
    function: ToolFunction
    is_read_only: bool = False
    response_type: ValueType | None = None
    """What is in the envelope that the tool answers with, where it answers with one."""
    checks_arguments: bool = True
    """Whether what a caller sends is looked at."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema={"$schema": JSON_SCHEMA_DIALECT, **self.arguments.schema(ValueSender.CALLER)},
            output_schema=None if self.response_type is None else envelope_schema(self.response_type),
            annotations={"readOnlyHint": self.is_read_only, "destructiveHint": not self.is_read_only},
        )


def fields_argument(choices: tuple[str, ...]) -> ListType:
    return ListType(TextType(choices=choices), "Which members to answer with. All of them for an empty list.")


def filters_argument(choices: tuple[str, ...]) -> ObjectType:
    """Filters that choose members, and nothing else."""
    return ObjectType({"fields": fields_argument(choices)}, "Keeps the answer small.")


def number_argument(given: Mapping[str, Json], name: str) -> float:
    value = given[name]
    assert isinstance(value, int | float)
    return value


def filters_of(given: Mapping[str, Json]) -> JsonObject:
    value = given["filters"]
    assert isinstance(value, dict)
    return value


def without_members(given: Mapping[str, Json], *names: str) -> JsonObject:
    """The rest of the arguments, as a body: what was left out stays out."""
    return {name: value for name, value in given.items() if name not in names}


async def run_step(step: str, answer: Awaitable[DocSpaceAnswer]) -> DocSpaceAnswer:
    """Whatever goes wrong goes wrong in this step."""
    try:
        return await answer
    except DocSpaceError as failed:
        raise DocSpaceError(step, failed) from failed
