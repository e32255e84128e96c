"""`pegboard import`."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from pegboard.config.clients.discover import find_client_lists, read_list
from pegboard.config.clients.merge import format_yaml, merge_lists, yaml_entry
from pegboard.config.clients.placeholders import ClientServerList
from pegboard.config.masked_servers import mask_server
from pegboard.core.model.references import closest_names
from pegboard.core.model.server import Server
from pegboard.surfaces.cli.api import ApiClient, Options
from pegboard.surfaces.cli.event_loop import run_to_end
from pegboard.surfaces.cli.options import call_api, config_option, data_dir_option, json_option, launcher, no_server
from pegboard.surfaces.cli.output import Exit, fail, print_json, print_progress, print_text, table
from pegboard.surfaces.cli.servers import origin_text


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
    found = _find_lists(files)
    whole = merge_lists(found)
    servers = _choose_servers(whole.servers, names)
    there: dict[str, str] = {}
    added: list[dict[str, Any]] = []

    async def ask() -> int:
        async with launcher().api(Options(config, data_dir), no_server({})) as api:
            there.update(await _existing_servers(api))
            added.extend([await _add_server(api, server) for server in servers] if yes else [])
        return Exit.OK

    # A piece of a file is written for whichever board it is put into, so none is asked.
    if servers and (yes or not as_fragment):
        run_to_end(ask)
    told = {problem for name in names for problem in whole.notes[name]} if names else {*whole.problems}
    problems = [str(problem) for problem in whole.problems if problem in told]
    if as_json:
        lists = [{"client": one.client.value, "path": str(one.path)} for one in found]
        shapes = [_server_json(server, there) for server in servers]
        piece = {"yaml": format_yaml(servers)} if as_fragment else {}
        print_json({"lists": lists, "servers": shapes, "problems": problems, **piece, "added": added})
    else:
        for problem in problems:
            print_progress(f"! {problem}")
        print_text(format_yaml(servers).rstrip("\n")) if as_fragment else _print_preview(found, servers, there, yes=yes)
        for result in added:
            print_progress(f"✗ {result['id']}: {result['error']}") if result["error"] else print_text(
                f"Added {result['id']}."
            )
    if any(result["error"] for result in added):
        return Exit.REFUSED
    # A file that a person named must hold servers; of those in the usual places, none need to be there.
    return Exit.FAILED if files and not whole.servers else Exit.OK


def _find_lists(files: tuple[Path, ...]) -> tuple[ClientServerList, ...]:
    home, platform = Path.home(), sys.platform
    if files:
        return tuple(read_list(file, home, platform) for file in files)
    return find_client_lists(home, Path.cwd(), platform, os.environ)


def _choose_servers(servers: tuple[Server, ...], names: tuple[str, ...]) -> list[Server]:
    ids = [server.id for server in servers]
    for name in names:
        if name not in ids:
            near = closest_names(name, ids)
            hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Run without --only to see all."
            fail(Exit.NOT_FOUND, f"no list has a server {name!r}. {hint}")
    return [server for server in servers if not names or server.id in names]


async def _existing_servers(api: ApiClient) -> dict[str, str]:
    """The servers that the board has already, and where from: adding one of the same key would be refused."""
    body = await call_api(api, "GET", "/servers")
    return {server["id"]: origin_text(server["origin"]) for server in body["servers"]}


def _print_preview(
    found: tuple[ClientServerList, ...], servers: list[Server], there: dict[str, str], *, yes: bool
) -> None:
    for one in found:
        print_text(f"{one.client.value}: {one.path}")
    if not found:
        print_text("No list of servers was found. Name one: pegboard import --from FILE")
    if not servers:
        return
    print_text()
    rows = [(s.id, _server_line(s), str(s.origin), there.get(str(s.key), "")) for s in servers]
    print_text(
        table(("SERVER", "CONNECTION", "FOUND AT", "THERE ALREADY" if any(row[3] for row in rows) else ""), rows)
    )
    if not yes:
        print_text("\nNothing was changed. Add them: pegboard import --yes   As a file: pegboard import --yaml")


def _server_json(server: Server, there: dict[str, str]) -> dict[str, Any]:
    return {
        "id": str(server.key),
        "connection": dict(mask_server(server)),
        "foundAt": str(server.origin),
        "existingOrigin": there.get(str(server.key)),
    }


def _server_line(server: Server) -> str:
    shown = mask_server(server)
    args = shown.get("args")
    words = [shown.get("command", shown.get("url")), *(args if isinstance(args, list) else [])]
    return " ".join(str(word) for word in words)


async def _add_server(api: ApiClient, server: Server) -> dict[str, Any]:
    answer = await api.request("POST", "/servers", body=_server_body(server))
    return {"id": str(server.key), "error": answer.body.get("detail") if answer.status >= 400 else None}


def _server_body(server: Server) -> dict[str, object]:
    return {"id": server.id, "trust": server.trust.value, **yaml_entry(server)}
