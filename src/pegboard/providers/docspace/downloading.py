"""A file as text: converted by DocSpace where it is none, and fetched from where DocSpace puts it."""

from typing import Final
from urllib.parse import urlsplit

from pegboard.core.tool import JsonObject

from .api import Api, check, read
from .asking import path
from .checking import Keyed, Many, Shape, Text, some
from .client import Sending
from .operations import OPERATIONS, resolved
from .pace import off_loop
from .shapes import FILE
from .trouble import Trouble

_PLAIN: Final = (".csv", ".txt")
_SETTINGS: Final = Shape(some(extsConvertible=Keyed(Many(Text()))))
_LONGEST_REFUSAL: Final = 1024 * 1024


async def download(api: Api, file: float) -> str:
    """Raises `Trouble`."""
    target = await _target(api, file)
    body: JsonObject = {"fileConvertIds": [{"key": file, "value": target}]}
    try:
        started = await api.put(path("files", "fileops", "bulkdownload"), OPERATIONS, body)
    except Trouble as failed:
        raise Trouble("Making bulk download.", failed) from failed
    try:
        done = await resolved(api, started.response)
    except Trouble as failed:
        raise Trouble("Resolving bulk download operations.", failed) from failed
    if not done:
        raise Trouble("No resolved operations.")
    if len(done) > 1:
        raise Trouble(f"Expected 1 resolved operation, got {len(done)}.")
    if not done[0].url:
        raise Trouble("Resolved operation has no URL.")
    return await _fetched(api, done[0].url)


async def _target(api: Api, file: float) -> str:
    """The extension of the text that this file is, or can be converted to."""
    try:
        facts = await api.get(path("files", "file", file), FILE)
    except Trouble as failed:
        raise Trouble("Getting file info.", failed) from failed
    match facts.response:
        case {"fileExst": str(own)} if own:
            pass
        case _:
            raise Trouble("File extension is not defined.")
    if own in _PLAIN:
        return own
    try:
        settings = await api.get(path("files", "settings"), _SETTINGS)
    except Trouble as failed:
        raise Trouble("Getting files settings.", failed) from failed
    match settings.response:
        case {"extsConvertible": dict(convertible)}:
            pass
        case _:
            raise Trouble("Convertible file extensions are not defined.")
    match convertible.get(own):
        case list(targets):
            for target in targets:
                if isinstance(target, str) and target in _PLAIN:
                    return target
            raise Trouble(f"No convertible extension found for {own}.")
        case _:
            raise Trouble(f"File extension {own} is not convertible.")


async def _fetched(api: Api, url: str) -> str:
    """Credentials go along only where the file lies with DocSpace itself."""
    if not _is_whole(url):
        unreadable = Trouble(f"Failed to parse URL from {url}", Trouble("Invalid URL"))
        raise Trouble("Creating download request.", Trouble("Creating request.", unreadable))
    sending = Sending("GET", url, {"accept": "text/plain"}, is_large=True)
    try:
        reply = await api.client.ask(api.access, sending, api.seat, most=api.limits.download)
        text = await off_loop(len(reply.body), lambda: reply.text)
        check(sending, reply, read(reply) if len(reply.body) <= _LONGEST_REFUSAL else None, api.access.base)
    except Trouble as failed:
        raise Trouble("Downloading file.", failed) from failed
    return text


def _is_whole(url: str) -> bool:
    """Whether it says by itself where to go."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.scheme) and (parts.scheme not in ("http", "https") or bool(parts.hostname))
