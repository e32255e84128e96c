"""Model servers with OpenAI's chat API, always streamed; answers are not trusted."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from pegboard.config.keys.features import ModelServerSettings
from pegboard.core.json.values import Json, JsonObject
from pegboard.http_parsing import EventStreamParser, EventTooLargeError
from pegboard.ports.models import (
    ModelFault,
    ModelServerError,
    Piece,
    StopPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from pegboard.ports.providers import Expand, UnresolvedReference
from pegboard.processes.output import SecretFilter, substituted_values

if TYPE_CHECKING:
    import httpx2


# The pieces of a model's message, out of what servers write: each has its own slips, and none of them loses a call.

_THINKING_KEYS: Final = ("reasoning_content", "reasoning")
"""The names by which servers tell a model's thinking apart."""


class InvalidAnswerError(Exception):
    """An answer that is no message. The text goes on from: it answers …"""


class PieceParser:
    """Of one message. Servers number its calls carelessly: by nothing, or all of them by 0."""

    def __init__(self) -> None:
        self.has_begun = False
        """Whether anything was said."""
        self.has_ended = False
        self._ids: list[str] = []
        """Of the calls that have begun, in their order."""
        self._by_index: dict[int, int] = {}

    def parse_event(self, value: Json) -> Iterator[Piece]:
        if not isinstance(value, dict):
            raise InvalidAnswerError("with an event that is no object")
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            # One message is asked for; a server that gives several gives too many.
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                yield from self._parse_choice(choice)
        if isinstance(usage := value.get("usage"), dict):
            yield from _usage_pieces(usage)

    def _parse_choice(self, choice: JsonObject) -> Iterator[Piece]:
        # Some call it a message in a stream too.
        if isinstance(delta := choice.get("delta") or choice.get("message"), dict):
            for piece in self.parse_message(delta):
                self.has_begun = True
                yield piece
        if isinstance(why := choice.get("finish_reason"), str) and why and not self.has_ended:
            self.has_begun = self.has_ended = True
            yield StopPiece(why)

    def finish(self) -> Iterator[Piece]:
        """When the server says that it is done. Some never say how the message ended."""
        if not self.has_ended:
            self.has_ended = True
            yield StopPiece("tool_calls" if self._ids else "stop")

    def parse_message(self, message: JsonObject) -> Iterator[Piece]:
        for name in _THINKING_KEYS:
            if thought := _text_of(message.get(name)):
                yield ThinkingPiece(thought)
                break
        if text := _text_of(message.get("content")) or _text_of(message.get("refusal")):
            yield TextPiece(text)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield from self._parse_call(call)
        # Before there were several calls there was one, under this name.
        if isinstance(old := message.get("function_call"), dict):
            yield from self._parse_call({"index": 0, "function": old})

    def _parse_call(self, call: JsonObject) -> Iterator[Piece]:
        function = call.get("function")
        told: JsonObject = function if isinstance(function, dict) else {}
        name, id, arguments = _text_of(told.get("name")), _text_of(call.get("id")), told.get("arguments")
        # Some write the arguments as an object, where a text is meant.
        text = arguments if isinstance(arguments, str) else _arguments_text(arguments)
        if not (name or id or text):
            return
        yield ToolCallPiece(self._call_index(call.get("index"), id, name), id, name, text)

    def _call_index(self, index: Json, id: str, name: str) -> int:
        given = index if isinstance(index, int) and not isinstance(index, bool) else None
        known = (len(self._ids) - 1 if self._ids else None) if given is None else self._by_index.get(given)
        begins = known is None or bool(name and id and self._ids[known] and id != self._ids[known])
        if given is None and known is not None and name and not id:
            begins = True
        if begins:
            known = len(self._ids)
            self._ids.append(id)
        assert known is not None
        if given is not None:
            self._by_index[given] = known
        self._ids[known] = self._ids[known] or id
        return known


def parse_whole_message(value: Json) -> Iterator[Piece]:
    """Of an answer that came at once."""
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(value, dict) or not isinstance(first, dict) or not isinstance(message, dict):
        raise InvalidAnswerError("with something else than a message")
    yield from PieceParser().parse_message(message)
    why = first.get("finish_reason")
    yield StopPiece(why if isinstance(why, str) and why else "stop")
    if isinstance(usage := value.get("usage"), dict):
        yield from _usage_pieces(usage)


