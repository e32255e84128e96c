"""`pegboard chat`."""

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import click
import httpx2

from pegboard.core.model.settings import MIN_BUDGET_TOKENS
from pegboard.core.model.text import truncate
from pegboard.core.presentations.retrieval import MAX_QUERY_CHARS
from pegboard.surfaces.cli.api import ApiClient, Options
from pegboard.surfaces.cli.client import HttpApiClient, running_gateway
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import (
    ViewOptions,
    call_api,
    config_option,
    data_dir_option,
    every_server,
    filter_body,
    filter_params,
    gateway_command,
    json_option,
    with_filter,
    with_view,
)
from pegboard.surfaces.cli.output import (
    CommandError,
    CommandExit,
    Exit,
    clean,
    fail,
    is_unicode,
    one_line,
    print_json,
    print_progress,
    print_text,
    table,
)
from pegboard.surfaces.cli.tickets import decide_at_terminal

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
                self._print_line(
                    f"  ← {ended['name']} {ended['outcome']} in {ended['duration_ms']} ms: {_shorten(ended['text'])}"
                )
        if (stopped := told.get("stopped")) is not None:
            self._print_line(f"  … ended by chat.limits.{stopped['limit']}: {stopped['reason']}")

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
    return truncate(line, _MAX_SHOWN_CHARS, total=True)


# `pegboard chat`: a conversation with a model at this terminal, with the tools of the board.

COMPLETIONS_PATH: Final = "/v1/chat/completions"
TICKET_WAIT_S: Final = 600
"""Seconds that a call waits for the person at this terminal, who is asked at once."""
_PROMPT: Final = "> "


@click.command()
@click.argument("message", required=False)
@click.option("--model", help="The model, as /v1/models lists it.  [default: chat.default_model]")
@click.option("--system", help="What the model is told first, behind the board's own prompt.")
@click.option(
    "--token", envvar="PEGBOARD_TOKEN", default="", help="Your token, where the gateway asks callers who they are."
)
@with_filter
@config_option
@data_dir_option
@json_option
def chat(
    message: str | None,
    model: str | None,
    system: str | None,
    token: str,
    config: Path | None,
    data_dir: Path | None,
    as_json: bool,
    **filters: str | None,
) -> int:
    """Talk with a model that uses the tools of the board. With a MESSAGE, or one on standard input, one answer."""
    turn = ChatTurn()
    beginning: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    body: dict[str, Any] = {} if model is None else {"model": model}
    if filtered := filter_body(filters):
        body["pegboard"] = {"filter": filtered}

    async def inside() -> int:
        async with running_gateway(Options(config, data_dir), every_server({})) as api:
            if api is None:
                fail(Exit.UNREACHABLE, "no gateway runs here. Start one in another terminal: pegboard serve")
            said = message if message is not None or is_interactive() else sys.stdin.read()
            if said is not None:
                return await _chat_once(
                    api, turn, {**body, "messages": [*beginning, _user_message(said)]}, token, as_json=as_json
                )
            return await _chat_loop(api, turn, body, beginning, token)

    return run_to_end(inside, stops=turn.stop)


async def _chat_once(api: HttpApiClient, turn: ChatTurn, body: dict[str, Any], token: str, *, as_json: bool) -> int:
    if not as_json:
        answered = await turn.stream_answer(api, COMPLETIONS_PATH, body, token, wait=TICKET_WAIT_S)
        return Exit.INTERRUPTED if answered is None else Exit.OK
    async with api.stream(COMPLETIONS_PATH, body, token) as answer:
        await answer.aread()
        if answer.status_code != 200:
            raise NoAnswerError.from_response(answer)
        print_json(answer.json())
    return Exit.OK


async def _chat_loop(
    api: HttpApiClient, turn: ChatTurn, body: dict[str, Any], messages: list[dict[str, Any]], token: str
) -> int:
    """Until the end of input. What is wrong with one answer is told, and the conversation goes on without it."""
    print_progress("Ctrl-C stops an answer, Ctrl-D ends the conversation.")
    turn.prompt = _PROMPT
    async for said in _typed_lines():
        if not is_unicode(said):
            print_progress("! The message is not UTF-8 text. Say it again.")
            continue
        asked = [*messages, _user_message(said)]
        try:
            answered = await turn.stream_answer(
                api, COMPLETIONS_PATH, {**body, "messages": asked}, token, wait=TICKET_WAIT_S
            )
        except CommandError as end:
            if end.code == Exit.UNREACHABLE and not isinstance(end, NoAnswerError):
                raise
            print_progress(f"! {end.message}")
            continue
        if answered is None:
            print_progress("  … stopped")
            continue
        messages = [*asked, {"role": "assistant", "content": answered}]
    print_text()
    return Exit.OK


async def _typed_lines() -> AsyncIterator[str]:
    """What the person types, a line at a time. Read by hand: what was pasted stays here and answers no question."""
    rest = b""
    while True:
        if b"\n" not in rest:
            click.echo(_PROMPT, nl=False, err=True)
        while b"\n" not in rest:
            if sys.platform != "win32":
                await anyio.wait_readable(sys.stdin)
            more = os.read(sys.stdin.fileno(), 65_536)
            if not more:
                return
            rest += more
        line, _, rest = rest.partition(b"\n")
        if text := line.decode("utf-8", "surrogateescape").strip():
            yield text


