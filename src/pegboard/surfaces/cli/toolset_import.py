"""`pegboard toolset import`: a toolset brought onto the board, after a look at what that changes."""

import secrets
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import click

from pegboard.core.addressed import to_you

from .agreeing import agreed
from .link import Api
from .options import asked, asks
from .output import Exit, document, fail, say, tell
from .sources import Source

_LOOK: Final = (("dryRun", "true"),)
_DESCRIBE: Final = (("describe", "true"),)
_ASK_AGAIN: Final = 0.5
_MOST: Final = 10
"""Reasons why something is not open that are told one by one."""
_STEP: Final = 500
"""Files after which a person is told again how many are done."""


@click.command("import")
@click.argument("source", type=Source())
@click.option("--yes", is_flag=True, help="Import it without asking.")
@click.option("--dry-run", is_flag=True, help="Only show what would change. Nothing of it is run.")
@click.option("--describe", is_flag=True, help="With --dry-run: run its modules, to show what its tools are.")
@click.option("--approve", is_flag=True, help="You have read what changes: approve its new and changed tools.")
@click.option("--allow-downgrade", is_flag=True, help="Go back to an older version.")
@click.option("--link", is_flag=True, help="Run it from this very folder, and follow what you change there.")
@asks()
async def import_toolset(
    api: Api,
    source: Path,
    yes: bool,
    dry_run: bool,
    describe: bool,
    approve: bool,
    allow_downgrade: bool,
    link: bool,
    *,
    as_json: bool,
) -> None:
    """Bring a toolset onto the board: from a folder, a Git checkout, a ZIP or a toolset.yaml.

    Shows what it changes and asks before it does; where nobody can be asked, say --yes. All of it is imported, or
    nothing. Importing it again keeps your switches, approvals and overrides; new and changed tools wait for your
    approval.
    """
    what: dict[str, Any] = {"path": _absolute(source), "shown": str(source), "link": link}
    said = [("allowDowngrade", "true")] if allow_downgrade else []
    what |= {"approve": "all"} if approve else {}
    if describe and not dry_run:
        raise click.UsageError("--describe belongs to --dry-run: an import runs its modules anyway.")
    if not yes:
        looked = await _asked(api, [*said, *_LOOK, *(_DESCRIBE if describe else ())], what)
        if dry_run:
            document(looked) if as_json else _looked_at(looked)
            return
        if not as_json:
            _shown(looked)
        if not looked["changes"]["any"]:
            document(looked) if as_json else say("Nothing would change.")
            return
        if as_json or not sys.stdin.isatty():
            fail(Exit.REFUSED, "Nothing was changed, and nothing of it was run. To import it, say so: --yes")
        if looked["downgrade"] and not allow_downgrade:
            fail(Exit.REFUSED, f"{looked['downgrade']} To go back to it, say so: --allow-downgrade")
        said.append(("digest", looked["digest"]))
        if looked["unrun"]:
            if not await agreed(f"\n{_to_run(looked)}"):
                fail(Exit.REFUSED, "Nothing was changed, and nothing of it was run.")
            before = looked["changes"]["lines"]
            looked = await _asked(api, [*said, *_LOOK, *_DESCRIBE], what)
            say("Its tools are as its text has them.") if looked["changes"]["lines"] == before else _shown(looked)
        if not await agreed(f"\nImport {looked['id']}?"):
            fail(Exit.REFUSED, "Nothing was changed.")
        read = [tool for tool in looked["waits"] if not tool["alone"]]
        if read and not approve and await agreed(f"Approve {_listed([tool['id'] for tool in read])} as shown?"):
            what["approve"] = [{"tool": tool["id"], "fingerprint": tool["fingerprint"]} for tool in read]
    elif dry_run:
        raise click.UsageError("--dry-run changes nothing, and --yes asks for the change. Choose one.")
    body = await _asked(api, said, what)
    if as_json:
        document(body)
        return
    if yes:
        _shown(body)
    _done(api, body)


def _looked_at(body: dict[str, Any]) -> None:
    _shown(body)
    if body["unrun"]:
        told = "was not run, so its tools are told as its text has them. To run it: --describe"
        tell(f"  … {_listed(body['unrun'])} {told}")


