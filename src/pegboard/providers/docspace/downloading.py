"""A file as text: converted by DocSpace where it is none, and fetched from where DocSpace puts it."""

from typing import Final
from urllib.parse import urlsplit

from pegboard.core.tool import JsonObject

from .api import DocSpaceApi, check_response, parse_body
from .asking import api_path
from .checking import ListType, MapType, ObjectType, TextType, optional_members
from .client import DocSpaceRequest
from .operations import OPERATIONS, wait_until_done
from .pace import run_off_loop
from .shapes import FILE
from .trouble import DocSpaceError

_PLAIN_TEXT_EXTENSIONS: Final = (".csv", ".txt")
_SETTINGS_TYPE: Final = ObjectType(optional_members(extsConvertible=MapType(ListType(TextType()))))
_MAX_ERROR_BYTES: Final = 1024 * 1024


async def download(api: DocSpaceApi, file: float) -> str:
    """Raises `Trouble`."""
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
