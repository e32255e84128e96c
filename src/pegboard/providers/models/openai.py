"""Any server that speaks OpenAI's chat API: asked for a stream, and never trusted."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from pegboard.children.erasing import Eraser
from pegboard.config.chat_keys import ModelServerSettings
from pegboard.core.tool import Json, JsonObject
from pegboard.ports import Expand, Unresolved
from pegboard.ports.models import Fault, ModelTrouble, Piece

from .discretion import Discretion, Told
from .events import Events, TooLong
from .pieces import Garbled, Pieces, whole_message

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS: Final = 10.0
LIST_SECONDS: Final = 15.0
MOST_CONNECTIONS: Final = 64
LARGEST: Final = 64_000_000
"""Bytes of one answer."""
LARGEST_LIST: Final = 8_000_000
MOST_MODELS: Final = 10_000
_LONGEST_WORDS: Final = 500


@dataclass(frozen=True)
class _Address:
    """Where the server is at this moment, and what it is sent that nobody else may read."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    discretion: Discretion = field(repr=False)

    @property
    def erase(self) -> Eraser:
        return self.discretion.troubles


class OpenAiServer:
    def __init__(self, settings: ModelServerSettings, expand: Expand) -> None:
        self._settings = settings
        self._expand = expand
        self._client: httpx2.AsyncClient | None = None
        self._tells_usage = True
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
        async with self._answer(address, "GET", "/models", None, LIST_SECONDS) as answer:
            content = await self._whole(answer, LARGEST_LIST)
        try:
            listed = _json(content)
        except Garbled as error:
            raise self._garbled(str(error)) from None
        entries = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(entries, list):
            raise self._garbled("with something else than a list of models")
        named = (entry.get("id") for entry in entries[:MOST_MODELS] if isinstance(entry, dict))
        erase = address.discretion.answers
        return tuple(dict.fromkeys(erase(name) for name in named if isinstance(name, str) and name))

    @asynccontextmanager
    async def chat(self, body: JsonObject) -> AsyncIterator[AsyncIterator[Piece]]:
        address, asked = self._address(), {**body, "stream": True}
        if self._tells_usage:
            asked["stream_options"] = {"include_usage": True}
        async with AsyncExitStack() as stack:
            try:
                answer = await stack.enter_async_context(self._asked(address, asked))
            except ModelTrouble as trouble:
                if trouble.fault is not Fault.REFUSED or "stream_options" not in trouble.why:
                    raise
                self._tells_usage = False
                del asked["stream_options"]
                answer = await stack.enter_async_context(self._asked(address, asked))
            kind = str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()
            read = self._message if kind == "application/json" else self._stream
            pieces = read(answer, address)
            try:
                yield pieces
            finally:
                await pieces.aclose()

    def _asked(self, address: _Address, body: JsonObject) -> "AbstractAsyncContextManager[httpx2.Response]":
        return self._answer(address, "POST", "/chat/completions", body, self._settings.timeout)

    async def _message(self, answer: "httpx2.Response", address: _Address) -> AsyncGenerator[Piece, None]:
        """Some servers do not stream where there are tools, and answer with all of it at once."""
        told = Told(address.discretion.answers)
        try:
            for piece in told.on(whole_message(_json(await self._whole(answer, LARGEST)))):
                yield piece
        except Garbled as error:
            raise self._garbled(str(error)) from None
        for piece in told.rest():
            yield piece

    async def _stream(self, answer: "httpx2.Response", address: _Address) -> AsyncGenerator[Piece, None]:
        events, pieces, told, size = Events(), Pieces(), Told(address.discretion.answers), 0
        try:
            async for chunk in answer.aiter_bytes():
                size += len(chunk)
                if size > LARGEST:
                    raise self._garbled(f"with more than {LARGEST // 1_000_000} MB")
                for event in events.fed(chunk):
                    if event == b"[DONE]":
                        if not pieces.began:
                            raise self._cut("it says that it is done and has said nothing")
                        for piece in (*told.on(pieces.end()), *told.rest()):
                            yield piece
                        return
                    value = _json(event)
                    if isinstance(value, dict) and value.get("error"):
                        raise ModelTrouble(Fault.CUT, f"{self._where} broke off: {_words(event, address.erase)}")
                    for piece in told.on(pieces.of(value)):
                        yield piece
        except (TooLong, Garbled) as error:
            raise self._garbled(str(error)) from None
        if not pieces.ended:
            raise self._cut("the stream ended in the middle of the message")
        for piece in told.rest():
            yield piece

    @asynccontextmanager
    async def _answer(
        self, address: _Address, method: str, path: str, body: JsonObject | None, silence: float
    ) -> "AsyncIterator[httpx2.Response]":
        """An answer with the status 200; everything else is told as trouble, also while it is read."""
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=8)
            self._client = httpx2.AsyncClient(follow_redirects=False, limits=limits)
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        timeout = httpx2.Timeout(silence, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
        started, erase = False, address.erase
        try:
            async with self._client.stream(
                method, f"{address.url}{path}", content=content, headers=address.headers, timeout=timeout
            ) as answer:
                if answer.status_code != 200:
                    raise await self._refusal(answer, body, address.erase)
                started = True
                yield answer
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            # The words of the error quote a part of the address, which may be a secret.
            mend = f"See chat.model_servers.{self.name}.url in pegboard.yaml."
            raise ModelTrouble(
                Fault.AWAY, f"{self._where} has no usable address: it is no URL of the form http://machine/v1. {mend}"
            ) from None
        except httpx2.ConnectTimeout as error:
            raise self._away(f"no connection within {CONNECT_SECONDS:g} seconds") from error
        except httpx2.PoolTimeout as error:
            why = f"{MOST_CONNECTIONS} requests to {self._host} are under way already. Try again later."
            raise ModelTrouble(Fault.BUSY, why) from error
        except httpx2.TimeoutException as error:
            raise ModelTrouble(
                Fault.SILENT,
                f"{self._where} said nothing for {silence:g} seconds. A model that is being loaded may take longer: "
                f"raise chat.model_servers.{self.name}.timeout in pegboard.yaml.",
            ) from error
        except httpx2.ConnectError as error:
            raise self._away(erase(str(error)) or "the connection was refused") from None
        except httpx2.TransportError as error:
            why = erase(str(error)) or type(error).__name__
            raise (self._cut(why) if started else self._away(why)) from None
        except httpx2.HTTPError as error:
            raise self._garbled(f"with something that cannot be read: {erase(str(error))}") from None

    def _address(self) -> _Address:
        said = [self._expand(self._settings.url), self._expand(self._settings.api_key or "")]
        for each, key in zip(said, ("url", "api_key"), strict=True):
            if isinstance(each, Unresolved):
                raise ModelTrouble(Fault.KEY, f"chat.model_servers.{self.name}.{key}: {each.why}")
        url, key = map(str, said)
        if not (key.isascii() and key.isprintable()):
            what = "the key has a line break or another character that no header can carry"
            raise ModelTrouble(Fault.KEY, f"chat.model_servers.{self.name}.api_key: {what}. Correct its value.")
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        sent = {**headers, "authorization": f"Bearer {key}"} if key else headers
        return _Address(url.rstrip("/"), sent, Discretion.about(key, self._settings.url, url))

    async def _refusal(self, answer: "httpx2.Response", body: JsonObject | None, erase: Eraser) -> ModelTrouble:
        status = answer.status_code
        said = _words(await self._whole(answer, LARGEST_LIST), erase)
        told = f"{self._where} answers with {status}{f': {said}' if said else ''}".rstrip(".")
        match status:
            case 401 | 403:
                return ModelTrouble(Fault.KEY, f"{told}. See chat.model_servers.{self.name}.api_key in pegboard.yaml.")
            case 404:
                model = None if body is None else body.get("model")
                what = "the model" if model is None else f"the model {str(model)[:100]!r}"
                mend = (
                    f"Either it has not {what}, or chat.model_servers.{self.name}.url in pegboard.yaml is not its API."
                )
                return ModelTrouble(Fault.NO_MODEL, f"{told}. {mend}")
            case 429 | 503 | 529:
                after = erase(answer.headers.get("retry-after", "")) or None
                return ModelTrouble(Fault.BUSY, f"{told}. Try again later.", retry_after=after)
            case _ if 300 <= status < 400:
                mend = f"Write the address that it sends on to as chat.model_servers.{self.name}.url in pegboard.yaml."
                return ModelTrouble(Fault.AWAY, f"{told}. {mend}")
            case _ if status >= 500:
                return ModelTrouble(Fault.AWAY, f"{told}. See its own log.")
            case _:
                return ModelTrouble(Fault.REFUSED, f"{told}.")

    async def _whole(self, answer: "httpx2.Response", largest: int) -> bytes:
        found = bytearray()
        async for chunk in answer.aiter_bytes():
            found += chunk
            if len(found) > largest:
                raise self._garbled(f"with more than {largest // 1_000_000} MB")
        return bytes(found)

    def _away(self, why: str) -> ModelTrouble:
        mend = f"Start it, or correct chat.model_servers.{self.name}.url in pegboard.yaml."
        return ModelTrouble(Fault.AWAY, f"{self._where} cannot be reached: {why.rstrip('.')}. {mend}")

    def _cut(self, why: str) -> ModelTrouble:
        return ModelTrouble(Fault.CUT, f"{self._where} broke off: {why.rstrip('.')}. See its own log.")

    def _garbled(self, why: str) -> ModelTrouble:
        mend = f"Is chat.model_servers.{self.name}.url in pegboard.yaml the address of an OpenAI-compatible API?"
        return ModelTrouble(Fault.GARBLED, f"{self._where} answers {why.rstrip('.')}. {mend}")

    @property
    def _where(self) -> str:
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


def _json(text: bytes) -> Json:
    try:
        value: Json = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        try:
            # More patient: it takes half of a character, into which servers cut what comes in pieces.
            value = json.loads(text)
        except (RecursionError, ValueError) as error:
            raise Garbled(f"with something that is no JSON: {error}") from None
    return value


def _words(content: bytes, erase: Eraser) -> str:
    """What an error says of itself, in a line. Erased before it is cut: half of a secret is one too."""
    try:
        told = _json(content)
    except Garbled:
        return ""
    error = told.get("error", told.get("message", told.get("detail"))) if isinstance(told, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(erase(said).split())[:_LONGEST_WORDS] if isinstance(said, str) else ""
