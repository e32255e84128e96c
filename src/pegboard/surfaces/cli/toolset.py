"""`pegboard toolset …`: see toolsets, switch and remove them; making, sharing and secrets have modules of their own."""

import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from .agreeing import agreed
from .link import Api
from .options import asked, asks, toolset_path
from .output import Exit, document, fail, say, tell
from .servers import origin_text
from .text import one_line, table
from .tools import MARKS
from .toolset_check import check
from .toolset_choice import choice
from .toolset_export import export
from .toolset_import import import_toolset
from .toolset_new import new
from .toolset_secrets import secrets

_KINDS: Final = {
    "folder": "the folder",
    "git": "the Git checkout",
    "zip": "the ZIP",
    "manifest": "the file",
    "upload": "an upload",
}


@click.group()
def toolset() -> None:
    """Toolsets: tools, servers and containers that come, are switched and go together."""


toolset.add_command(new)
toolset.add_command(check)
toolset.add_command(choice)
toolset.add_command(import_toolset)
toolset.add_command(export)
toolset.add_command(secrets)


@toolset.command("list")
@asks()
async def list_toolsets(api: Api, *, as_json: bool) -> None:
    """Every toolset with its version, what it brings and how it is."""
    body = await asked(api, "GET", "/toolsets")
    if as_json:
        document({**body, "gatewayRunning": api.running})
        return
    if not body["toolsets"]:
        say("No toolsets yet. Make one:  pegboard toolset new NAME   or bring one:  pegboard toolset import FILE")
        return
    rows = [
        (
            each["id"],
            each["version"] or "",
            _state(each, api),
            _brings(each),
            _from(each),
            _trouble(each),
        )
        for each in body["toolsets"]
    ]
    say(table(("TOOLSET", "VERSION", "STATE", "BRINGS", "FROM", ""), rows))


@toolset.command("show")
@click.argument("toolset")
@asks()
async def show(api: Api, toolset: str, *, as_json: bool) -> None:
    """One toolset: its tools with their statuses, its servers, the secrets it asks for and its files."""
    body = await asked(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        document({**body, "gatewayRunning": api.running})
        return
    say("\n".join(_described(body, api)))


@toolset.command("enable")
@click.argument("toolset")
@asks()
async def enable(api: Api, toolset: str, *, as_json: bool) -> None:
    """Switch a toolset on. Each of its servers and tools keeps its own switch."""
    body = await _switched(api, toolset, True, "")
    document(body) if as_json else say(f"Toolset {body['toolsetId']} is switched on.")


@toolset.command("disable")
@click.argument("toolset")
@click.option("--note", default="", help="Why, for whoever asks later.")
@asks()
async def disable(api: Api, toolset: str, note: str, *, as_json: bool) -> None:
    """Switch a toolset off, with all its servers. Their tools stay on the board, locked."""
    body = await _switched(api, toolset, False, note)
    document(body) if as_json else say(f"Toolset {body['toolsetId']} is switched off.")


@toolset.command("remove")
@click.argument("toolset")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--keep-workspace", is_flag=True, help="Keep the files that its tools have written.")
@asks()
async def remove(api: Api, toolset: str, yes: bool, keep_workspace: bool, *, as_json: bool) -> None:
    """Take a toolset away, with its tools, servers, files, secrets, switches and approvals.

    Asks first at a terminal; elsewhere it must be told --yes.
    """
    path = toolset_path(toolset)
    if not yes:
        body = await asked(api, "GET", f"/toolsets/{path}")
        if as_json or not sys.stdin.isatty():
            fail(Exit.REFUSED, f"Nothing was removed. To remove {body['id']} with all it has, say so: --yes")
        if not await agreed(f"Remove {body['id']} ({_brings(body)}), with its files, secrets and approvals?"):
            fail(Exit.REFUSED, "Nothing was removed.")
    params = [("keepWorkspace", "true")] if keep_workspace else []
    body = await asked(api, "DELETE", f"/toolsets/{path}", params=params)
    for warning in body["warnings"]:
        tell(f"! {warning}")
    document(body) if as_json else say(f"Removed {body['removed']}.")


async def _switched(api: Api, toolset: str, on: bool, note: str) -> dict[str, Any]:
    return await asked(api, "POST", f"/toolsets/{toolset_path(toolset)}/switch", body={"on": on, "note": note})


def _from(body: Mapping[str, Any]) -> str:
    if body["linked"]:
        return f"linked to {body['linked']}"
    source = body["source"]
    return origin_text(body["origin"]) if source is None else _source(source, (source["path"] or "").rpartition("/")[2])


def _source(source: Mapping[str, Any], place: str) -> str:
    kind = _KINDS[source["kind"]]
    commit = f" at {source['commit'][:12]}{', changed' if source['dirty'] else ''}" if "commit" in source else ""
    return f"{kind} {place}{commit}".rstrip()


def _brought(body: Mapping[str, Any]) -> str:
    """Where it came from and when, whole: what `list` has no room for."""
    source, origin = body["source"], body["origin"]
    if source is None:
        return origin_text(origin)
    linked = "linked to" if body["linked"] else "imported from"
    return f"{linked} {_source(source, source['path'] or '')}, {source['at'][:16].replace('T', ' ')} by {origin['by']}"


def _brings(body: Mapping[str, Any]) -> str:
    counted = ((len(body["tools"]), "tool"), (len(body["servers"]), "server"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count) or "nothing yet"


def _state(body: Mapping[str, Any], api: Api) -> str:
    state: str = body["health"]["state"]
    # What it lacks is known without a gateway; whether it would come up is not.
    return state if api.running or state == "down" else {True: "on", False: "off"}[body["enabled"]]


def _trouble(body: Mapping[str, Any]) -> str:
    """What a person must look at: why it is not up, or why what it shows is not what its files say."""
    if body["health"]["state"] in ("down", "needs_sign_in"):
        return one_line(body["health"]["sentence"])
    return one_line("; ".join(flaw["sentence"] for flaw in body["flaws"]))


def _described(body: Mapping[str, Any], api: Api) -> list[str]:
    title = body["name"] if body["name"] not in ("", body["id"]) else ""
    lines = [" ".join(part for part in (body["id"], body["version"], title and f"({title})") if part)]
    if body["description"]:
        lines.append(f"  {one_line(body['description'])}")
    lines.append(f"  {_state(body, api)}, {_brought(body)}")
    if trouble := _trouble(body):
        lines.append(f"  {trouble}")
    if body["tools"]:
        rows = [
            (f"  {MARKS[tool['verdict']]} {tool['id']}", tool.get("status") or tool["verdict"])
            for tool in body["tools"]
        ]
        lines += ["", table(("TOOL", "STATUS"), rows)]
    if body["servers"]:
        rows = [
            (f"  {server['id']}", server["health"]["state"] if api.running else "on" if server["on"] else "off")
            for server in body["servers"]
        ]
        lines += ["", table(("SERVER", "STATE"), rows)]
    if body["secrets"]:
        rows = [(f"  {secret['name']}", "set" if secret["set"] else "not set") for secret in body["secrets"]]
        lines += ["", table(("SECRET", ""), rows)]
    if body["requirements"]:
        lines += ["", f"Requires: {', '.join(body['requirements'])}"]
    if body["files"]:
        lines += ["", f"{body['files']} file{'' if body['files'] == 1 else 's'}, {body['bytes']:,} bytes"]
    return lines
