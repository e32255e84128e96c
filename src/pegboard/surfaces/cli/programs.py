"""`pegboard run` and `pegboard stubs`."""

import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from pegboard.surfaces.cli.api import ApiClient, JsonBody
from pegboard.surfaces.cli.client import HttpApiClient
from pegboard.surfaces.cli.options import (
    ViewOptions,
    call_api,
    every_server,
    fail_with_response,
    gateway_command,
    with_view,
)
from pegboard.surfaces.cli.output import (
    Exit,
    fail,
    is_unicode,
    one_line,
    print_json,
    print_progress,
    print_text,
    result_text,
)
from pegboard.surfaces.cli.tickets import decide_at_terminal, is_at_terminal, ticket_path
from pegboard.surfaces.cli.tools import CALL_CODES

ARGS: Final = "args"
"""What a program finds the words behind its name in."""
_RESUME_COMMAND: Final = re.compile(r"\bpegboard run --ticket (\w+)")
_UNDECIDED_PREFIX: Final = re.compile(r"confirmation_\w+: ")
"""What an answer about a ticket begins with that is no program's."""
_NO_TICKET: Final = "You have no ticket "
_LINE_NUMBER: Final = re.compile(r"^line (\d+)(?=:)", re.MULTILINE)
_MAX_PROGRAM_CHARS: Final = 1_000_000
_STDIN: Final = "-"