def _user_message(text: str) -> dict[str, Any]:
    if not text.strip():
        fail(Exit.USAGE, "the message is blank. Say something.")
    if not is_unicode(text):
        fail(Exit.USAGE, "the message is not UTF-8 text.")
    return {"role": "user", "content": text}


# `pegboard prompt`: what a model would be sent for a query, why, and what it costs.

_MARKS: Final = {"in": "✓", "callable": "~", "deferred": "~", "out": "✗"}
_MODEL_SIZE: Final = re.compile(r"(?=[0-9.]*[1-9])([0-9]{1,5}(?:\.[0-9]{1,6})?)([bmt]?)", re.IGNORECASE)
_BILLIONS_BY_UNIT: Final = {"m": 0.001, "b": 1.0, "t": 1000.0, "": 1.0}


@click.command()
@click.option("--model", required=True, help="The model, as its server calls it: qwen3:8b.")
@click.option("--query", default="", help="What its user says: tools are searched by it.")
@click.option("--format", "format_name", help="Prefer this format, whether it is switched on or not.")
@click.option("--budget", type=click.IntRange(MIN_BUDGET_TOKENS, 1_000_000), help="Tokens that the prompt may cost.")
@click.option("--parameters", help="How many the model has, such as 8b or 300m, where its name does not tell it.")
@click.option("--tool-calling/--no-tool-calling", default=None, help="Whether its server takes a tools array for it.")
@click.option("--tool", help="Tell of this tool which step put it into the prompt or kept it out.")
@with_filter
@with_view
@gateway_command(every_server)
async def prompt(
    api: ApiClient,
    model: str,
    query: str,
    format_name: str | None,
    budget: int | None,
    parameters: str | None,
    tool_calling: bool | None,
    tool: str | None,
    view: ViewOptions,
    *,
    as_json: bool,
    **filters: str | None,
) -> None:
    """What a model would be sent for a query, part by part, with the reason and the cost of each."""
    if len(query) > MAX_QUERY_CHARS:
        fail(Exit.USAGE, f"the query has {len(query)} characters; say in at most {MAX_QUERY_CHARS} what is wanted.")
    said = {
        "format": format_name,
        "budget": None if budget is None else str(budget),
        "billions": None if parameters is None else str(_parse_billions(parameters)),
        "tool_calling": None if tool_calling is None else str(tool_calling).lower(),
        "tool": tool,
    }
    given = [(name, value) for name, value in said.items() if value is not None]
    params = [("model", model), ("query", query), *given, *filter_params(filters), *view.params()]
    body = await call_api(api, "GET", "/prompt", params=params)
    if as_json:
        print_json(body)
        return
    print_text("\n\n".join(_sections(body)))


def _parse_billions(text: str) -> float:
    written = _MODEL_SIZE.fullmatch(text.strip())
    if written is None:
        fail(Exit.USAGE, f"--parameters is {text!r}; write how many, such as 8b, 1.7b or 300m.")
    return round(float(written[1]) * _BILLIONS_BY_UNIT[written[2].lower()], 6)


def _sections(body: dict[str, Any]) -> list[str]:
    model = body["model"]
    sections = ["\n".join((one_line(model["name"]), *(f"  {one_line(each)}" for each in model["factSources"])))]
    if (why := body.get("toolDecision")) is not None:
        sections.append(_ruling_line(why))
    primary = body["primary"] or "none: the model can call no tool"
    sections.append("\n".join((f"Format: {primary}", *map(_ruling_line, body["formats"]))))
    sections.append("\n".join(("Built-ins", *map(_ruling_line, body["builtins"]))))
    sections.append("\n".join(("Search before the first turn", *(f"  {one_line(each)}" for each in body["search"]))))
    rows = [(part["kind"], str(part["tokens"]), part["reason"]) for part in body["parts"]]
    total = f"{body['tokens']} of {body['budget']} tokens, by estimate"
    sections.append(f"{table(('PART', 'TOKENS', 'WHY'), rows)}\n{total}")
    if body["tools"]:
        tools = [(each["name"], str(each["tokens"]), each["reason"]) for each in body["tools"]]
        sections.append(table(("TOOL", "TOKENS", "WHY"), tools))
    sections += [_ruling_line(each) for each in body["omitted"]]
    sections.append(f"System prompt\n\n{clean(body['system']) or '(none)'}")
    if "tools" in body["request"]:
        array = "\n".join(json.dumps(each, ensure_ascii=False) for each in body["request"]["tools"])
        sections.append(f"Tools array\n\n{clean(array)}")
    return sections


def _ruling_line(ruling: dict[str, Any]) -> str:
    availability, reason = ruling["availability"], one_line(ruling["reason"])
    return f"  {_MARKS[availability]} {ruling['subject']}  {availability}, because {reason}"
