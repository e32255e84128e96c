"""A model server that plays what it is told, over real HTTP: OpenAI's chat API, with models of our own making.

python tests/servers/model.py                   on a free port, told on stderr as `PORT n`
python tests/servers/model.py 11434             on that port

Within a test: `with ModelServer(characters) as server`, where each model is a function of the request.
"""

import argparse
import json
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]
PATIENCE = 60.0


@dataclass(frozen=True)
class Turn:
    """What the model says, and how its server tells it."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """Calls that the server reads out itself: name and arguments, those that are a text as they stand."""
    finish: str | None = None
    """By default stop, or tool_calls."""
    usage: tuple[int, int] | None = (100, 10)
    size: int = 7
    """Characters in each piece."""
    cut: int | None = None
    """After so many pieces the connection breaks."""
    hold: threading.Event | None = None
    """After the first piece, nothing comes until it is set, or the client has left."""
    streams: bool = True
    numbered: bool = True
    """Whether calls have an index of their own."""
    unended: bool = False
    """Whether the word of how it ended is left out."""


@dataclass(frozen=True)
class Raw:
    """An answer that is none."""

    status: int
    content: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Character: TypeAlias = Callable[[Body], Turn | Raw]


def script(*turns: Turn | Raw) -> Character:
    """One after the other, whatever is asked; the last again and again."""
    left = list(turns)
    one = threading.Lock()

    def character(body: Body) -> Turn | Raw:
        with one:
            return left.pop(0) if len(left) > 1 else left[0]

    return character


class ModelServer:
    def __init__(self, characters: Mapping[str, Character], port: int = 0, key: str | None = None) -> None:
        self.characters = dict(characters)
        self.key = key
        self.asked: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.listing: Raw | None = None
        """What it answers in place of the list of its models."""
        self.left = threading.Event()
        """A client went away in the middle of an answer."""
        self.begun = threading.Event()
        """The first piece of some answer is out."""
        self._http = _Listening(("127.0.0.1", port), _Exchange)
        self._http.model_server = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """As if it had been killed: nobody listens any more, and whoever was being answered is cut off."""
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join(PATIENCE)
            self._http.server_close()
            self._http.cut_off()


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    model_server: ModelServer

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are what tests are about."""

    def cut_off(self) -> None:
        for each in [*self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        played = self.server.model_server
        if self._is_stranger():
            return
        if self.path != "/v1/models":
            self._send(Raw(404, b'{"error": {"message": "no such path"}}'))
            return
        if played.listing is not None:
            self._send(played.listing)
            return
        listed = [{"id": name, "object": "model"} for name in played.characters]
        self._send(Raw(200, json.dumps({"object": "list", "data": listed}).encode()))

    def do_POST(self) -> None:
        played = self.server.model_server
        text = self.rfile.read(int(self.headers.get("content-length", "0")))
        played.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self._is_stranger():
            return
        body: Body = json.loads(text)
        played.asked.append(body)
        if self.path != "/v1/chat/completions" or body.get("model") not in played.characters:
            said = f"model {body.get('model')!r} not found, try pulling it first"
            self._send(Raw(404, json.dumps({"error": {"message": said}}).encode()))
            return
        turn = played.characters[body["model"]](body)
        if isinstance(turn, Raw):
            self._send(turn)
        elif turn.streams and body.get("stream"):
            self._stream(turn, body)
        else:
            self._send(Raw(200, json.dumps(_whole(turn, body)).encode()))

    def _is_stranger(self) -> bool:
        key = self.server.model_server.key
        if key is None or self.headers.get("authorization") == f"Bearer {key}":
            return False
        self._send(Raw(401, b'{"error": {"message": "Incorrect API key provided"}}'))
        return True

    def _send(self, raw: Raw) -> None:
        self.send_response(raw.status)
        for name, value in {"content-type": raw.kind, "content-length": str(len(raw.content)), **raw.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw.content)

    def _stream(self, turn: Turn, body: Body) -> None:
        played = self.server.model_server
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for number, event in enumerate(_events(turn, body)):
                if turn.cut is not None and number >= turn.cut:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
                played.begun.set()
                if number == 1 and turn.hold is not None:
                    self._wait(turn.hold)
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")
        except OSError:
            self.close_connection = True
            played.left.set()

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
        self.wfile.flush()

    def _wait(self, hold: threading.Event) -> None:
        while not hold.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.02)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionResetError


def _finish(turn: Turn) -> str:
    return turn.finish or ("tool_calls" if turn.calls else "stop")


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _events(turn: Turn, body: Body) -> Iterator[Body]:
    def event(delta: Body, finish: str | None = None) -> Body:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}

    yield event({"role": "assistant", "content": ""})
    for piece in _pieces(turn.thinking, turn.size):
        yield event({"reasoning_content": piece})
    for piece in _pieces(turn.text, turn.size):
        yield event({"content": piece})
    for at, (name, arguments) in enumerate(turn.calls):
        index = {"index": at if turn.numbered else 0}
        first = {**index, "id": f"call_{len(body['messages'])}_{at}", "type": "function"}
        yield event({"tool_calls": [{**first, "function": {"name": name, "arguments": ""}}]})
        for piece in _pieces(_written(arguments), turn.size):
            yield event({"tool_calls": [{**index, "function": {"arguments": piece}}]})
    if not turn.unended:
        yield event({}, _finish(turn))
    if turn.usage is not None and (body.get("stream_options") or {}).get("include_usage"):
        prompt, completion = turn.usage
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        yield {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}


def _whole(turn: Turn, body: Body) -> Body:
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.thinking:
        message["reasoning_content"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [
            {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": _written(arguments)}}
            for at, (name, arguments) in enumerate(turn.calls)
        ]
    answer: Body = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(turn)}],
    }
    if turn.usage is not None:
        answer["usage"] = {"prompt_tokens": turn.usage[0], "completion_tokens": turn.usage[1]}
    return answer


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def text_of(message: Body) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def last_text(body: Body) -> str:
    return text_of(body["messages"][-1])


def echo(body: Body) -> Turn:
    return Turn(f"You said: {last_text(body)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int, nargs="?", default=0)
    server = ModelServer({"echo": echo}, parser.parse_args().port)
    print(f"PORT {server.port}", file=sys.stderr, flush=True)
    with server:
        threading.Event().wait()


if __name__ == "__main__":
    main()
