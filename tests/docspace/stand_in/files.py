"""The API's files and folders: read, named, put somewhere, thrown away, converted."""

from collections.abc import Callable
from typing import Any

from .asking import Ask, Reply, paged, route
from .shapes import content_told, file_told, folder_told, operation_told
from .world import MY, TRASH, File, Folder, Operation, Session, Wrong

DELETE, COPY, MOVE, DOWNLOAD = 2, 1, 0, 5
MAX_UPLOAD = 1 << 30


def content_of(ask: Ask, current: Folder, folders: list[Folder] | None = None) -> Reply:
    """Folders before files, filtered, sorted, and of these the page that was asked for."""
    world = ask.world
    inside = world.folders_in(current.id) if folders is None else folders
    wanted = ask.one("applyFilterOption")
    words = (ask.one("filterValue") or "").casefold()
    extension = ask.one("extension")
    entries: list[Folder | File] = [each for each in inside if wanted != "Files" and words in each.title.casefold()]
    entries += [
        each
        for each in world.files_in(current.id)
        if wanted != "Folders" and words in each.title.casefold() and extension in (None, "", each.extension)
    ]
    if ask.one("sortBy") == "AZ":
        entries.sort(key=lambda each: each.title)
    if ask.one("sortOrder") in ("1", "descending"):
        entries.reverse()
    page = paged(ask, entries)
    shown = [each for each in page if isinstance(each, Folder)]
    return content_told(
        world, current, shown, [each for each in page if isinstance(each, File)], ask.number("startIndex", 0)
    )


def _begin(ask: Ask, kind: int, effect: Callable[[], object]) -> Operation:
    def done(operation: Operation) -> None:
        try:
            effect()
        except Wrong as wrong:
            operation.error = wrong.message

    return ask.world.start(kind, done)


def _read_file(ask: Ask) -> Reply:
    return file_told(ask.world, ask.world.file(ask.id()))


def _name_file(ask: Ask) -> Reply:
    file = ask.world.file(ask.id())
    ask.world.changing(file.id, file.folder)
    file.title = ask.text("title") or file.title
    file.version += 1
    return file_told(ask.world, file)


def _throw_file(ask: Ask) -> Reply:
    file = ask.world.file(ask.id())
    ask.world.changing(file.id, file.folder)
    return [operation_told(_begin(ask, DELETE, lambda: ask.world.move([file.id], [], TRASH)))]


def _read_folder(ask: Ask) -> Reply:
    return folder_told(ask.world, ask.world.folder(ask.id()))


def _make_folder(ask: Ask) -> Reply:
    return folder_told(ask.world, ask.world.make_folder(ask.world.folder(ask.id()).id, ask.text("title")))


def _name_folder(ask: Ask) -> Reply:
    folder = ask.world.folder(ask.id())
    ask.world.changing(folder.id)
    folder.title = ask.text("title") or folder.title
    return folder_told(ask.world, folder)


def _throw_folder(ask: Ask) -> Reply:
    folder = ask.world.folder(ask.id())
    ask.world.changing(folder.id, folder.parent)
    return [operation_told(_begin(ask, DELETE, lambda: ask.world.move([], [folder.id], TRASH)))]


def _batch(kind: int) -> Callable[[Ask], Reply]:
    def answer(ask: Ask) -> Reply:
        body: Any = ask.body if isinstance(ask.body, dict) else {}
        where = ask.world.folder(_destination(body))
        files, folders = ask.ids_of("fileIds"), ask.ids_of("folderIds")
        ask.world.changing(where.id, *(files + folders if kind == MOVE else []))
        act = ask.world.move if kind == MOVE else ask.world.copy
        return [operation_told(_begin(ask, kind, lambda: act(files, folders, where.id)))]

    return answer


def _destination(body: dict[str, Any]) -> int | None:
    given = body.get("destFolderId")
    return given if isinstance(given, int) else None


def _download(ask: Ask) -> Reply:
    """Each file of the batch in the format that it is to become; here all of them are text."""
    wanted = ask.body.get("fileConvertIds") if isinstance(ask.body, dict) else None
    if not wanted:
        raise Wrong(400, "The fileConvertIds field is required")
    files = [ask.world.file(each["key"]) for each in wanted]
    token = f"{ask.world.number()}{wanted[0]['value']}"

    def done(operation: Operation) -> None:
        ask.world.downloads[token] = b"".join(file.content for file in files)
        operation.url = f"{ask.world.downloads_at or ask.base}dl/{token}"

    return [operation_told(ask.world.start(DOWNLOAD, done))]


def _operations(ask: Ask) -> Reply:
    for operation in ask.world.operations.values():
        operation.ask()
    return [operation_told(each) for each in ask.world.operations.values()]


def _begin_upload(ask: Ask) -> Reply:
    folder = ask.world.folder(ask.id())
    ask.world.changing(folder.id)
    size = ask.body.get("fileSize") if isinstance(ask.body, dict) else None
    if not isinstance(size, int) or not 0 <= size <= MAX_UPLOAD:
        raise Wrong(400, "The fileSize field is required")
    id = f"sess-{ask.world.number()}"
    ask.world.sessions[id] = Session(folder.id, ask.text("fileName"), size)
    told = {
        "id": id,
        "path": [ask.world.root_of(folder.id), folder.id],
        "created": "2025-01-01T00:00:00Z",
        "expired": "2025-01-01T12:00:00Z",
        "location": f"{ask.base}ChunkedUploader.ashx?uid={id}",
        "bytes_uploaded": 0,
        "bytes_total": size,
    }
    return {"success": True, "data": told}


ROUTES = (
    route("GET", "files/file/{}", _read_file),
    route("PUT", "files/file/{}", _name_file),
    route("DELETE", "files/file/{}", _throw_file),
    route("GET", "files/folder/{}", _read_folder),
    route("POST", "files/folder/{}", _make_folder),
    route("PUT", "files/folder/{}", _name_folder),
    route("DELETE", "files/folder/{}", _throw_folder),
    route("GET", "files/@my", lambda ask: content_of(ask, ask.world.folder(MY))),
    route("GET", "files/@trash", lambda ask: content_of(ask, ask.world.folder(TRASH))),
    route("GET", "files/settings", lambda ask: {"extsConvertible": ask.world.convertible}),
    route("GET", "files/fileops", _operations),
    route("PUT", "files/fileops/copy", _batch(COPY)),
    route("PUT", "files/fileops/move", _batch(MOVE)),
    route("PUT", "files/fileops/bulkdownload", _download),
    route("POST", "files/{}/upload/create_session", _begin_upload),
)
AFTER_ROOMS = (route("GET", "files/{}", lambda ask: content_of(ask, ask.world.folder(ask.id()))),)
"""A folder by its bare number: tried last, since every other name would fit it too."""
