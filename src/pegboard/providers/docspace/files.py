"""The tools of the toolset `files`."""

import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from typing import Final
from urllib.parse import urlsplit

from pegboard.core.json.values import Json, JsonObject
from pegboard.providers.docspace.api import DocSpaceAnswer, DocSpaceApi, api_path, api_url, check_response, parse_body
from pegboard.providers.docspace.client import DocSpaceRequest, ReplayableBody
from pegboard.providers.docspace.javascript import encode_utf8
from pegboard.providers.docspace.limits import DocSpaceError, run_off_loop
from pegboard.providers.docspace.models import (
    CONTENT,
    FILE,
    FILE_FIELDS,
    DocSpaceTool,
    filters_argument,
    filters_of,
    number_argument,
    run_step,
)
from pegboard.providers.docspace.operations import OPERATIONS, wait_until_done
from pegboard.providers.docspace.validation import (
    AnyValueType,
    ListType,
    MapType,
    NumberType,
    ObjectType,
    OptionalMember,
    TextType,
    decode_base64,
    optional_members,
)

# A file as text: converted by DocSpace where it is none, and fetched from where DocSpace puts it.

_PLAIN_TEXT_EXTENSIONS: Final = (".csv", ".txt")
_SETTINGS_TYPE: Final = ObjectType(optional_members(extsConvertible=MapType(ListType(TextType()))))
_MAX_ERROR_BYTES: Final = 1024 * 1024


async def download(api: DocSpaceApi, file: float) -> str:
    """Raises `DocSpaceError`."""
    target = await _target_extension(api, file)
    body: JsonObject = {"fileConvertIds": [{"key": file, "value": target}]}
    try:
        started = await api.put(api_path("files", "fileops", "bulkdownload"), OPERATIONS, body)
    except DocSpaceError as failed:
        raise DocSpaceError("Making bulk download.", failed) from failed
    try:
        done = await wait_until_done(api, started.payload)
    except DocSpaceError as failed:
        raise DocSpaceError("Resolving bulk download operations.", failed) from failed
    if not done:
        raise DocSpaceError("No resolved operations.")
    if len(done) > 1:
        raise DocSpaceError(f"Expected 1 resolved operation, got {len(done)}.")
    if not done[0].url:
        raise DocSpaceError("Resolved operation has no URL.")
    return await _fetch_text(api, done[0].url)


async def _target_extension(api: DocSpaceApi, file: float) -> str:
    """The extension of the text that this file is, or can be converted to."""
    try:
        facts = await api.get(api_path("files", "file", file), FILE)
    except DocSpaceError as failed:
        raise DocSpaceError("Getting file info.", failed) from failed
    match facts.payload:
        case {"fileExst": str(own)} if own:
            pass
        case _:
            raise DocSpaceError("File extension is not defined.")
    if own in _PLAIN_TEXT_EXTENSIONS:
        return own
    try:
        settings = await api.get(api_path("files", "settings"), _SETTINGS_TYPE)
    except DocSpaceError as failed:
        raise DocSpaceError("Getting files settings.", failed) from failed
    match settings.payload:
        case {"extsConvertible": dict(convertible)}:
            pass
        case _:
            raise DocSpaceError("Convertible file extensions are not defined.")
    match convertible.get(own):
        case list(targets):
            for target in targets:
                if isinstance(target, str) and target in _PLAIN_TEXT_EXTENSIONS:
                    return target
            raise DocSpaceError(f"No convertible extension found for {own}.")
        case _:
            raise DocSpaceError(f"File extension {own} is not convertible.")


async def _fetch_text(api: DocSpaceApi, url: str) -> str:
    """Credentials go along only where the file lies with DocSpace itself."""
    if not _is_absolute_url(url):
        unreadable = DocSpaceError(f"Failed to parse URL from {url}", DocSpaceError("Invalid URL"))
        raise DocSpaceError("Creating download request.", DocSpaceError("Creating request.", unreadable))
    sending = DocSpaceRequest("GET", url, {"accept": "text/plain"}, is_large=True)
    try:
        reply = await api.client.send(api.access, sending, api.large_answer_slot, most=api.limits.max_download_bytes)
        text = await run_off_loop(len(reply.body), lambda: reply.text)
        check_response(
            sending, reply, parse_body(reply) if len(reply.body) <= _MAX_ERROR_BYTES else None, api.access.base_url
        )
    except DocSpaceError as failed:
        raise DocSpaceError("Downloading file.", failed) from failed
    return text


