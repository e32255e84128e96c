"""One answer of a model at the terminal, as it comes: its words, the tools that run, and questions to the person."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import anyio
import click
import httpx2

from .client import HttpApi
from .output import Ended, Ending, Exit, tell
from .text import clean, one_line
from .tickets import decided_here

_CODES: Final = {400: Exit.FAILED, 401: Exit.REFUSED, 403: Exit.REFUSED, 404: Exit.NOT_FOUND, 429: Exit.REFUSED}
_SHOWN: Final = 100


class NoAnswer(Ended):
    """The gateway says why there is none."""

    @classmethod
    def of(cls, answer: httpx2.Response) -> "NoAnswer":
        try:
            body = answer.json()
        except ValueError:
            body = None
        return cls.told(body, answer.status_code)

    @classmethod
    def told(cls, body: object, status: int) -> "NoAnswer":
        error = body.get("error") if isinstance(body, dict) else None
        said = error.get("message") if isinstance(error, dict) else None
        if said is None:
            said = body.get("detail") if isinstance(body, dict) else None
        return cls(_CODES.get(status, Exit.UNREACHABLE), str(said or f"the gateway answered with HTTP {status}."))


class Turn:
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

    async def told(
        self, api: HttpApi, path: str, body: Mapping[str, object], token: str, *, wait: int = 0
    ) -> str | None:
        """The whole answer, once it was shown; `None` when the person stopped it."""
        ours = body.get("pegboard")
        waits = {"wait": wait if is_watched() else 0}
        asked = {**body, "stream": True, "pegboard": {**ours, **waits} if isinstance(ours, Mapping) else waits}
        shown = _Shown(api)
        try:
            with anyio.CancelScope() as self._scope:
                async with api.stream(path, asked, token) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        raise NoAnswer.of(answer)
                    async for event in _events(answer):
                        await shown.take(event)
            stopped = self._scope.cancelled_caught
        finally:
            self._scope = None
            shown.end()
        return None if stopped else "".join(shown.texts)


class _Shown:
    def __init__(self, api: HttpApi) -> None:
        self._api = api
        self.texts: list[str] = []
        self._held = ""
        self._is_open = False
        """Whether a line is begun and not ended."""
        self._thinks = False

    async def take(self, event: Mapping[str, Any]) -> None:
        if event.get("error"):
            raise NoAnswer.told(event, 502)
        for choice in event.get("choices", ()):
            delta = choice.get("delta", {})
            if thought := delta.get("reasoning_content"):
                self._think(thought)
            if text := delta.get("content"):
                self._say(text)
        told = event.get("pegboard", {})
        match told.get("event", {}).get("type"):
            case "call":
                self._line(f"  → {told['event']['name']} {_short(told['event']['arguments'])}")
            case "ticket":
                await self._decide(told["event"]["ticket"])
            case "result":
                ended = told["event"]
                self._line(f"  ← {ended['name']} {ended['ended']} in {ended['ms']} ms: {_short(ended['text'])}")
        if (stopped := told.get("stopped")) is not None:
            self._line(f"  … ended by chat.limits.{stopped['limit']}: {stopped['why']}")

    def end(self) -> None:
        self._put(self._held)
        self._held = ""
        self._close()

    def _say(self, text: str) -> None:
        if self._thinks:
            self._thinks = False
            self._close(err=True)
        self.texts.append(text)
        # Of a line's end that is cut in two, the first half waits for the second.
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        self._put(text.removesuffix("\r") if self._held else text)

    def _put(self, text: str) -> None:
        if not text:
            return
        self._is_open = not text.endswith("\n")
        try:
            click.echo(clean(text), nl=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise Ending(Exit.READER_LEFT) from None

    def _think(self, text: str) -> None:
        """Only for a person who watches: it is no part of the answer."""
        if sys.stderr.isatty():
            self._thinks = self._is_open = True
            click.echo(click.style(clean(text), dim=True), nl=False, err=True)

    def _line(self, text: str) -> None:
        self._thinks = False
        self._close(err=not sys.stdout.isatty())
        tell(text)

    def _close(self, *, err: bool = False) -> None:
        if self._is_open:
            self._is_open = False
            click.echo(err=err)

    async def _decide(self, ticket: str) -> None:
        self._close()
        _forget_typed()
        if not await decided_here(self._api, ticket):
            tell(f"  … waiting for a decision: pegboard tickets show {ticket}")


async def _events(answer: httpx2.Response) -> AsyncIterator[Mapping[str, Any]]:
    async for line in answer.aiter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def is_watched() -> bool:
    """Whether a person is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _forget_typed() -> None:
    """What was typed before a question was shown is no answer to it."""
    if sys.platform != "win32":
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _short(text: str) -> str:
    line = one_line(text.strip())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
