"""What a request brings to be imported: a ZIP, a manifest, or a path of this machine; and how a refusal is answered."""

import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from pegboard.core.tool import Fingerprint
from pegboard.gateway.toolsets.files import STAGING, FilesAway
from pegboard.gateway.toolsets.installer import Installer
from pegboard.gateway.toolsets.reading import Unfit
from pegboard.gateway.toolsets.wanted import Overtaken, Refused, Wanted
from pegboard.ports import SecretsAway

from .bodies import ImportBody
from .deciding import overtaken
from .problems import Problem

MOST_BYTES: Final = 100 * 1024 * 1024
_MOST_JSON: Final = 4 * 1024 * 1024
_ALL: Final = "all"
# What it refers to is described beside the bodies of other routes, under the same names.
_IMPORT: Final = {
    key: value
    for key, value in ImportBody.model_json_schema(ref_template="#/components/schemas/{model}").items()
    if key != "$defs"
}
IMPORT_BODIES: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": _IMPORT},
        },
    }
}


@asynccontextmanager
async def wanted_of(
    request: Request,
    installer: Installer,
    digest: str | None,
    approve: list[str],
    allow_downgrade: bool,
    version: int | None = None,
) -> AsyncIterator[Wanted]:
    wanted = Wanted(
        Path(),
        allow_downgrade=allow_downgrade,
        digest=digest,
        read=dict(_read(each) for each in approve if each != _ALL),
        approve_all=_ALL in approve,
        version=version,
    )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = _body(await _bounded(request, _MOST_JSON))
        named = [] if body.approve == _ALL else body.approve
        yield replace(
            wanted,
            source=Path(body.path),
            shown=body.shown,
            link=body.link,
            read={**wanted.read, **{each.tool: Fingerprint(each.fingerprint) for each in named}},
            approve_all=wanted.approve_all or body.approve == _ALL,
        )
    elif kind in ("application/zip", "application/x-zip-compressed", "application/octet-stream"):
        async with _uploaded(request, installer, "upload.zip") as file:
            yield replace(wanted, source=file, shown=file.name, is_upload=True)
    elif kind in ("application/yaml", "application/x-yaml", "text/yaml"):
        async with _uploaded(request, installer, "toolset.yaml") as file:
            yield replace(wanted, source=file, shown=file.name, is_upload=True)
    else:
        what = "Send a ZIP as application/zip, a manifest as application/yaml, or a path as application/json."
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, what)


@contextmanager
def answering() -> Iterator[None]:
    try:
        yield
    except Unfit as error:
        problems = [str(problem) for problem in error.problems]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(problems), {"errors": problems}) from None
    except Overtaken as error:
        raise overtaken(error.current) from None
    except Refused as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from None
    except FilesAway as error:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None


async def told(act: Awaitable[None]) -> None:
    try:
        await act
    except SecretsAway as error:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
    except ValueError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def _body(content: bytes) -> ImportBody:
    try:
        body = ImportBody.model_validate(json.loads(content))
    except ValidationError as error:
        # As the framework tells what it reads itself: the first step is where in the request it stood.
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None
    except (ValueError, RecursionError):
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "The body is no JSON.") from None
    if not Path(body.path).is_absolute():
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "path: this must be an absolute path.")
    return body


def _read(text: str) -> tuple[str, Fingerprint]:
    tool, _, fingerprint = text.rpartition("=")
    if not tool or len(fingerprint) != 64:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "approve: write ID=FINGERPRINT, or all.")
    return tool, Fingerprint(fingerprint)


async def _bounded(request: Request, most: int) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {most:,} bytes.")
    return content


@asynccontextmanager
async def _uploaded(request: Request, installer: Installer, name: str) -> AsyncIterator[Path]:
    """The body in a file of its own, never more of it than is taken."""
    with ExitStack() as stack:
        file = await anyio.to_thread.run_sync(_fresh, installer, stack, name)
        try:
            with file.open("wb") as out:
                size = 0
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > MOST_BYTES:
                        most = f"{MOST_BYTES // 1024 // 1024} MiB"
                        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"What is sent is larger than {most}.")
                    await anyio.to_thread.run_sync(out.write, chunk)
        except OSError as error:
            raise FilesAway(f"The upload cannot be kept: {error.strerror or error}. Nothing was changed.") from None
        yield file


def _fresh(installer: Installer, stack: ExitStack, name: str) -> Path:
    root = stack.enter_context(installer.files.staging())
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=STAGING, dir=root, ignore_cleanup_errors=True))
    except OSError as error:
        raise FilesAway(f"{root} cannot be written: {error.strerror or error}. Nothing was changed.") from None
    return Path(folder) / name