def _is_absolute_url(url: str) -> bool:
    """Whether it says by itself where to go."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.scheme) and (parts.scheme not in ("http", "https") or bool(parts.hostname))


# A new file, sent in pieces of 10 MiB. A piece that did not get through is sent again; the others are not.

CHUNK_BYTES: Final = 10 * 1024 * 1024
_SLICE_BYTES: Final = 256 * 1024
_CREATED_STATUS: Final = 201
_MAX_TRIES: Final = 4
"""How often one piece is sent at most."""


def file_extension(filename: str) -> str:
    """`.txt` of `a.txt`, `.` of `a.`, nothing of `.profile`."""
    name = filename.rstrip("/").rsplit("/", 1)[-1]
    dot = name.rfind(".")
    return "" if dot <= 0 or name == ".." else name[dot:]


async def upload(api: DocSpaceApi, given: Mapping[str, Json]) -> JsonObject:
    """The answer to the last piece. Raises `DocSpaceError`."""
    parent, filename, content = given["parentId"], given["filename"], given["content"]
    assert isinstance(parent, int | float)
    assert isinstance(filename, str)
    assert isinstance(content, str)
    is_binary = given.get("encoding") == "base64"
    whole = await run_off_loop(len(content), decode_base64 if is_binary else encode_utf8, content)
    if not file_extension(filename):
        raise DocSpaceError("File extension is missing in the filename.")
    session = await _create_session(api, parent, filename, len(whole))
    try:
        return await _send_chunks(api, session, whole, "application/octet-stream" if is_binary else "text/plain")
    except DocSpaceError as failed:
        raise DocSpaceError("Uploading file.", failed) from failed


async def _create_session(api: DocSpaceApi, parent: float, filename: str, size: int) -> str:
    at = api.now().astimezone(UTC)
    body: JsonObject = {
        "fileName": filename,
        "fileSize": size,
        "createOn": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "createNewIfExist": True,
    }
    try:
        answer = await api.post(api_path("files", parent, "upload", "create_session"), AnyValueType(), body)
    except DocSpaceError as failed:
        raise DocSpaceError("Creating upload session.", failed) from failed
    match answer.payload:
        case {"data": {"id": str(id)}} | {"id": str(id)} if id:
            return id
        case {"data": {"id": int(number)}} | {"id": int(number)} if not isinstance(number, bool):
            return str(number)
        case {"success": False, "message": str(told)} if told:
            raise DocSpaceError("Upload session ID is not defined.", [told])
        case _:
            raise DocSpaceError("Upload session ID is not defined.")


async def _send_chunks(api: DocSpaceApi, session: str, whole: bytes, kind: str) -> JsonObject:
    """Piece by piece until DocSpace says that it has the file. A file without content is one piece without any."""
    starts = range(0, max(len(whole), 1), CHUNK_BYTES)
    for chunk, start in enumerate(starts, start=1):
        end = min(start + CHUNK_BYTES, len(whole))
        try:
            answer = await _send_chunk(api, session, memoryview(whole)[start:end], kind)
        except DocSpaceError as failed:
            raise DocSpaceError(f"Uploading chunk {chunk} of {len(starts)}.", failed) from failed
        if api.progress is not None:
            api.progress(end, len(whole), None)
        if answer.http_response.status == _CREATED_STATUS:
            return answer.body
        _check_uploaded_size(answer.body, end)
    raise DocSpaceError("Upload session not completed.")


async def _send_chunk(api: DocSpaceApi, session: str, piece: memoryview, kind: str) -> DocSpaceAnswer:
    boundary = f"----pegboard{secrets.token_hex(16)}"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: {kind}\r\n\r\n'
    ).encode()
    tail = f"\r\n--{boundary}--\r\n".encode()
    sending = DocSpaceRequest(
        "POST",
        api_url(api.access.base_url, "ChunkedUploader.ashx", {"uid": session}),
        {
            "accept": "application/json",
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(head) + len(piece) + len(tail)),
        },
        _stream_body(head, piece, tail),
        is_large=True,
    )
    return await api.fetch(sending, again=_MAX_TRIES)


def _check_uploaded_size(body: JsonObject, sent: int) -> None:
    """A piece that was heard, but whose answer was lost, is sent again: DocSpace must not have kept it twice."""
    match body:
        case {"data": {"bytes_uploaded": int(kept)}} if kept > sent:
            told = f"DocSpace has {kept} bytes of the file where {sent} were sent. Upload it again."
            raise DocSpaceError(told)
        case _:
            return


def _stream_body(head: bytes, piece: memoryview, tail: bytes) -> ReplayableBody:
    async def parts() -> AsyncIterator[bytes]:
        yield head
        for start in range(0, len(piece), _SLICE_BYTES):
            yield bytes(piece[start : start + _SLICE_BYTES])
        yield tail

    return parts


_FILE_ID: Final = NumberType("The id of the file.")
_KEEP_BOTH: Final = 2
"""What a copy or move does where the name is taken: it keeps both."""


async def await_operation(api: DocSpaceApi, doing: str, noun: str, started: DocSpaceAnswer, done: str) -> str:
    """Waits for what was started."""
    try:
        await wait_until_done(api, started.payload)
    except DocSpaceError as failed:
        raise DocSpaceError(f"Resolving {doing} {noun} operations.", failed) from failed
    return done


async def _delete(api: DocSpaceApi, given: JsonObject) -> str:
    file = number_argument(given, "fileId")
    trash = await run_step("Getting trash folder.", api.get(api_path("files", "@trash"), CONTENT))
    match trash.payload:
        case {"current": dict(current)}:
            pass
        case _:
            raise DocSpaceError("Trash folder is not defined.")
    if (bin_ := current.get("id")) is None:
        raise DocSpaceError("Trash folder ID is not defined.")
    facts = await run_step("Getting file info.", api.get(api_path("files", "file", file), FILE))
    match facts.payload:
        case {"folderId": folder} if folder is not None:
            pass
        case _:
            raise DocSpaceError("File folder ID is not defined.")
    if folder == bin_:
        return "File is already in the trash folder."
    started = await run_step("Deleting file.", api.delete(api_path("files", "file", file), OPERATIONS, deletion_body()))
    return await await_operation(api, "delete", "file", started, "File deleted.")


def deletion_body() -> JsonObject:
    """Into the trash, where it can be fetched from again."""
    return {"deleteAfter": False, "immediately": False}


async def _file_info(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "file", number_argument(given, "fileId"))
    return await run_step("Getting file info.", api.get(at, FILE, filters_of(given)))


async def _update(api: DocSpaceApi, given: JsonObject) -> DocSpaceAnswer:
    at = api_path("files", "file", number_argument(given, "fileId"))
    return await run_step("Updating file.", api.put(at, FILE, {"title": given["title"]}))


async def _copy(api: DocSpaceApi, given: JsonObject) -> str:
    started = await run_step("Copying batch items.", _start_batch(api, "copy", given))
    return await await_operation(api, "copy", "batch items", started, "Batch items copied.")


async def _move(api: DocSpaceApi, given: JsonObject) -> str:
    started = await run_step("Moving batch items.", _start_batch(api, "move", given))
    return await await_operation(api, "move", "batch items", started, "Batch items moved.")


async def _start_batch(api: DocSpaceApi, act: str, given: JsonObject) -> DocSpaceAnswer:
    body: JsonObject = {**given, "conflictResolveType": _KEEP_BOTH, "deleteAfter": False}
    return await api.put(api_path("files", "fileops", act), OPERATIONS, body)


async def _download(api: DocSpaceApi, given: JsonObject) -> str:
    return await download(api, number_argument(given, "fileId"))


async def _upload(api: DocSpaceApi, given: JsonObject) -> JsonObject:
    return await upload(api, given)


def _batch_arguments(verb: str) -> ObjectType:
    return ObjectType(
        {
            "folderIds": OptionalMember(
                ListType(
                    AnyValueType(),
                    f"The ids of the folders to {verb}: numbers, or texts for folders of other storages.",
                )
            ),
            "fileIds": OptionalMember(ListType(AnyValueType(), f"The ids of the files to {verb}.")),
            "destFolderId": OptionalMember(AnyValueType(f"The id of the folder to {verb} them into.")),
        }
    )


FILE_TOOLS: Final = (
    DocSpaceTool("delete_file", "Delete a file.", ObjectType({"fileId": _FILE_ID}), _delete),
    DocSpaceTool(
        "get_file_info",
        "Get file information.",
        ObjectType({"fileId": _FILE_ID, "filters": filters_argument(FILE_FIELDS)}),
        _file_info,
        is_read_only=True,
        response_type=FILE,
    ),
    DocSpaceTool(
        "update_file",
        "Update a file.",
        ObjectType({"fileId": _FILE_ID, "title": TextType("Its new name.")}),
        _update,
        response_type=FILE,
    ),
    DocSpaceTool("copy_batch_items", "Copy to a folder.", _batch_arguments("copy"), _copy),
    DocSpaceTool("move_batch_items", "Move to a folder.", _batch_arguments("move"), _move),
    DocSpaceTool(
        "download_file_as_text",
        "Download a file as text.",
        ObjectType({"fileId": _FILE_ID}),
        _download,
        is_read_only=True,
    ),
    DocSpaceTool(
        "upload_file",
        "Upload a file.",
        ObjectType(
            {
                "parentId": NumberType("The id of the room or folder that it goes into."),
                "filename": TextType("Its name, with an extension."),
                "content": TextType("What is in it: text, or base64 where encoding says so."),
                "encoding": OptionalMember(
                    TextType("How content is written; base64 is for files that are not text.", ("text", "base64"))
                ),
            }
        ),
        _upload,
    ),
)