@click.command()
@click.argument("script", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.argument("args", nargs=-1)
@click.option("--timeout", type=float, help="Seconds after which the program is ended.  [default: as in the settings]")
@click.option("--ticket", metavar="ID", help="Go on with a program that waits for this ticket, where it stopped.")
@with_view
@gateway_command(every_server)
async def run(
    api: ApiClient,
    script: Path | None,
    args: tuple[str, ...],
    timeout: float | None,
    ticket: str | None,
    view: ViewOptions,
    *,
    as_json: bool,
) -> int:
    """Run a program that calls tools: SCRIPT is a file of Python, or - to read it from standard input.

    It runs in the gateway's sandbox, by the same rules as a model's: each tool is a function of its server, awaited and
    called by keyword. ARGS are in the list args. What it prints and the value of its last line are printed.
    """
    goes_on = view.body()
    if ticket is None:
        if script is None:
            fail(Exit.USAGE, "Name the program to run, or - for standard input. To go on with one: --ticket ID")
        before, code = _load_program(script, args)
        body = {**goes_on, "code": before + code, **({} if timeout is None else {"timeout_s": timeout})}
    else:
        if timeout is not None:
            fail(Exit.USAGE, "--timeout is for a program that begins. One that waits has the time that it had left.")
        if not ticket.strip():
            fail(Exit.USAGE, "--ticket needs the id of a ticket. See: pegboard tickets list")
        body = {**goes_on, "ticket": ticket}
        if script is None or str(script) == _STDIN:
            # What came by standard input is not there again: that it had arguments is a line before its own.
            before = ARGS if args else ""
        else:
            before, code = _load_program(
                script, args, f" To go on without it: pegboard run --ticket {shlex.quote(ticket)}"
            )
            body["code"] = before + code
        if not as_json:
            await _decide_ticket(api, ticket)
    again = _ResumeCommand([*([str(script), *args] if before else [])], view)
    ended = await _run_program(api, body)
    while ended["outcome"] == "confirmation_required" and not as_json:
        if is_at_terminal():
            print_progress(
                f"The program waits. If you leave, it goes on after a decision by: {again.command(ended['ticket'])}\n"
            )
        if not await decide_at_terminal(api, ended["ticket"]):
            break
        # The program waits where it stopped: it goes on, and does nothing twice.
        ended = await _run_program(api, {**goes_on, "ticket": ended["ticket"]})
    return _print_end(again.with_resume_hint(_without_first_line(ended) if before else ended), as_json=as_json)


@dataclass(frozen=True)
class _ResumeCommand:
    """How the person who typed goes on with a program that waits: as the same caller, with the same tools."""

    words: list[str]
    """Of the command that ran it, where lines are counted by them."""
    view: ViewOptions

    def command(self, ticket: str) -> str:
        # Behind a word that begins with a dash nothing is an option any more, so these come last.
        words = ["--", *self.words] if any(word.startswith("-") for word in self.words) else self.words
        return shlex.join(["pegboard", "run", "--ticket", ticket, *self.view.words(), *words])

    def with_resume_hint(self, ended: JsonBody) -> JsonBody:
        """With the options and words of this command line, which the gateway does not know."""
        if isinstance(sentence := ended.get("message"), str):
            return {**ended, "message": self._complete_command(sentence)}
        for content in (ended.get("result") or {}).get("content") or ():
            if isinstance(content, dict) and _UNDECIDED_PREFIX.match(str(content.get("text"))):
                content["text"] = self._complete_command(content["text"])
        return ended

    def _complete_command(self, text: str) -> str:
        return _RESUME_COMMAND.sub(lambda found: self.command(found[1]), text)


async def _decide_ticket(api: ApiClient, ticket: str) -> None:
    """By the person at this terminal, if nobody has."""
    if is_at_terminal() and (await call_api(api, "GET", ticket_path(ticket)))["state"] == "waiting":
        await decide_at_terminal(api, ticket)


async def _run_program(api: ApiClient, body: dict[str, object]) -> JsonBody:
    assert isinstance(api, HttpApiClient), "whoever runs a program reaches a gateway"
    answer = await api.request_lines("/run", body, _print_call)
    if answer.status >= 400:
        fail_with_response(answer)
    return answer.body


def _print_call(line: JsonBody) -> None:
    if line.get("message"):
        print_progress(f"  … {one_line(str(line['message']))}")


def _print_end(ended: JsonBody, *, as_json: bool) -> int:
    code = CALL_CODES.get(ended["outcome"], Exit.REFUSED)
    if as_json:
        print_json(ended)
        return code if "result" not in ended or code == Exit.OK else _exit_code(result_text(ended["result"]))
    if "result" not in ended:
        fail(code, str(ended.get("message") or ended["outcome"]))
    said = ended["result"].get("structuredContent")
    if not isinstance(said, dict) or "stdout" not in said:
        # Of a ticket: nobody has decided yet, say, or it was for a call that stands alone.
        text = result_text(ended["result"])
        if code == Exit.OK:
            print_text(text)
            return code
        fail(_exit_code(text), text)
    if said["stdout"]:
        click.echo(said["stdout"], nl=not said["stdout"].endswith("\n"))
    if said.get("truncated"):
        print_progress("! It printed more than this: the rest is cut off.")
    if said.get("note"):
        print_progress(f"! {one_line(said['note'])}")
    if (error := said.get("error")) is not None:
        told = error["message"] if error.get("line") is None else f"line {error['line']}: {error['message']}"
        # The type check says the line of each thing that it found.
        fail(Exit.FAILED, f"{error['type']}: {error['message'] if _LINE_NUMBER.match(error['message']) else told}")
    if said["result"] is not None:
        result = said["result"]
        print_text(result if isinstance(result, str) else json.dumps(result, indent=2, ensure_ascii=False))
    return code


def _exit_code(text: str) -> Exit:
    if text.startswith(_NO_TICKET):
        return Exit.NOT_FOUND
    return Exit.REFUSED if _UNDECIDED_PREFIX.match(text) else Exit.FAILED


def _load_program(script: Path, args: tuple[str, ...], instead: str = "") -> tuple[str, str]:
    """The line before its own, if it needs one, and the program."""
    code = _read_script(script, instead)
    return f"{ARGS} = {[*args]!r}\n" if args or re.search(rf"\b{ARGS}\b", code) else "", code


def _read_script(script: Path, instead: str) -> str:
    try:
        raw = sys.stdin.buffer.read(_MAX_PROGRAM_CHARS + 1) if str(script) == _STDIN else script.read_bytes()
    except OSError as error:
        fail(Exit.NOT_FOUND, f"{script} cannot be read: {error.strerror}.{instead}")
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if not is_unicode(text) or len(raw) > _MAX_PROGRAM_CHARS:
        fail(
            Exit.USAGE,
            f"{script} is no program: {'it is too long' if len(raw) > _MAX_PROGRAM_CHARS else 'it is not UTF-8 text'}.",
        )
    return text.replace("\r\n", "\n")


def _without_first_line(ended: JsonBody) -> JsonBody:
    """The line before the program's own is ours: lines are counted as its writer sees them."""
    said = ended.get("result", {}).get("structuredContent")
    if not isinstance(said, dict):
        return ended
    if isinstance(note := said.get("note"), str):
        said["note"] = _shift_line_numbers(note)
    if isinstance(error := said.get("error"), dict):
        if isinstance(error.get("line"), int):
            error["line"] = max(1, error["line"] - 1)
        error["message"] = _shift_line_numbers(error["message"])
    return ended


def _shift_line_numbers(text: str) -> str:
    return _LINE_NUMBER.sub(lambda found: f"line {max(1, int(found[1]) - 1)}", text)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write a .pyi for each server there.")
@with_view
@gateway_command(every_server)
async def stubs(
    api: ApiClient,
    names: tuple[str, ...],
    out: Path | None,
    view: ViewOptions,
    *,
    as_json: bool,
) -> int:
    """Print tools as typed functions of Python: all that are open, or those of NAMES (servers, toolsets or tools).

    With --out, each server is a module of its own in that folder, for editors to read.
    """
    params = [("name", name) for name in names]
    params += view.params()
    body = await call_api(api, "GET", "/stubs", params=params)
    if as_json:
        print_json(body)
        return Exit.OK
    if not body["modules"]:
        print_progress("No tool is open, so there is no function. See: pegboard tools list")
    if out is not None:
        _write_stubs(out, body)
        return Exit.OK
    parts = [f"# {module['name']}.pyi\n{body['header']}\n\n{module['stubs']}" for module in body["modules"]]
    if parts:
        print_text("\n\n\n".join(parts))
    return Exit.OK


def _write_stubs(folder: Path, body: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for module in body["modules"]:
            file = folder / f"{module['name']}.pyi"
            file.write_text(f"{body['header']}\n\n{module['stubs']}\n", encoding="utf-8")
    except OSError as error:
        fail(Exit.FAILED, f"{error.filename} cannot be written: {error.strerror}.")
    print_progress(f"{len(body['functions'])} functions in {len(body['modules'])} modules: {folder}")