def _usage_pieces(usage: JsonObject) -> Iterator[UsagePiece]:
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        assert isinstance(prompt, int)
        assert isinstance(completion, int)
        yield UsagePiece(prompt, completion)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _text_of(value: Json) -> str:
    """A text; of a list of parts, the texts in it."""
    if isinstance(value, list):
        return "".join(_text_of(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _arguments_text(value: Json) -> str:
    return "" if value is None else json.dumps(value)


# Server-sent events, split out of bytes as they come. Only their data: a chat has nothing else to say.

MAX_EVENT_BYTES: Final = 16_000_000
"""Bytes of one event: a whole message in one is read, an endless one is not."""


def is_whole_event(line: bytes) -> bool:
    """Whether nothing can follow this line of an event: some servers leave out the blank line after it. What is no JSON
    and does not look like a part of any is told at once."""
    data = line.strip()
    if not data.startswith((b"{", b"[")) or data == b"[DONE]":
        return True
    try:
        json.loads(data)
    except (RecursionError, ValueError) as error:
        # Cut in the middle, or in the middle of a text.
        return not isinstance(error, json.JSONDecodeError) or not _is_truncated(error)
    return True


def _is_truncated(error: json.JSONDecodeError) -> bool:
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")


# What a model server says, without the secrets that it was sent: many quote the key that they refuse.

MIN_SECRET_CHARS_IN_ANSWERS: Final = 10
"""Keys that are none (`ollama`, `lm-studio`) are words that a model may well say. In what goes wrong they are erased
all the same."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class ModelSecretFilters:
    errors: SecretFilter
    answers: SecretFilter

    @classmethod
    def for_server(cls, key: str, written_url: str, url: str) -> "ModelSecretFilters":
        secrets = {key, *_url_secrets(url)}
        long = (secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS_IN_ANSWERS)
        return cls(SecretFilter(secrets | {*substituted_values(written_url, url)}), SecretFilter(long))


class PieceFilter:
    """The pieces of one message as they may be passed on. Of a text that comes in pieces, an end that may be the
    beginning of a secret, or is half of a character, waits for what follows."""

    def __init__(self, erase: SecretFilter) -> None:
        self._erase = erase
        self._kind: tuple[type[Piece], int] | None = None
        self._make_piece: Callable[[str], Piece] = TextPiece
        self._buffer = ""

    def filter_pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            yield from self._filter_piece(piece)

    def flush(self) -> Iterator[Piece]:
        held, self._buffer, self._kind = self._buffer, "", None
        if held:
            yield self._make_piece(self._erase(_join_surrogates(held)))

    def _filter_piece(self, piece: Piece) -> Iterator[Piece]:
        index = piece.index if isinstance(piece, ToolCallPiece) else 0
        if self._kind != (type(piece), index):
            yield from self.flush()
            self._kind = (type(piece), index)
        match piece:
            case TextPiece(text):
                yield from self._filter_text(text, TextPiece)
            case ThinkingPiece(text):
                yield from self._filter_text(text, ThinkingPiece)
            case ToolCallPiece(_, id, name, text):
                if id or name:
                    yield ToolCallPiece(
                        index, self._erase(_join_surrogates(id)), self._erase(_join_surrogates(name)), ""
                    )
                yield from self._filter_text(text, lambda more: ToolCallPiece(index, "", "", more))
            case StopPiece(why):
                yield StopPiece(self._erase(_join_surrogates(why)))
            case UsagePiece():
                yield piece

    def _filter_text(self, text: str, made: Callable[[str], Piece]) -> Iterator[Piece]:
        self._make_piece = made
        text = self._buffer + text
        half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = self._erase(_join_surrogates(text.removesuffix(half)))
        at = len(text) if half else self._erase.partial_match_at(text)
        self._buffer = text[at:] + half
        if at:
            yield made(text[:at])


def _join_surrogates(text: str) -> str:
    """Halves of characters put together; a half that stays alone is told as U+FFFD."""
    return (
        text if _SURROGATE.search(text) is None else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _url_secrets(url: str) -> Iterator[str]:
    """What stands in an address and is nobody else's business."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    if password:
        yield password
        yield b64encode(f"{name}:{password}".encode()).decode()
    yield from (value for _, value in parse_qsl(parts.query))


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
        events, pieces = EventStreamParser(MAX_EVENT_BYTES, is_whole_event), PieceParser()
        told, size = PieceFilter(address.filters.answers), 0
        try:
            async for chunk in answer.aiter_bytes():
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise self._invalid_answer_error(f"with more than {MAX_ANSWER_BYTES // 1_000_000} MB")
                for event in filter(None, (found.text.strip() for found in events.feed(chunk))):
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
        except EventTooLargeError:
            told_size = f"with an event of more than {MAX_EVENT_BYTES // 1_000_000} MB"
            raise self._invalid_answer_error(told_size) from None
        except InvalidAnswerError as error:
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
