"""`pegboard toolset …`: see toolsets, switch and remove them; making, sharing and secrets have modules of their own."""

import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from .agreeing import ask_yes_no
from .link import ApiClient
from .options import call_api, gateway_command, toolset_path
from .output import Exit, fail, print_json, print_progress, print_text
from .servers import origin_text
from .text import one_line, table
from .tools import MARKS
from .toolset_check import check
from .toolset_choice import choice
from .toolset_export import export
from .toolset_import import import_toolset
from .toolset_new import new
from .toolset_secrets import secrets

_KIND_TEXTS: Final = {
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
@gateway_command()
async def list_toolsets(api: ApiClient, *, as_json: bool) -> None:
    """Every toolset with its version, what it brings and how it is."""
    body = await call_api(api, "GET", "/toolsets")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    if not body["toolsets"]:
        print_text(
            "No toolsets yet. Make one:  pegboard toolset new NAME   or bring one:  pegboard toolset import FILE"
        )
        return
    rows = [
        (
            each["id"],
            each["version"] or "",
            _state_text(each, api),
            _contents_text(each),
            _origin_text(each),
            _problem_text(each),
        )
        for each in body["toolsets"]
    ]
    print_text(table(("TOOLSET", "VERSION", "STATE", "BRINGS", "FROM", ""), rows))


@toolset.command("show")
@click.argument("toolset")
@gateway_command()
async def show(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """One toolset: its tools with their statuses, its servers, the secrets it asks for and its files."""
    body = await call_api(api, "GET", f"/toolsets/{toolset_path(toolset)}")
    if as_json:
        print_json({**body, "gatewayRunning": api.is_running})
        return
    print_text("\n".join(_toolset_lines(body, api)))


@toolset.command("enable")
@click.argument("toolset")
@gateway_command()
async def enable(api: ApiClient, toolset: str, *, as_json: bool) -> None:
    """Switch a toolset on. Each of its servers and tools keeps its own switch."""
    body = await _switch_toolset(api, toolset, True, "")
    print_json(body) if as_json else print_text(f"Toolset {body['toolsetId']} is switched on.")


@toolset.command("disable")
@click.argument("toolset")
@click.option("--note", default="", help="Why, for whoever asks later.")
@gateway_command()
async def disable(api: ApiClient, toolset: str, note: str, *, as_json: bool) -> None:
    """Switch a toolset off, with all its servers. Their tools stay on the board, locked."""
    body = await _switch_toolset(api, toolset, False, note)
    print_json(body) if as_json else print_text(f"Toolset {body['toolsetId']} is switched off.")


@toolset.command("remove")
@click.argument("toolset")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--keep-workspace", is_flag=True, help="Keep the files that its tools have written.")
@gateway_command()
async def remove(api: ApiClient, toolset: str, yes: bool, keep_workspace: bool, *, as_json: bool) -> None:
    """Take a toolset away, with its tools, servers, files, secrets, switches and approvals.

    Asks first at a terminal; elsewhere it must be told --yes.
    """
    path = toolset_path(toolset)
    if not yes:
        body = await call_api(api, "GET", f"/toolsets/{path}")
        if as_json or not sys.stdin.isatty():
            fail(Exit.REFUSED, f"Nothing was removed. To remove {body['id']} with all it has, say so: --yes")
        if not await ask_yes_no(
            f"Remove {body['id']} ({_contents_text(body)}), with its files, secrets and approvals?"
        ):
            fail(Exit.REFUSED, "Nothing was removed.")
    params = [("keepWorkspace", "true")] if keep_workspace else []
    body = await call_api(api, "DELETE", f"/toolsets/{path}", params=params)
    for warning in body["warnings"]:
        print_progress(f"! {warning}")
    print_json(body) if as_json else print_text(f"Removed {body['removed']}.")


async def _switch_toolset(api: ApiClient, toolset: str, on: bool, note: str) -> dict[str, Any]:
    return await call_api(api, "POST", f"/toolsets/{toolset_path(toolset)}/switch", body={"on": on, "note": note})


def _origin_text(body: Mapping[str, Any]) -> str:
    if body["linked"]:
        return f"linked to {body['linked']}"
    source = body["source"]
    return (
        origin_text(body["origin"])
        if source is None
        else _source_text(source, (source["path"] or "").rpartition("/")[2])
    )


def _source_text(source: Mapping[str, Any], place: str) -> str:
    kind = _KIND_TEXTS[source["kind"]]
    commit = f" at {source['commit'][:12]}{', changed' if source['dirty'] else ''}" if "commit" in source else ""
    return f"{kind} {place}{commit}".rstrip()


def _import_text(body: Mapping[str, Any]) -> str:
    """Where it came from and when, whole: what `list` has no room for."""
    source, origin = body["source"], body["origin"]
    if source is None:
        return origin_text(origin)
    linked = "linked to" if body["linked"] else "imported from"
    return (
        f"{linked} {_source_text(source, source['path'] or '')}, {source['at'][:16].replace('T', ' ')} by "
        f"{origin['by']}"
    )


def _contents_text(body: Mapping[str, Any]) -> str:
    counted = ((len(body["tools"]), "tool"), (len(body["servers"]), "server"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count) or "nothing yet"


def _state_text(body: Mapping[str, Any], api: ApiClient) -> str:
    state: str = body["health"]["state"]
    # What it lacks is known without a gateway; whether it would come up is not.
    return state if api.is_running or state == "down" else {True: "on", False: "off"}[body["enabled"]]


def _problem_text(body: Mapping[str, Any]) -> str:
    """What a person must look at: why it is not up, or why what it shows is not what its files say."""
    if body["health"]["state"] in ("down", "needs_sign_in"):
        return one_line(body["health"]["sentence"])
    return one_line("; ".join(flaw["sentence"] for flaw in body["flaws"]))


def _toolset_lines(body: Mapping[str, Any], api: ApiClient) -> list[str]:
    title = body["name"] if body["name"] not in ("", body["id"]) else ""
    lines = [" ".join(part for part in (body["id"], body["version"], title and f"({title})") if part)]
    if body["description"]:
        lines.append(f"  {one_line(body['description'])}")
    lines.append(f"  {_state_text(body, api)}, {_import_text(body)}")
    if trouble := _problem_text(body):
        lines.append(f"  {trouble}")
    if body["tools"]:
        rows = [
            (f"  {MARKS[tool['verdict']]} {tool['id']}", tool.get("status") or tool["verdict"])
            for tool in body["tools"]
        ]
        lines += ["", table(("TOOL", "STATUS"), rows)]
    if body["servers"]:
        rows = [
            (f"  {server['id']}", server["health"]["state"] if api.is_running else "on" if server["on"] else "off")
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
