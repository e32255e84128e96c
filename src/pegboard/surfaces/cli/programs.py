"""`pegboard run` and `pegboard stubs`: programs that call the tools of the board, and what they are written by."""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import click

from .addressed import to_you
from .client import HttpApi
from .link import Api, Body
from .options import asked, asks, every_server, refused, view_params, with_view
from .output import Exit, document, fail, say, tell
from .text import is_unicode, one_line
from .tickets import decided_here
from .tools import CALL_CODES

ARGS: Final = "args"
"""What a program finds the words behind its name in."""
_LINE: Final = re.compile(r"^line (\d+)(?=:)", re.MULTILINE)
_MOST: Final = 1_000_000


@click.command()
@click.argument("script", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("args", nargs=-1)
@click.option("--timeout", type=float, help="Seconds after which the program is ended.  [default: as in the settings]")
@with_view
@asks(every_server)
async def run(
    api: Api,
    script: Path,
    args: tuple[str, ...],
    timeout: float | None,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> int:
    """Run a program that calls tools: SCRIPT is a file of Python, or - to read it from standard input.

    It runs in the gateway's sandbox, by the same rules as a model's: each tool is a function of its server, awaited and
    called by keyword. ARGS are in the list args. What it prints and the value of its last line are printed.
    """
    code = _read(script)
    before = f"{ARGS} = {[*args]!r}\n" if args or re.search(rf"\b{ARGS}\b", code) else ""
    body: dict[str, object] = {"as": principal, "code": before + code}
    if timeout is not None:
        body["timeout_s"] = timeout
    view = view_params(toolsets, enabled_tools, disabled_tools, principal)
    for name in ("toolsets", "enabled_tools", "disabled_tools"):
        named = [value for key, value in view if key == name]
        if named:
            body[name] = [value for value in named if value]
    ended = await _ended(api, body)
    while ended["ended"] == "confirmation_required" and not as_json and await decided_here(api, ended["ticket"]):
        # The program waits where it stopped: it goes on, and does nothing twice.
        goes_on = {key: value for key, value in body.items() if key not in ("code", "timeout_s")}
        ended = await _ended(api, {**goes_on, "ticket": ended["ticket"]})
    return _told(_without_first_line(ended) if before else ended, as_json=as_json)


async def _ended(api: Api, body: dict[str, object]) -> Body:
    assert isinstance(api, HttpApi), "whoever runs a program reaches a gateway"
    answer = await api.told("/run", body, _progress)
    if answer.status >= 400:
        refused(answer)
    return answer.body


def _progress(line: Body) -> None:
    if line.get("words"):
        tell(f"  … {one_line(str(line['words']))}")


def _told(ended: Body, *, as_json: bool) -> int:
    code = CALL_CODES.get(ended["ended"], Exit.REFUSED)
    if as_json:
        document(ended)
        return code
    if "result" not in ended:
        fail(code, to_you(str(ended.get("sentence") or ended["ended"])))
    said = ended["result"].get("structuredContent")
    if not isinstance(said, dict):
        content = ended["result"].get("content") or [{}]
        fail(code if code != Exit.OK else Exit.FAILED, str(content[0].get("text", "The program has no answer.")))
    if said["stdout"]:
        click.echo(said["stdout"], nl=not said["stdout"].endswith("\n"))
    if said.get("truncated"):
        tell("! It printed more than this: the rest is cut off.")
    if said.get("note"):
        tell(f"! {one_line(said['note'])}")
    if (error := said.get("error")) is not None:
        told = error["message"] if error.get("line") is None else f"line {error['line']}: {error['message']}"
        # The type check says the line of each thing that it found.
        fail(Exit.FAILED, f"{error['type']}: {error['message'] if _LINE.match(error['message']) else told}")
    if said["result"] is not None:
        result = said["result"]
        say(result if isinstance(result, str) else json.dumps(result, indent=2, ensure_ascii=False))
    return code


def _read(script: Path) -> str:
    try:
        raw = sys.stdin.buffer.read(_MOST + 1) if str(script) == "-" else script.read_bytes()
    except OSError as error:
        fail(Exit.NOT_FOUND, f"{script} cannot be read: {error.strerror}.")
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if not is_unicode(text) or len(raw) > _MOST:
        fail(Exit.USAGE, f"{script} is no program: {'it is too long' if len(raw) > _MOST else 'it is not UTF-8 text'}.")
    return text.replace("\r\n", "\n")


def _without_first_line(ended: Body) -> Body:
    """The line before the program's own is ours: lines are counted as its writer sees them."""
    said = ended.get("result", {}).get("structuredContent")
    error = said.get("error") if isinstance(said, dict) else None
    if not isinstance(error, dict):
        return ended
    if isinstance(error.get("line"), int):
        error["line"] = max(1, error["line"] - 1)
    error["message"] = _LINE.sub(lambda found: f"line {max(1, int(found[1]) - 1)}", error["message"])
    return ended


@click.command()
@click.argument("names", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write a .pyi for each server there.")
@with_view
@asks(every_server)
async def stubs(
    api: Api,
    names: tuple[str, ...],
    out: Path | None,
    toolsets: str | None,
    enabled_tools: str | None,
    disabled_tools: str | None,
    principal: str,
    *,
    as_json: bool,
) -> int:
    """Print tools as typed functions of Python: all that are open, or those of NAMES (servers, toolsets or tools).

    With --out, each server is a module of its own in that folder, for editors to read.
    """
    params = [("name", name) for name in names]
    params += view_params(toolsets, enabled_tools, disabled_tools, principal)
    body = await asked(api, "GET", "/stubs", params=params)
    if as_json:
        document(body)
        return Exit.OK
    if not body["modules"]:
        tell("No tool is open, so there is no function. See: pegboard tools list")
    if out is not None:
        _write(out, body)
        return Exit.OK
    parts = [f"# {module['name']}.pyi\n{body['header']}\n\n{module['stubs']}" for module in body["modules"]]
    if parts:
        say("\n\n\n".join(parts))
    return Exit.OK


def _write(folder: Path, body: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for module in body["modules"]:
            file = folder / f"{module['name']}.pyi"
            file.write_text(f"{body['header']}\n\n{module['stubs']}\n", encoding="utf-8")
    except OSError as error:
        fail(Exit.FAILED, f"{error.filename} cannot be written: {error.strerror}.")
    tell(f"{len(body['functions'])} functions in {len(body['modules'])} modules: {folder}")
