"""`pegboard import`: the servers that other clients know, looked at first and added only when a person says so."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from pegboard.config.clients import Found, as_yaml, entry_of, find, merged, read_list
from pegboard.config.masking import masked
from pegboard.core.reference import closest
from pegboard.core.server import Server

from .link import Api, Options
from .options import asked, config_option, data_dir_option, json_option, launcher, no_server
from .output import Exit, document, fail, say, tell
from .running import run_to_end
from .servers import origin_text
from .text import table


@click.command("import")
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Read this file instead of looking in the usual places. May be repeated.",
)
@click.option("--yaml", "as_fragment", is_flag=True, help="Print them as a piece of pegboard.yaml, without secrets.")
@click.option("--only", "names", multiple=True, help="Only this server. May be repeated.")
@click.option("--yes", is_flag=True, help="Add them. Without it, nothing is changed.")
@config_option
@data_dir_option
@json_option
def import_servers(
    files: tuple[Path, ...],
    as_fragment: bool,
    names: tuple[str, ...],
    yes: bool,
    config: Path | None,
    data_dir: Path | None,
    as_json: bool,
) -> int:
    """Bring over the servers of Claude Desktop, Claude Code, Cursor, VS Code and Windsurf.

    Shows what it finds; --yes adds it to the store, --yaml prints it for your pegboard.yaml.
    """
    found = _found(files)
    whole = merged(found)
    servers = _chosen(whole.servers, names)
    there: dict[str, str] = {}
    added: list[dict[str, Any]] = []

    async def ask() -> int:
        async with launcher().api(Options(config, data_dir), no_server({})) as api:
            there.update(await _there(api))
            added.extend([await _added(api, server) for server in servers] if yes else [])
        return Exit.OK

    # A piece of a file is written for whichever board it is put into, so none is asked.
    if servers and (yes or not as_fragment):
        run_to_end(ask)
    told = {problem for name in names for problem in whole.notes[name]} if names else {*whole.problems}
    problems = [str(problem) for problem in whole.problems if problem in told]
    if as_json:
        lists = [{"client": one.client.value, "path": str(one.path)} for one in found]
        shapes = [_server_shape(server, there) for server in servers]
        piece = {"yaml": as_yaml(servers)} if as_fragment else {}
        document({"lists": lists, "servers": shapes, "problems": problems, **piece, "added": added})
    else:
        for problem in problems:
            tell(f"! {problem}")
        say(as_yaml(servers).rstrip("\n")) if as_fragment else _shown(found, servers, there, yes=yes)
        for result in added:
            tell(f"✗ {result['id']}: {result['error']}") if result["error"] else say(f"Added {result['id']}.")
    if any(result["error"] for result in added):
        return Exit.REFUSED
    # A file that a person named must hold servers; of those in the usual places, none need to be there.
    return Exit.FAILED if files and not whole.servers else Exit.OK


def _found(files: tuple[Path, ...]) -> tuple[Found, ...]:
    home, platform = Path.home(), sys.platform
    if files:
        return tuple(read_list(file, home, platform) for file in files)
    return find(home, Path.cwd(), platform, os.environ)


def _chosen(servers: tuple[Server, ...], names: tuple[str, ...]) -> list[Server]:
    ids = [server.id for server in servers]
    for name in names:
        if name not in ids:
            near = closest(name, ids)
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Run without --only to see all."
            fail(Exit.NOT_FOUND, f"no list has a server {name!r}. {hint}")
    return [server for server in servers if not names or server.id in names]


async def _there(api: Api) -> dict[str, str]:
    """The servers that the board has already, and where from: adding one of the same key would be refused."""
    body = await asked(api, "GET", "/servers")
    return {server["id"]: origin_text(server["origin"]) for server in body["servers"]}


def _shown(found: tuple[Found, ...], servers: list[Server], there: dict[str, str], *, yes: bool) -> None:
    for one in found:
        say(f"{one.client.value}: {one.path}")
    if not found:
        say("No list of servers was found. Name one: pegboard import --from FILE")
    if not servers:
        return
    say()
    rows = [(s.id, _line(s), str(s.origin), there.get(str(s.key), "")) for s in servers]
    say(table(("SERVER", "CONNECTION", "FOUND AT", "THERE ALREADY" if any(row[3] for row in rows) else ""), rows))
    if not yes:
        say("\nNothing was changed. Add them: pegboard import --yes   As a file: pegboard import --yaml")


def _server_shape(server: Server, there: dict[str, str]) -> dict[str, Any]:
    return {
        "id": str(server.key),
        "connection": dict(masked(server)),
        "foundAt": str(server.origin),
        "thereAlready": there.get(str(server.key)),
    }


def _line(server: Server) -> str:
    shown = masked(server)
    args = shown.get("args")
    words = [shown.get("command", shown.get("url")), *(args if isinstance(args, list) else [])]
    return " ".join(str(word) for word in words)


async def _added(api: Api, server: Server) -> dict[str, Any]:
    answer = await api.request("POST", "/servers", body=_body(server))
    return {"id": str(server.key), "error": answer.body.get("detail") if answer.status >= 400 else None}


def _body(server: Server) -> dict[str, object]:
    return {"id": server.id, "trust": server.trust.value, **entry_of(server)}
