"""What DocSpace answers: the members that are known, all of which may be missing, and the schemas of tools' results."""

from typing import Final

from pegboard.core.tool import JsonObject

from .checking import DIALECT, Anything, Flag, Kind, Many, Number, Party, Shape, Text, TextOrNumber, some

_PERSON: Final = Shape(some(id=Text(), displayName=Text(), isAnonim=Flag()))
_ENTRY: Final = some(
    id=TextOrNumber(),
    rootFolderId=TextOrNumber(),
    canShare=Flag(),
    security=Anything("What the caller may do with it."),
    title=Text(),
    access=Anything("The caller's access level."),
    shared=Flag(),
    created=Text(),
    createdBy=_PERSON,
    fileEntryType=Anything("1 for a folder, 2 for a file."),
)
FILE: Final = Shape(
    {
        **_ENTRY,
        **some(
            folderId=TextOrNumber("The folder that it lies in."),
            fileType=Number(),
            fileExst=Text("The extension, with its dot."),
            comment=Text(),
            encrypted=Flag(),
            locked=Flag(),
        ),
    }
)
FOLDER: Final = Shape(
    {
        **_ENTRY,
        **some(
            parentId=TextOrNumber(),
            filesCount=Number(),
            foldersCount=Number(),
            isShareable=Flag(),
            isFavorite=Flag(),
            tags=Many(Text()),
            roomType=Number("The type of the room; absent for folders that are none."),
            private=Flag(),
            type=Number(),
            inRoom=Flag(),
        ),
    }
)
CONTENT: Final = Shape(
    some(
        files=Many(Shape(_ENTRY)),
        folders=Many(Shape(_ENTRY)),
        current=FOLDER,
        startIndex=Number(),
        count=Number(),
        total=Number(),
    )
)
CREATED_ROOM: Final = Shape({**FOLDER.members, **CONTENT.members})
"""A room is a folder, and is answered as one; today's clients have been told of a folder's content."""
SHARE: Final = Shape(
    some(
        access=Number(),
        sharedTo=Anything("The user, group or link that has the access."),
        isLocked=Flag(),
        isOwner=Flag(),
        canEditAccess=Flag(),
        subjectType=Number(),
    )
)
SHARES: Final = Many(SHARE)
SECURITY: Final = Shape(some(members=SHARES, warning=Text(), error=Anything()))
PEOPLE: Final = Many(
    Shape(
        {
            **_PERSON.members,
            **some(
                email=Anything(),
                birthday=Anything(),
                status=Anything("1 for an active user."),
                department=Anything(),
                isAdmin=Anything(),
                isRoomAdmin=Anything(),
                isOwner=Anything(),
                isVisitor=Anything(),
                isCollaborator=Anything(),
            ),
        }
    )
)


def enveloped(response: Kind) -> JsonObject:
    """The schema of a whole answer. It allows whatever the check of answers lets through, and so members that a newer
    DocSpace adds."""
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {
            "status": {"type": "number", "description": "0 when all is well."},
            "statusCode": {"type": "number", "description": "The HTTP status."},
            "response": _of_itself(response.schema(Party.DOCSPACE)),
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


def _of_itself(schema: JsonObject) -> JsonObject:
    """The response as a whole is never null."""
    match schema.get("type"):
        case [str(name), "null"]:
            return {**schema, "type": name}
        case _:
            return schema
