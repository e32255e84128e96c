"""What DocSpace answers: the members that are known, all of which may be missing, and the schemas of tools' results."""

from typing import Final

from pegboard.core.tool import JsonObject

from .checking import (
    JSON_SCHEMA_DIALECT,
    AnyValueType,
    BooleanType,
    ListType,
    NumberType,
    ObjectType,
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
