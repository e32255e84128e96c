"""One answer of a model at the terminal, as it comes: its words, the tools that run, and questions to the person."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import anyio
import click
import httpx2

from .client import HttpApiClient
from .output import CommandError, CommandExit, Exit, print_progress
from .text import clean, one_line
from .tickets import decide_at_terminal

_EXIT_CODES: Final = {400: Exit.FAILED, 401: Exit.REFUSED, 403: Exit.REFUSED, 404: Exit.NOT_FOUND, 429: Exit.REFUSED}
_MAX_SHOWN_CHARS: Final = 100


class NoAnswerError(CommandError):
    """The gateway says why there is none."""

    @classmethod
    def from_response(cls, answer: httpx2.Response) -> "NoAnswerError":
        try:
            body = answer.json()
        except ValueError:
            body = None
        return cls.from_body(body, answer.status_code)

    @classmethod
    def from_body(cls, body: object, status: int) -> "NoAnswerError":
        error = body.get("error") if isinstance(body, dict) else None
        said = error.get("message") if isinstance(error, dict) else None
        if said is None:
            said = body.get("detail") if isinstance(body, dict) else None
        return cls(_EXIT_CODES.get(status, Exit.UNREACHABLE), str(said or f"the gateway answered with HTTP {status}."))


class ChatTurn:
    """One answer at a time. Ctrl-C stops the one that is being given."""

    def __init__(self) -> None:
        self._scope: anyio.CancelScope | None = None
        self.prompt = ""
        """Of a conversation that goes on after an answer."""

    def stop(self) -> bool:
        """At a prompt there is nothing to stop but what is being typed, which the terminal itself forgets."""
        if self._scope is not None:
            self._scope.cancel()
        elif self.prompt:
            click.echo(f"\n{self.prompt}", nl=False, err=True)
        return self._scope is not None or bool(self.prompt)

    async def stream_answer(
        self, api: HttpApiClient, path: str, body: Mapping[str, object], token: str, *, wait: int = 0
    ) -> str | None:
        """The whole answer, once it was shown; `None` when the person stopped it."""
        ours = body.get("pegboard")
        waits = {"wait": wait if is_interactive() else 0}
        asked = {**body, "stream": True, "pegboard": {**ours, **waits} if isinstance(ours, Mapping) else waits}
        shown = _AnswerPrinter(api)
        try:
            with anyio.CancelScope() as self._scope:
                async with api.stream(path, asked, token) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        raise NoAnswerError.from_response(answer)
                    async for event in _events(answer):
                        await shown.print_event(event)
            stopped = self._scope.cancelled_caught
        finally:
            self._scope = None
            shown.finish()
        return None if stopped else "".join(shown.texts)


class _AnswerPrinter:
    def __init__(self, api: HttpApiClient) -> None:
        self._api = api
        self.texts: list[str] = []
        self._pending_end = ""
        self._is_line_open = False
        """Whether a line is begun and not ended."""
        self._is_thinking = False

    async def print_event(self, event: Mapping[str, Any]) -> None:
        if event.get("error"):
            raise NoAnswerError.from_body(event, 502)
        for choice in event.get("choices", ()):
            delta = choice.get("delta", {})
            if thought := delta.get("reasoning_content"):
                self._print_thinking(thought)
            if text := delta.get("content"):
                self._print_answer(text)
        told = event.get("pegboard", {})
        match told.get("event", {}).get("type"):
            case "call":
                self._print_line(f"  → {told['event']['name']} {_shorten(told['event']['arguments'])}")
            case "ticket":
                await self._decide(told["event"]["ticket"])
            case "result":
                ended = told["event"]
                self._print_line(f"  ← {ended['name']} {ended['ended']} in {ended['ms']} ms: {_shorten(ended['text'])}")
        if (stopped := told.get("stopped")) is not None:
            self._print_line(f"  … ended by chat.limits.{stopped['limit']}: {stopped['why']}")

    def finish(self) -> None:
        self._write(self._pending_end)
        self._pending_end = ""
        self._end_line()

    def _print_answer(self, text: str) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._end_line(err=True)
        self.texts.append(text)
        # Of a line's end that is cut in two, the first half waits for the second.
        text = self._pending_end + text
        self._pending_end = "\r" if text.endswith("\r") else ""
        self._write(text.removesuffix("\r") if self._pending_end else text)

    def _write(self, text: str) -> None:
        if not text:
            return
        self._is_line_open = not text.endswith("\n")
        try:
            click.echo(clean(text), nl=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise CommandExit(Exit.READER_LEFT) from None

    def _print_thinking(self, text: str) -> None:
        """Only for a person who watches: it is no part of the answer."""
        if sys.stderr.isatty():
            self._is_thinking = self._is_line_open = True
            click.echo(click.style(clean(text), dim=True), nl=False, err=True)

    def _print_line(self, text: str) -> None:
        self._is_thinking = False
        self._end_line(err=not sys.stdout.isatty())
        print_progress(text)

    def _end_line(self, *, err: bool = False) -> None:
        if self._is_line_open:
            self._is_line_open = False
            click.echo(err=err)

    async def _decide(self, ticket: str) -> None:
        self._end_line()
        _forget_typed()
        if not await decide_at_terminal(self._api, ticket):
            print_progress(f"  … waiting for a decision: pegboard tickets show {ticket}")


async def _events(answer: httpx2.Response) -> AsyncIterator[Mapping[str, Any]]:
    async for line in answer.aiter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def is_interactive() -> bool:
    """Whether a person is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _forget_typed() -> None:
    """What was typed before a question was shown is no answer to it."""
    if sys.platform != "win32":
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _shorten(text: str) -> str:
    line = one_line(text.strip())
    return line if len(line) <= _MAX_SHOWN_CHARS else line[: _MAX_SHOWN_CHARS - 1] + "…"
