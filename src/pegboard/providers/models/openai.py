"""Any server that speaks OpenAI's chat API: asked for a stream, and never trusted."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from pegboard.children.erasing import SecretFilter
from pegboard.config.chat_keys import ModelServerSettings
from pegboard.core.tool import Json, JsonObject
from pegboard.ports import Expand, UnresolvedReference
from pegboard.ports.models import ModelFault, ModelServerError, Piece

from .discretion import ModelSecretFilters, PieceFilter
from .events import EventSplitter, EventTooLongError
from .pieces import InvalidAnswerError, PieceParser, parse_whole_message

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S: Final = 10.0
LIST_TIMEOUT_S: Final = 15.0
MAX_CONNECTIONS: Final = 64
MAX_ANSWER_BYTES: Final = 64_000_000
"""Bytes of one answer."""
MAX_LIST_BYTES: Final = 8_000_000
MAX_MODELS: Final = 10_000
_MAX_MESSAGE_CHARS: Final = 500


@dataclass(frozen=True)
class _Address:
    """Where the server is at this moment, and what it is sent that nobody else may read."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    filters: ModelSecretFilters = field(repr=False)

    @property
    def erase(self) -> SecretFilter:
        return self.filters.errors


class OpenAiServer:
    def __init__(self, settings: ModelServerSettings, expand: Expand) -> None:
        self._settings = settings
        self._expand = expand
        self._client: httpx2.AsyncClient | None = None
        self._can_report_usage = True
        """Whether the server takes the wish to tell how many tokens were used. Strict ones do not know it."""

    @property
    def name(self) -> str:
        return self._settings.name

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def models(self) -> Sequence[str]:
        if self._settings.models:
            return self._settings.models
        address = self._address()
        async with self._request(address, "GET", "/models", None, LIST_TIMEOUT_S) as answer:
            content = await self._read_body(answer, MAX_LIST_BYTES)
        try:
            listed = _parse_json(content)
        except InvalidAnswerError as error:
            raise self._invalid_answer_error(str(error)) from None
        entries = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(entries, list):
            raise self._invalid_answer_error("with something else than a list of models")
        named = (entry.get("id") for entry in entries[:MAX_MODELS] if isinstance(entry, dict))
        erase = address.filters.answers
        return tuple(dict.fromkeys(erase(name) for name in named if isinstance(name, str) and name))

    @asynccontextmanager
    async def chat(self, body: JsonObject) -> AsyncIterator[AsyncIterator[Piece]]:
        address, asked = self._address(), {**body, "stream": True}
        if self._can_report_usage:
            asked["stream_options"] = {"include_usage": True}
        async with AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(self._request_chat(address, asked))
            except ModelServerError as trouble:
                if trouble.fault is not ModelFault.REFUSED or "stream_options" not in trouble.why:
                    raise
                self._can_report_usage = False
                del asked["stream_options"]
                answer = await stack.enter_async_context(self._request_chat(address, asked))
            kind = str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()
            read = self._read_message if kind == "application/json" else self._read_stream
            pieces = read(answer, address)
            try:
                yield pieces
            finally:
                await pieces.aclose()

    def _request_chat(self, address: _Address, body: JsonObject) -> "AbstractAsyncContextManager[httpx2.Response]":
        return self._request(address, "POST", "/chat/completions", body, self._settings.timeout)

    async def _read_message(self, answer: "httpx2.Response", address: _Address) -> AsyncGenerator[Piece, None]:
        """Some servers do not stream where there are tools, and answer with all of it at once."""
        told = PieceFilter(address.filters.answers)
        try:
            for piece in told.filter_pieces(
                parse_whole_message(_parse_json(await self._read_body(answer, MAX_ANSWER_BYTES)))
            ):
                yield piece
        except InvalidAnswerError as error:
            raise self._invalid_answer_error(str(error)) from None
        for piece in told.flush():
            yield piece

    async def _read_stream(self, answer: "httpx2.Response", address: _Address) -> AsyncGenerator[Piece, None]:
        events, pieces, told, size = EventSplitter(), PieceParser(), PieceFilter(address.filters.answers), 0
        try:
            async for chunk in answer.aiter_bytes():
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise self._invalid_answer_error(f"with more than {MAX_ANSWER_BYTES // 1_000_000} MB")
                for event in events.feed(chunk):
                    if event == b"[DONE]":
                        if not pieces.has_begun:
                            raise self._interrupted_error("it says that it is done and has said nothing")
                        for piece in (*told.filter_pieces(pieces.finish()), *told.flush()):
                            yield piece
                        return
                    value = _parse_json(event)
                    if isinstance(value, dict) and value.get("error"):
                        raise ModelServerError(
                            ModelFault.TRUNCATED, f"{self._label} broke off: {_error_message(event, address.erase)}"
                        )
                    for piece in told.filter_pieces(pieces.parse_event(value)):
                        yield piece
        except (EventTooLongError, InvalidAnswerError) as error:
            raise self._invalid_answer_error(str(error)) from None
        if not pieces.has_ended:
            raise self._interrupted_error("the stream ended in the middle of the message")
        for piece in told.flush():
            yield piece

    @asynccontextmanager
    async def _request(
        self, address: _Address, method: str, path: str, body: JsonObject | None, silence: float
    ) -> "AsyncIterator[httpx2.Response]":
        """An answer with the status 200; everything else is told as trouble, also while it is read."""
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=8)
            self._client = httpx2.AsyncClient(follow_redirects=False, limits=limits)
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        timeout = httpx2.Timeout(silence, connect=CONNECT_TIMEOUT_S, pool=CONNECT_TIMEOUT_S)
        started, erase = False, address.erase
        try:
            async with self._client.stream(
                method, f"{address.url}{path}", content=content, headers=address.headers, timeout=timeout
            ) as answer:
                if answer.status_code != 200:
                    raise await self._refusal_error(answer, body, address.erase)
                started = True
                yield answer
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            # The words of the error quote a part of the address, which may be a secret.
            mend = f"See chat.model_servers.{self.name}.url in pegboard.yaml."
            raise ModelServerError(
                ModelFault.UNREACHABLE,
                f"{self._label} has no usable address: it is no URL of the form http://machine/v1. {mend}",
            ) from None
        except httpx2.ConnectTimeout as error:
            raise self._unreachable_error(f"no connection within {CONNECT_TIMEOUT_S:g} seconds") from error
        except httpx2.PoolTimeout as error:
            why = f"{MAX_CONNECTIONS} requests to {self._host} are under way already. Try again later."
            raise ModelServerError(ModelFault.BUSY, why) from error
        except httpx2.TimeoutException as error:
            raise ModelServerError(
                ModelFault.TIMEOUT,
                f"{self._label} said nothing for {silence:g} seconds. A model that is being loaded may take longer: "
                f"raise chat.model_servers.{self.name}.timeout in pegboard.yaml.",
            ) from error
        except httpx2.ConnectError as error:
            raise self._unreachable_error(erase(str(error)) or "the connection was refused") from None
        except httpx2.TransportError as error:
            why = erase(str(error)) or type(error).__name__
            raise (self._interrupted_error(why) if started else self._unreachable_error(why)) from None
        except httpx2.HTTPError as error:
            raise self._invalid_answer_error(f"with something that cannot be read: {erase(str(error))}") from None

    def _address(self) -> _Address:
        said = [self._expand(self._settings.url), self._expand(self._settings.api_key or "")]
        for each, key in zip(said, ("url", "api_key"), strict=True):
            if isinstance(each, UnresolvedReference):
                raise ModelServerError(ModelFault.BAD_KEY, f"chat.model_servers.{self.name}.{key}: {each.why}")
        url, key = map(str, said)
        if not (key.isascii() and key.isprintable()):
            what = "the key has a line break or another character that no header can carry"
            raise ModelServerError(
                ModelFault.BAD_KEY, f"chat.model_servers.{self.name}.api_key: {what}. Correct its value."
            )
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        sent = {**headers, "authorization": f"Bearer {key}"} if key else headers
        return _Address(url.rstrip("/"), sent, ModelSecretFilters.for_server(key, self._settings.url, url))

    async def _refusal_error(
        self, answer: "httpx2.Response", body: JsonObject | None, erase: SecretFilter
    ) -> ModelServerError:
        status = answer.status_code
        said = _error_message(await self._read_body(answer, MAX_LIST_BYTES), erase)
        told = f"{self._label} answers with {status}{f': {said}' if said else ''}".rstrip(".")
        match status:
            case 401 | 403:
                return ModelServerError(
                    ModelFault.BAD_KEY, f"{told}. See chat.model_servers.{self.name}.api_key in pegboard.yaml."
                )
            case 404:
                model = None if body is None else body.get("model")
                what = "the model" if model is None else f"the model {str(model)[:100]!r}"
                mend = (
                    f"Either it has not {what}, or chat.model_servers.{self.name}.url in pegboard.yaml is not its API."
                )
                return ModelServerError(ModelFault.NO_MODEL, f"{told}. {mend}")
            case 429 | 503 | 529:
                after = erase(answer.headers.get("retry-after", "")) or None
                return ModelServerError(ModelFault.BUSY, f"{told}. Try again later.", retry_after=after)
            case _ if 300 <= status < 400:
                mend = f"Write the address that it sends on to as chat.model_servers.{self.name}.url in pegboard.yaml."
                return ModelServerError(ModelFault.UNREACHABLE, f"{told}. {mend}")
            case _ if status >= 500:
                return ModelServerError(ModelFault.UNREACHABLE, f"{told}. See its own log.")
            case _:
                return ModelServerError(ModelFault.REFUSED, f"{told}.")

    async def _read_body(self, answer: "httpx2.Response", largest: int) -> bytes:
        found = bytearray()
        async for chunk in answer.aiter_bytes():
            found += chunk
            if len(found) > largest:
                raise self._invalid_answer_error(f"with more than {largest // 1_000_000} MB")
        return bytes(found)

    def _unreachable_error(self, why: str) -> ModelServerError:
        mend = f"Start it, or correct chat.model_servers.{self.name}.url in pegboard.yaml."
        return ModelServerError(ModelFault.UNREACHABLE, f"{self._label} cannot be reached: {why.rstrip('.')}. {mend}")

    def _interrupted_error(self, why: str) -> ModelServerError:
        return ModelServerError(ModelFault.TRUNCATED, f"{self._label} broke off: {why.rstrip('.')}. See its own log.")

    def _invalid_answer_error(self, why: str) -> ModelServerError:
        mend = f"Is chat.model_servers.{self.name}.url in pegboard.yaml the address of an OpenAI-compatible API?"
        return ModelServerError(ModelFault.MALFORMED, f"{self._label} answers {why.rstrip('.')}. {mend}")

    @property
    def _label(self) -> str:
        return f"The model server {self.name!r} at {self._host}"

    @property
    def _host(self) -> str:
        """Without what a URL may hold of secrets."""
        try:
            parts = urlsplit(self._settings.url)
        except ValueError:
            return "an address that cannot be read"
        if not parts.hostname:
            return "the address that its reference tells"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        try:
            port = "" if parts.port is None else f":{parts.port}"
        except ValueError:  # no number, and then perhaps no port: it may be a part of a password
            port = ""
        return f"{parts.scheme}://{host}{port}"


def _parse_json(text: bytes) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        try:
            # More patient: it takes half of a character, into which servers cut what comes in pieces.
            value = json.loads(text)
        except (RecursionError, ValueError) as error:
            raise InvalidAnswerError(f"with something that is no JSON: {error}") from None
    return value


def _error_message(content: bytes, erase: SecretFilter) -> str:
    """What an error says of itself, in a line. Erased before it is cut: half of a secret is one too."""
    try:
        told = _parse_json(content)
    except InvalidAnswerError:
        return ""
    error = told.get("error", told.get("message", told.get("detail"))) if isinstance(told, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(erase(said).split())[:_MAX_MESSAGE_CHARS] if isinstance(said, str) else ""
