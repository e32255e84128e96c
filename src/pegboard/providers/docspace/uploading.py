"""A new file, sent in pieces of 10 MiB. A piece that did not get through is sent again; the others are not."""

import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .api import DocSpaceAnswer, DocSpaceApi
from .asking import api_path, api_url
from .checking import AnyValueType, decode_base64
from .client import DocSpaceRequest, ReplayableBody
from .javascript import encode_utf8
from .pace import run_off_loop
from .trouble import DocSpaceError

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
    """The answer to the last piece. Raises `Trouble`."""
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
