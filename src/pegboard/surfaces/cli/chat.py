"""`pegboard chat`: a conversation with a model at this terminal, with the tools of the board."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import anyio
import click

from .client import HttpApiClient, running_gateway
from .filtering import filter_body, with_filter
from .link import Options
from .options import config_option, data_dir_option, every_server, json_option
from .output import CommandError, Exit, fail, print_json, print_progress, print_text
from .running import run_to_end
from .talking import ChatTurn, NoAnswerError, is_interactive
from .text import is_unicode

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
