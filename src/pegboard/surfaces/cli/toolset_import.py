"""`pegboard toolset import`."""

import secrets
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import click

from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import call_api, gateway_command
from pegboard.surfaces.cli.output import Exit, fail, print_json, print_progress, print_text

# What a toolset command is pointed at: a folder, a ZIP or a toolset.yaml, by the name that a person typed.


class ToolsetSourceParam(click.Path):
    """An empty name is none: a variable that is not set must not mean this folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if isinstance(value, str) and not value.strip():
            self.fail("this is empty. Name a folder, a ZIP or a toolset.yaml.", param, ctx)
        found = super().convert(value, param, ctx)  # type: ignore[arg-type]  # whatever was typed, as click has it
        assert isinstance(found, Path)
        return found


_DRY_RUN: Final = (("dryRun", "true"),)
_DESCRIBE: Final = (("describe", "true"),)
_POLL_INTERVAL_S: Final = 0.5
_MAX_LISTED: Final = 10
"""Reasons why something is not open that are told one by one."""
_APPROVAL_BATCH_SIZE: Final = 500
"""Files after which a person is told again how many are done."""


@click.command("import")
@click.argument("source", type=ToolsetSourceParam())
@click.option("--yes", is_flag=True, help="Import it without asking.")
@click.option("--dry-run", is_flag=True, help="Only show what would change. Nothing of it is run.")
@click.option("--describe", is_flag=True, help="With --dry-run: run its modules, to show what its tools are.")
@click.option("--approve", is_flag=True, help="You have read what changes: approve its new and changed tools.")
@click.option("--allow-downgrade", is_flag=True, help="Go back to an older version.")
@click.option("--link", is_flag=True, help="Run it from this very folder, and follow what you change there.")
@gateway_command()
async def import_toolset(
    api: ApiClient,
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
    what: dict[str, Any] = {"path": _existing_path(source), "displayPath": str(source), "link": link}
    said = [("allowDowngrade", "true")] if allow_downgrade else []
    what |= {"approve": "all"} if approve else {}
    if describe and not dry_run:
        raise click.UsageError("--describe belongs to --dry-run: an import runs its modules anyway.")
    if not yes:
        looked = await _request_import(api, [*said, *_DRY_RUN, *(_DESCRIBE if describe else ())], what)
        if dry_run:
            print_json(looked) if as_json else _print_preview(looked)
            return
        if not as_json:
            _print_changes(looked)
        if not looked["changes"]["hasChanges"]:
            print_json(looked) if as_json else print_text("Nothing would change.")
            return
        if as_json or not sys.stdin.isatty():
            fail(Exit.REFUSED, "Nothing was changed, and nothing of it was run. To import it, say so: --yes")
        if looked["downgrade"] and not allow_downgrade:
            fail(Exit.REFUSED, f"{looked['downgrade']} To go back to it, say so: --allow-downgrade")
        said.append(("digest", looked["digest"]))
        if looked["modulesNotRun"]:
            if not await ask_yes_no(f"\n{_run_question(looked)}"):
                fail(Exit.REFUSED, "Nothing was changed, and nothing of it was run.")
            before = looked["changes"]["summary"]
            looked = await _request_import(api, [*said, *_DRY_RUN, *_DESCRIBE], what)
            print_text("Its tools are as its text has them.") if looked["changes"][
                "summary"
            ] == before else _print_changes(looked)
        if not await ask_yes_no(f"\nImport {looked['id']}?"):
            fail(Exit.REFUSED, "Nothing was changed.")
        read = [tool for tool in looked["newlyPending"] if not tool["needsOwnReview"]]
        if read and not approve and await ask_yes_no(f"Approve {_join_ids([tool['id'] for tool in read])} as shown?"):
            what["approve"] = [{"tool": tool["id"], "fingerprint": tool["fingerprint"]} for tool in read]
    elif dry_run:
        raise click.UsageError("--dry-run changes nothing, and --yes asks for the change. Choose one.")
    body = await _request_import(api, said, what)
    if as_json:
        print_json(body)
        return
    if yes:
        _print_changes(body)
    _print_result(api, body)


def _print_preview(body: dict[str, Any]) -> None:
    _print_changes(body)
    if body["modulesNotRun"]:
        told = "was not run, so its tools are told as its text has them. To run it: --describe"
        print_progress(f"  … {_join_ids(body['modulesNotRun'])} {told}")


def _run_question(body: dict[str, Any]) -> str:
    packages = body["requirements"]
    first = f"Install {_join_ids(packages)} for it, and run" if packages else "Run"
    return f"{first} {_join_ids(body['modulesNotRun'])} in a process of its own, to see what its tools are?"


def _existing_path(source: Path) -> str:
    if not source.exists():
        fail(Exit.NOT_FOUND, f"there is no {source}. Name a folder, a ZIP or a toolset.yaml.")
    return str(source.resolve())


def _print_result(api: ApiClient, body: dict[str, Any]) -> None:
    print_text(f"{'Linked' if body['linkedFolder'] else 'Imported'} {body['id']} {body['version']}.".replace(" .", "."))
    for secret in body["secrets"]:
        if not secret["set"]:
            name = secret["name"]
            print_progress(f"! It asks for the secret {name}: pegboard toolset secrets set {body['id']} {name}")
    if body["approved"]:
        print_text(f"Approved {_join_ids(body['approved'])}.")
    alone = [tool["id"] for tool in body["newlyPending"] if tool["needsOwnReview"]]
    if alone:
        print_progress(
            f"! {_join_ids(alone)} must be read by itself before it is approved: pegboard approvals show {alone[0]}"
        )
    if body["newlyPending"]:
        print_progress(f"! {_waiting_text([tool['id'] for tool in body['newlyPending']])}: pegboard approvals list")
    if body["stillPending"]:
        print_progress(f"! {_waiting_text(body['stillPending'])}, as before: pegboard approvals list")
    _print_closed(body, "not open")
    if not api.is_running:
        print_progress("  … it starts with the gateway: pegboard serve")


def _waiting_text(ids: list[str]) -> str:
    return f"{_join_ids(ids)} wait{'s' if len(ids) == 1 else ''} for approval"


def _join_ids(ids: list[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")


def _print_changes(body: dict[str, Any]) -> None:
    for line in body["changes"]["summary"]:
        print_text(line)
    for warning in body["warnings"]:
        print_progress(f"! {warning}")
    if servers := body["unconfirmedServers"]:
        print_progress(
            f"  … requires_confirmation is not said of {_join_ids(servers)}: nobody is asked before most calls. "
            "To be asked: confirmation.manifest_servers in pegboard.yaml"
        )
    if not body["imported"]:
        _print_closed(body, "not open then")


def _print_closed(body: dict[str, Any], how: str) -> None:
    """What nobody could call, with why and what to do. What waits for approval is told apart."""
    told = {tool["id"] for tool in body["newlyPending"]} | {*body["stillPending"]}
    alike: dict[str, list[str]] = {}
    for each in body["closedTools"]:
        if each["id"] not in told or each["verdict"] == "hidden":
            why = f"({each.get('status') or each['verdict']}). {each['message']} {each['remedy']}"
            alike.setdefault(why, []).append(each["id"])
    for why, ids in [*alike.items()][:_MAX_LISTED]:
        print_progress(f"! {_join_ids(ids)} {'is' if len(ids) == 1 else 'are'} {how} {why}")
    if (more := sum(map(len, [*alike.values()][_MAX_LISTED:]))) > 0:
        print_progress(f"! {more:,} more {'is' if more == 1 else 'are'} {how}: pegboard toolset show {body['id']}")


async def _request_import(api: ApiClient, params: list[tuple[str, str]], what: dict[str, Any]) -> dict[str, Any]:
    """What is going on is told while it takes: many files, an environment to build."""
    name = secrets.token_hex(8)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_print_import_steps, api, name)
        body = await call_api(
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


async def _print_import_steps(api: ApiClient, name: str) -> None:
    last, counted = "", 0
    while True:
        await anyio.sleep(_POLL_INTERVAL_S)
        step = (await api.request("GET", f"/toolsets/imports/{name}")).body
        said = step.get("message", "")
        if step.get("total"):
            if step["done"] >= counted + _APPROVAL_BATCH_SIZE or (said != last and step["done"] < step["total"]):
                print_progress(f"  … {said}: {step['done']:,} of {step['total']:,}")
                counted = step["done"]
        elif said and said != last:
            print_progress(f"  … {said}")
        last = said