def _to_run(body: dict[str, Any]) -> str:
    packages = body["requirements"]
    first = f"Install {_listed(packages)} for it, and run" if packages else "Run"
    return f"{first} {_listed(body['unrun'])} in a process of its own, to see what its tools are?"


def _absolute(source: Path) -> str:
    if not source.exists():
        fail(Exit.NOT_FOUND, f"there is no {source}. Name a folder, a ZIP or a toolset.yaml.")
    return str(source.resolve())


def _done(api: Api, body: dict[str, Any]) -> None:
    say(f"{'Linked' if body['linked'] else 'Imported'} {body['id']} {body['version']}.".replace(" .", "."))
    for secret in body["secrets"]:
        if not secret["set"]:
            name = secret["name"]
            tell(f"! It asks for the secret {name}: pegboard toolset secrets set {body['id']} {name}")
    if body["approved"]:
        say(f"Approved {_listed(body['approved'])}.")
    alone = [tool["id"] for tool in body["waits"] if tool["alone"]]
    if alone:
        tell(f"! {_listed(alone)} must be read by itself before it is approved: pegboard approvals show {alone[0]}")
    if body["waits"]:
        tell(f"! {_waiting([tool['id'] for tool in body['waits']])}: pegboard approvals list")
    if body["pending"]:
        tell(f"! {_waiting(body['pending'])}, as before: pegboard approvals list")
    _tell_closed(body, "not open")
    if not api.running:
        tell("  … it starts with the gateway: pegboard serve")


def _waiting(ids: list[str]) -> str:
    return f"{_listed(ids)} wait{'s' if len(ids) == 1 else ''} for approval"


def _listed(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def _shown(body: dict[str, Any]) -> None:
    for line in body["changes"]["lines"]:
        say(line)
    for warning in body["warnings"]:
        tell(f"! {warning}")
    if servers := body["unconfirmedServers"]:
        tell(
            f"  … requires_confirmation is not said of {_listed(servers)}: nobody is asked before most calls. "
            "To be asked: confirmation.manifest_servers in pegboard.yaml"
        )
    if not body["imported"]:
        _tell_closed(body, "not open then")


def _tell_closed(body: dict[str, Any], how: str) -> None:
    """What nobody could call, with why and what to do. What waits for approval is told apart."""
    told = {tool["id"] for tool in body["waits"]} | {*body["pending"]}
    alike: dict[str, list[str]] = {}
    for each in body["notOpen"]:
        if each["id"] not in told or each["verdict"] == "absent":
            why = f"({each.get('status') or each['verdict']}). {each['sentence']} {to_you(each['remedy'])}"
            alike.setdefault(why, []).append(each["id"])
    for why, ids in [*alike.items()][:_MOST]:
        tell(f"! {_listed(ids)} {'is' if len(ids) == 1 else 'are'} {how} {why}")
    if (more := sum(map(len, [*alike.values()][_MOST:]))) > 0:
        tell(f"! {more:,} more {'is' if more == 1 else 'are'} {how}: pegboard toolset show {body['id']}")


async def _asked(api: Api, params: list[tuple[str, str]], what: dict[str, Any]) -> dict[str, Any]:
    """What is going on is told while it takes: many files, an environment to build."""
    name = secrets.token_hex(8)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watched, api, name)
        body = await asked(
            api,
            "POST",
            "/toolsets/import",
            params=[*params, ("progress", name)],
            body=what,
            waiting=None,
            misfit=Exit.CONFIG,
        )
        tasks.cancel_scope.cancel()
    return body


async def _watched(api: Api, name: str) -> None:
    last, counted = "", 0
    while True:
        await anyio.sleep(_ASK_AGAIN)
        step = (await api.request("GET", f"/toolsets/imports/{name}")).body
        said = step.get("said", "")
        if step.get("total"):
            if step["done"] >= counted + _STEP or (said != last and step["done"] < step["total"]):
                tell(f"  … {said}: {step['done']:,} of {step['total']:,}")
                counted = step["done"]
        elif said and said != last:
            tell(f"  … {said}")
        last = said
