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
from pegboard.gateway.toolsets.files import STAGING_PREFIX, FilesUnavailable
from pegboard.gateway.toolsets.installer import ToolsetInstaller
from pegboard.gateway.toolsets.reading import InvalidToolsetError
from pegboard.gateway.toolsets.wanted import ImportConflictError, ImportRefusedError, ImportRequest
from pegboard.ports import SecretsUnavailable

from .bodies import ImportBody
from .deciding import version_conflict
from .problems import ProblemError

MAX_UPLOAD_BYTES: Final = 100 * 1024 * 1024
_MAX_JSON_BYTES: Final = 4 * 1024 * 1024
_ALL_TOOLS: Final = "all"
# What it refers to is described beside the bodies of other routes, under the same names.
_IMPORT_SCHEMA: Final = {
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
            "application/json": {"schema": _IMPORT_SCHEMA},
        },
    }
}


@asynccontextmanager
async def read_import_request(
    request: Request,
    installer: ToolsetInstaller,
    digest: str | None,
    approve: list[str],
    allow_downgrade: bool,
    version: int | None = None,
) -> AsyncIterator[ImportRequest]:
    wanted = ImportRequest(
        Path(),
        allow_downgrade=allow_downgrade,
        digest=digest,
        reviewed=dict(_parse_approval(each) for each in approve if each != _ALL_TOOLS),
        approve_all=_ALL_TOOLS in approve,
        version=version,
    )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        body = _parse_body(await _read_bounded(request, _MAX_JSON_BYTES))
        named = [] if body.approve == _ALL_TOOLS else body.approve
        yield replace(
            wanted,
            source=Path(body.path),
            display_path=body.shown,
            link=body.link,
            reviewed={**wanted.reviewed, **{each.tool: Fingerprint(each.fingerprint) for each in named}},
            approve_all=wanted.approve_all or body.approve == _ALL_TOOLS,
        )
    elif kind in ("application/zip", "application/x-zip-compressed", "application/octet-stream"):
        async with _receive_upload(request, installer, "upload.zip") as file:
            yield replace(wanted, source=file, display_path=file.name, is_upload=True)
    elif kind in ("application/yaml", "application/x-yaml", "text/yaml"):
        async with _receive_upload(request, installer, "toolset.yaml") as file:
            yield replace(wanted, source=file, display_path=file.name, is_upload=True)
    else:
        what = "Send a ZIP as application/zip, a manifest as application/yaml, or a path as application/json."
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, what)


@contextmanager
def translate_import_errors() -> Iterator[None]:
    try:
        yield
    except InvalidToolsetError as error:
        problems = [str(problem) for problem in error.problems]
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "\n".join(problems), {"errors": problems}) from None
    except ImportConflictError as error:
        raise version_conflict(error.current_version) from None
    except ImportRefusedError as error:
        raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None
    except FilesUnavailable as error:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None


async def run_secret_change(act: Awaitable[None]) -> None:
    try:
        await act
    except SecretsUnavailable as error:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
    except ValueError as error:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def _parse_body(content: bytes) -> ImportBody:
    try:
        body = ImportBody.model_validate(json.loads(content))
    except ValidationError as error:
        # As the framework tells what it reads itself: the first step is where in the request it stood.
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None
    except (ValueError, RecursionError):
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "The body is no JSON.") from None
    if not Path(body.path).is_absolute():
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "path: this must be an absolute path.")
    return body


def _parse_approval(text: str) -> tuple[str, Fingerprint]:
    tool, _, fingerprint = text.rpartition("=")
    if not tool or len(fingerprint) != 64:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "approve: write ID=FINGERPRINT, or all.")
    return tool, Fingerprint(fingerprint)


async def _read_bounded(request: Request, most: int) -> bytes:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {most:,} bytes.")
    return content


@asynccontextmanager
async def _receive_upload(request: Request, installer: ToolsetInstaller, name: str) -> AsyncIterator[Path]:
    """The body in a file of its own, never more of it than is taken."""
    with ExitStack() as stack:
        file = await anyio.to_thread.run_sync(_new_upload_path, installer, stack, name)
        try:
            with file.open("wb") as out:
                size = 0
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > MAX_UPLOAD_BYTES:
                        most = f"{MAX_UPLOAD_BYTES // 1024 // 1024} MiB"
                        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"What is sent is larger than {most}.")
                    await anyio.to_thread.run_sync(out.write, chunk)
        except OSError as error:
            raise FilesUnavailable(
                f"The upload cannot be kept: {error.strerror or error}. Nothing was changed."
            ) from None
        yield file


def _new_upload_path(installer: ToolsetInstaller, stack: ExitStack, name: str) -> Path:
    root = stack.enter_context(installer.files.stage())
    try:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix=STAGING_PREFIX, dir=root, ignore_cleanup_errors=True)
        )
    except OSError as error:
        raise FilesUnavailable(f"{root} cannot be written: {error.strerror or error}. Nothing was changed.") from None
    return Path(folder) / name
