"""`pegboard import`: the servers that other clients know, looked at first and added only when a person says so."""

import os
import sys
from pathlib import Path
from typing import Any, assert_never

import click

from pegboard.config.clients import Found, as_yaml, find, merged, read_list
from pegboard.config.masking import masked
from pegboard.core.server import AllButTools, EveryTool, Http, OnlyTools, Server, Stdio

from .link import Api
from .options import asks
from .output import Exit, document, fail, say, table, tell


@click.command("import")
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read this file instead of looking in the usual places. May be given many times.",
)
@click.option("--yaml", "as_fragment", is_flag=True, help="Print them as a piece of pegboard.yaml, without secrets.")
@click.option("--only", "names", multiple=True, help="Only this server. May be given many times.")
@click.option("--yes", is_flag=True, help="Add them. Without it, nothing is changed.")
@asks()
async def import_servers(
    api: Api, files: tuple[Path, ...], as_fragment: bool, names: tuple[str, ...], yes: bool, *, as_json: bool
) -> None:
    """Bring over the servers of Claude Desktop, Claude Code, Cursor, VS Code and Windsurf."""
    found = _found(files)
    whole = merged(found)
    servers = [server for server in whole.servers if not names or server.key.server in names]
    missing = sorted(set(names) - {server.key.server for server in whole.servers})
    if missing:
        fail(Exit.NOT_FOUND, f"no client knows a server {missing[0]!r}. Run without --only to see what was found.")
    added = [await _added(api, server) for server in servers] if yes else []
    failed = any(result["error"] for result in added)
    if as_json:
        document(
            {
                "lists": [{"client": one.client.value, "path": str(one.path)} for one in found],
                "servers": [{"id": str(server.key), "connection": dict(masked(server))} for server in servers],
                "problems": [str(problem) for problem in whole.problems],
                "added": added,
            }
        )
    else:
        _shown(found, servers, [str(problem) for problem in whole.problems], as_fragment=as_fragment)
        for result in added:
            tell(f"✗ {result['id']}: {result['error']}") if result["error"] else say(f"Added {result['id']}.")
        if servers and not yes and not as_fragment:
            say("\nNothing was changed. Add them: pegboard import --yes   As a file: pegboard import --yaml")
    sys.exit(Exit.REFUSED if failed else Exit.OK)


def _found(files: tuple[Path, ...]) -> tuple[Found, ...]:
    home, platform = Path.home(), sys.platform
    if files:
        return tuple(read_list(file, home, platform) for file in files)
    return find(home, Path.cwd(), platform, os.environ)


def _shown(found: tuple[Found, ...], servers: list[Server], problems: list[str], *, as_fragment: bool) -> None:
    for problem in problems:
        tell(f"! {problem}")
    if as_fragment:
        say(as_yaml(servers))
        return
    for one in found:
        say(f"{one.client.value}: {one.path}")
    if not found:
        say("No list of servers was found. Name one: pegboard import --from FILE")
    elif servers:
        say()
        say(table(("SERVER", "FROM", "CONNECTION"), [(s.key.server, str(s.origin), _line(s)) for s in servers]))


def _line(server: Server) -> str:
    shown = masked(server)
    args = shown.get("args")
    words = [shown.get("command", shown.get("url")), *(args if isinstance(args, list) else [])]
    return " ".join(str(word) for word in words)


async def _added(api: Api, server: Server) -> dict[str, Any]:
    answer = await api.request("POST", "/servers", body=_body(server))
    return {"id": str(server.key), "error": answer.body.get("detail") if answer.status >= 400 else None}


def _body(server: Server) -> dict[str, object]:
    body: dict[str, object] = {"id": server.key.server, "enabled": server.enabled, "trust": server.trust.value}
    match server.connection:
        case Stdio(command, args, env, cwd):
            body |= {"command": command, "args": list(args), "env": dict(env), "cwd": cwd}
        case Http(url, transport, headers):
            body |= {"url": url, "transport": transport.value, "headers": dict(headers)}
        case _:
            assert_never(server.connection)
    match server.limit:
        case EveryTool():
            pass
        case OnlyTools(names):
            body["enabled_tools"] = list(names)
        case AllButTools(names):
            body["disabled_tools"] = list(names)
        case _:
            assert_never(server.limit)
    return body
