"""How the API tells of what it holds, in the shapes of the recorded answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from .world import FOLDER_TYPES, ROOM_FOLDER_TYPES, File, Folder, Operation, Person, World

Told: TypeAlias = dict[str, Any]
CREATED = "2025-01-01T00:00:00.0000000Z"
FILE_TYPES = {".txt": 7, ".csv": 5, ".xlsx": 5, ".docx": 7, ".doc": 7, ".pptx": 6, ".pdf": 10, ".png": 4}


def envelope(response: Any, url: str, *, method: str = "GET", total: int | None = None) -> Told:
    count = len(response) if isinstance(response, list) else 1
    told = {
        "response": response,
        "count": count,
        "links": [{"action": method, "href": url}],
        "status": 0,
        "statusCode": 200,
    }
    return told if total is None else {**told, "total": total}


def error(status: int, message: str) -> Told:
    inner = {"message": message, "type": "System.Exception", "stack": "", "hresult": -1}
    return {"error": inner, "status": 1, "statusCode": status}


def briefly(person: Person) -> Told:
    return {"id": person.id, "displayName": person.name, "isAnonim": False, "avatar": "/a.png"}


def person_told(person: Person, owner: Person) -> Told:
    return {
        **briefly(person),
        "email": person.email,
        "birthday": "1990-01-01",
        "status": person.status,
        "department": "",
        "isAdmin": person.is_admin or person is owner,
        "isRoomAdmin": False,
        "isOwner": person is owner,
        "isVisitor": False,
        "isCollaborator": False,
    }


def _entry(world: World, id: int, title: str, within: int, kind: int) -> Told:
    return {
        "id": id,
        "rootFolderId": world.root_of(within),
        "canShare": True,
        "security": {"Read": True},
        "title": title,
        "access": 0,
        "shared": False,
        "created": CREATED,
        "createdBy": briefly(world.owner),
        "fileEntryType": kind,
    }


def file_told(world: World, file: File) -> Told:
    return {
        **_entry(world, file.id, file.title, file.folder, 2),
        "folderId": file.folder,
        "fileType": FILE_TYPES.get(file.extension, 0),
        "fileExst": file.extension,
        "comment": "Created",
        "encrypted": False,
        "locked": False,
        "version": file.version,
        "contentLength": f"{len(file.content)} bytes",
    }


def folder_told(world: World, folder: Folder) -> Told:
    type = FOLDER_TYPES.get(folder.id, 0)
    told = {
        **_entry(world, folder.id, folder.title, folder.id, 1),
        "parentId": folder.parent,
        "filesCount": len(world.files_in(folder.id)),
        "foldersCount": len(world.folders_in(folder.id)),
        "isShareable": True,
        "isFavorite": False,
        "tags": list(folder.tags),
        "private": False,
        "type": type if folder.room_type is None else ROOM_FOLDER_TYPES[folder.room_type],
        "inRoom": folder.room_type is None and any(each.room_type for each in _above(world, folder)),
    }
    return told if folder.room_type is None else {**told, "roomType": folder.room_type}


def _above(world: World, folder: Folder) -> Iterable[Folder]:
    while folder.parent in world.folders:
        folder = world.folders[folder.parent]
        yield folder


def content_told(world: World, current: Folder, folders: Sequence[Folder], files: Sequence[File], start: int) -> Told:
    return {
        "files": [file_told(world, each) for each in files],
        "folders": [folder_told(world, each) for each in folders],
        "current": folder_told(world, current),
        "pathParts": [],
        "startIndex": start,
        "count": len(folders) + len(files),
        "total": len(world.folders_in(current.id)) + len(world.files_in(current.id)),
        "new": 0,
    }


def shares_told(world: World, room: Folder) -> list[Told]:
    return [
        {
            "access": access,
            "sharedTo": briefly(world.people[id]),
            "isLocked": False,
            "isOwner": id == world.owner.id,
            "canEditAccess": id != world.owner.id,
            "subjectType": 0,
        }
        for id, access in room.access.items()
    ]


def operation_told(operation: Operation) -> Told:
    told = {
        "id": operation.id,
        "operation": operation.kind,
        "progress": operation.progress,
        "error": operation.error,
        "processed": "1" if operation.ended else "0",
        "finished": operation.ended,
    }
    return told | ({"url": operation.url} if operation.url else {})


def only(told: Any, fields: Sequence[str]) -> Any:
    """What was asked for by `fields`, dotted for what lies deeper; all of it when nothing was."""
    if not fields:
        return told
    if isinstance(told, list):
        return [only(each, fields) for each in told]
    if not isinstance(told, Mapping):
        return told
    kept: Told = {}
    for key, value in told.items():
        deeper = [field.removeprefix(f"{key}.") for field in fields if field.startswith(f"{key}.")]
        if key in fields:
            kept[key] = value
        elif deeper:
            kept[key] = only(value, deeper)
    return kept
