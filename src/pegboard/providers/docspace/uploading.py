"""A new file, sent in pieces of 10 MiB. A piece that did not get through is sent again; the others are not."""

import secrets
from collections.abc import AsyncIterator, Mapping
from datetime import UTC
from typing import Final

from pegboard.core.tool import Json, JsonObject

from .api import Answer, Api
from .asking import address, path
from .checking import Anything, decoded
from .client import Content, Sending
from .javascript import utf8
from .pace import off_loop
from .trouble import Trouble

PIECE: Final = 10 * 1024 * 1024
_SLICE: Final = 256 * 1024
_CREATED: Final = 201
_TRIES: Final = 4
"""How often one piece is sent at most."""


def extension(filename: str) -> str:
    """`.txt` of `a.txt`, `.` of `a.`, nothing of `.profile`."""
    name = filename.rstrip("/").rsplit("/", 1)[-1]
    dot = name.rfind(".")
    return "" if dot <= 0 or name == ".." else name[dot:]


async def upload(api: Api, given: Mapping[str, Json]) -> JsonObject:
    """The answer to the last piece. Raises `Trouble`."""
    parent, filename, content = given["parentId"], given["filename"], given["content"]
    assert isinstance(parent, int | float)
    assert isinstance(filename, str)
    assert isinstance(content, str)
    is_binary = given.get("encoding") == "base64"
    whole = await off_loop(len(content), decoded if is_binary else utf8, content)
    if not extension(filename):
        raise Trouble("File extension is missing in the filename.")
    session = await _session(api, parent, filename, len(whole))
    try:
        return await _sent(api, session, whole, "application/octet-stream" if is_binary else "text/plain")
    except Trouble as failed:
        raise Trouble("Uploading file.", failed) from failed


async def _session(api: Api, parent: float, filename: str, size: int) -> str:
    at = api.now().astimezone(UTC)
    body: JsonObject = {
        "fileName": filename,
        "fileSize": size,
        "createOn": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
        "createNewIfExist": True,
    }
    try:
        answer = await api.post(path("files", parent, "upload", "create_session"), Anything(), body)
    except Trouble as failed:
        raise Trouble("Creating upload session.", failed) from failed
    match answer.response:
        case {"data": {"id": str(id)}} | {"id": str(id)} if id:
            return id
        case {"data": {"id": int(number)}} | {"id": int(number)} if not isinstance(number, bool):
            return str(number)
        case {"success": False, "message": str(told)} if told:
            raise Trouble("Upload session ID is not defined.", [told])
        case _:
            raise Trouble("Upload session ID is not defined.")


async def _sent(api: Api, session: str, whole: bytes, kind: str) -> JsonObject:
    """Piece by piece until DocSpace says that it has the file. A file without content is one piece without any."""
    starts = range(0, max(len(whole), 1), PIECE)
    for chunk, start in enumerate(starts, start=1):
        end = min(start + PIECE, len(whole))
        try:
            answer = await _piece(api, session, memoryview(whole)[start:end], kind)
        except Trouble as failed:
            raise Trouble(f"Uploading chunk {chunk} of {len(starts)}.", failed) from failed
        if api.progress is not None:
            api.progress(end, len(whole), None)
        if answer.reply.status == _CREATED:
            return answer.body
        _match(answer.body, end)
    raise Trouble("Upload session not completed.")


async def _piece(api: Api, session: str, piece: memoryview, kind: str) -> Answer:
    boundary = f"----pegboard{secrets.token_hex(16)}"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: {kind}\r\n\r\n'
    ).encode()
    tail = f"\r\n--{boundary}--\r\n".encode()
    sending = Sending(
        "POST",
        address(api.access.base, "ChunkedUploader.ashx", {"uid": session}),
        {
            "accept": "application/json",
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(head) + len(piece) + len(tail)),
        },
        _streamed(head, piece, tail),
        is_large=True,
    )
    return await api.fetched(sending, again=_TRIES)


def _match(body: JsonObject, sent: int) -> None:
    """A piece that was heard, but whose answer was lost, is sent again: DocSpace must not have kept it twice."""
    match body:
        case {"data": {"bytes_uploaded": int(kept)}} if kept > sent:
            told = f"DocSpace has {kept} bytes of the file where {sent} were sent. Upload it again."
            raise Trouble(told)
        case _:
            return


def _streamed(head: bytes, piece: memoryview, tail: bytes) -> Content:
    async def parts() -> AsyncIterator[bytes]:
        yield head
        for start in range(0, len(piece), _SLICE):
            yield bytes(piece[start : start + _SLICE])
        yield tail

    return parts
