"""`pegboard policy`."""

import json
from pathlib import Path
from typing import Any, Final

import click

from pegboard.config.paths import decode_text, read_bytes
from pegboard.config.policy_file import MAX_POLICY_BYTES
from pegboard.config.schema.document import FileProblem
from pegboard.config.settings import MAX_SETTINGS_BYTES, InvalidFile, load_settings_text
from pegboard.core.model.text import truncate
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.confirm import ask_yes_no
from pegboard.surfaces.cli.options import call_api, every_server, gateway_command, no_server
from pegboard.surfaces.cli.output import Exit, clean, fail, one_line, print_json, print_progress, print_text, table


@click.group()
def policy() -> None:
    """The whole policy as one file: export, diff, import."""


def _read_policy_file(context: click.Context, argument: click.Parameter, file: Path) -> str:
    content = read_bytes(file, MAX_POLICY_BYTES)
    text = content if isinstance(content, FileProblem) else decode_text(content, str(file))
    if isinstance(text, FileProblem):
        fail(Exit.CONFIG, str(text), {"errors": [str(text)]})
    return text


@policy.command("export")
@click.option("--to", "file", type=click.Path(path_type=Path, dir_okay=False), help="A new file, not standard output.")
@gateway_command()
async def export(api: ApiClient, file: Path | None, *, as_json: bool) -> None:
    """All that people decided, without secrets and tokens, for another board to import."""
    body = await call_api(api, "GET", "/policy/export")
    if file is not None:
        try:
            with file.open("x", encoding="utf-8") as out:
                out.write(body["text"])
        except OSError as error:
            fail(Exit.FAILED, f"{file} cannot be written: {error.strerror or error}. Choose another: --to FILE")
    for secret in body["secrets"]:
        print_progress(f"! Set {secret['name']} where you import it: {', '.join(secret['locations'])}")
    for left in body["omitted"]:
        print_progress(f"! {left}")
    if as_json:
        told = {key: value for key, value in body.items() if key != "text"}
        print_json(body if file is None else {**told, "file": str(file)})
    elif file is None:
        print_text(body["text"].rstrip("\n"))
    else:
        print_text(f"The policy, version {body['policyVersion']}, is in {file}.")


@policy.command("diff")
@click.argument("file", type=click.Path(path_type=Path), callback=_read_policy_file)
@gateway_command(every_server)
async def diff(api: ApiClient, file: str, *, as_json: bool) -> None:
    """What would change if the policy in FILE held: decisions, and the verdicts of tools for each caller."""
    body = await call_api(api, "POST", "/policy/what-if", body={"text": file}, misfit=Exit.CONFIG)
    print_json(body) if as_json else _print_diff(body)


@policy.command("import")
@click.argument("file", type=click.Path(path_type=Path), callback=_read_policy_file)
@click.option("--yes", is_flag=True, help="Import it. Without it, the difference is shown and nothing is changed.")
@click.option("--open", "is_open", is_flag=True, help="Even from a board that requires tokens, if this one does not.")
@gateway_command(every_server)
async def import_policy(api: ApiClient, file: str, yes: bool, is_open: bool, *, as_json: bool) -> None:
    """Put the policy in FILE in place of all that people decided here: all of it, or nothing.

    Servers that are declared, toolsets that were imported with their files, and tokens stay as they are.
    """
    body = await call_api(api, "POST", "/policy/what-if", body={"text": file, "open": is_open}, misfit=Exit.CONFIG)
    if yes:
        what = {"text": file, "version": body["policyVersion"], "open": is_open}
        body = await call_api(api, "POST", "/policy/import", body=what, misfit=Exit.CONFIG)
    if as_json:
        print_json(body)
        return
    _print_diff(body)
    print_text(
        f"\nImported. The policy is at version {body['policyVersion']}."
        if yes
        else "\nNothing was changed. Do it: --yes"
    )


def _print_diff(body: dict[str, Any]) -> None:
    for left in body["omitted"]:
        print_progress(f"! {left}")
    lines = [
        f"{mark} {each['kind']}: {name}"
        for each in body["changes"]
        for mark, how in (("+", "added"), ("-", "removed"), ("~", "changed"))
        for name in each[how]
    ]
    for caller in body["callers"]:
        lines += [_shift_line(caller["principal"], shift) for shift in caller["changes"]]
        lines += [f"… and {caller['omitted']} more for {caller['principal']}"] if caller["omitted"] else []
    print_text("\n".join(lines) if lines else "Nothing would change: this is what people decided here already.")


def _shift_line(who: str, shift: dict[str, Any]) -> str:
    before, after = shift["before"], shift["after"]
    mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
    told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
    return f"{mark} {shift['id']} for {who}: {told}"


# `pegboard diff`: what another configuration would change.


def _read_config(context: click.Context, argument: click.Parameter, other: Path) -> tuple[str, str]:
    """The file and its text, read here: the gateway may run in another folder. A broken one starts no server."""
    content = read_bytes(other, MAX_SETTINGS_BYTES)
    text = content if isinstance(content, FileProblem) else decode_text(content, str(other))
    if isinstance(text, FileProblem):
        fail(Exit.CONFIG, str(text), {"errors": [str(text)]})
    file = str(other.absolute())
    # What a reference stands for here says nothing of what it stands for where the gateway runs.
    loaded = load_settings_text(text, file, resolves_references=False)
    if isinstance(loaded, InvalidFile):
        told = [str(problem) for problem in loaded.problems]
        fail(Exit.CONFIG, "\n".join(told), {"errors": told})
    return file, text


@click.command()
@click.argument("other", type=click.Path(path_type=Path), callback=_read_config)
@click.option("--as", "principal", default="local", show_default=True, help="Whose view.")
@gateway_command(every_server)
async def diff_diff(api: ApiClient, other: tuple[str, str], principal: str, *, as_json: bool) -> None:
    """Which tools would open or lock if the configuration OTHER were loaded, and why."""
    file, text = other
    body = await call_api(api, "POST", "/diff", body={"file": file, "text": text, "as": principal}, misfit=Exit.CONFIG)
    if as_json:
        print_json(body)
        return
    for warning in (*body["conflicts"], *body["unknownNames"], *body["warnings"]):
        print_progress(f"! {warning}")
    lines = [*map(_diff_shift_line, body["changes"]), *_server_lines(body)]
    print_text("\n".join(lines) if lines else "No tool would open or lock, and no server would start or stop.")


def _diff_shift_line(shift: dict[str, Any]) -> str:
    before, after = shift["before"], shift["after"]
    mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
    told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
    reason = after.get("message") or f"no longer: {before.get('message', '')}"
    return f"{mark} {shift['id']}  {told}\n    {reason}"


def _server_lines(body: dict[str, Any]) -> list[str]:
    return [
        *(f"- {key}: the server and its tools would leave the board" for key in body["removedServers"]),
        *(f"+ {key}: a new server; its tools are known once it runs" for key in body["addedServers"]),
        *(f"+ {key}: the server would start; its tools are known once it runs" for key in body["startedServers"]),
        *(f"~ {key}: the server would be started anew, and may list other tools" for key in body["changedServers"]),
    ]


# `pegboard settings`: every setting with its value and where that comes from.

_MAX_VALUE_CHARS: Final = 48


@click.command("settings")
@click.argument("words", nargs=-1, metavar="[WORD]…")
@click.option(
    "--from",
    "origins",
    multiple=True,
    type=click.Choice(["file", "environment", "default"]),
    help="Only those from here.",
)
@gateway_command(no_server)
async def settings(api: ApiClient, words: tuple[str, ...], origins: tuple[str, ...], *, as_json: bool) -> None:
    """Every setting whose key or description has all WORDs: what holds, and where it comes from. They are changed where
    they are written."""
    body = await call_api(api, "GET", "/settings")
    found = [each for each in body["settings"] if _matches(each, words, origins)]
    if as_json:
        print_json({**body, "settings": found})
        return
    if not found:
        fail(Exit.NOT_FOUND, f"No setting fits. There are {len(body['settings'])}: pegboard settings")
    rows = [(each["key"], _value_text(each["value"]), _origin_text(each)) for each in found]
    print_text(table(("SETTING", "VALUE", "FROM"), rows))
    if len(found) == 1:
        (one,) = found
        print_text(f"\n{one['description']}\nDefault: {_value_text(one['default'])}\n{one['changeHint']}")
    else:
        places = body["locations"]
        print_text(f"\nconfig    {places['config']['path'] or 'none'} ({places['config']['origin']})")
        print_text(f"data dir  {places['dataDir']['path']} ({places['dataDir']['origin']})")
        print_text(f"store     {body['storage']['url']}: {body['storage']['message']}")


def _matches(each: dict[str, Any], words: tuple[str, ...], origins: tuple[str, ...]) -> bool:
    text = f"{each['key']} {each['description']}".lower()
    return (not origins or each["origin"] in origins) and all(word.lower() in text for word in words)


def _origin_text(each: dict[str, Any]) -> str:
    match each["origin"]:
        case "environment":
            return f"environment {', '.join(variable['name'] for variable in each['variables'])}".rstrip()
        case "file":
            return f"{each['file']}:{each['line']}"
        case _:
            return "default"


def _value_text(value: object) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return truncate(text, _MAX_VALUE_CHARS, total=True)


# `pegboard store …`: what is wrong with the stored policy, and how it is fixed.


@click.group()
def store() -> None:
    """The store: rows of the policy that cannot be read."""


@store.command("check")
@click.option("--repair", is_flag=True, help="Delete the rows that cannot be read, after a yes.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@gateway_command(no_server)
async def check(api: ApiClient, repair: bool, yes: bool, *, as_json: bool) -> int:
    """List rows of the policy that cannot be read, and what each keeps locked.

    Deleting a row may open what it closed: decide about it again first, where a command is named that does.
    """
    body = await call_api(api, "GET", "/store/unreadable")
    rows: list[dict[str, Any]] = body["rows"]
    if not as_json or (repair and not yes):
        _print_rows(rows)
    deleted: list[str] = []
    if repair and rows:
        count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        if not yes and not await ask_yes_no(f"Delete {count}? What they closed may open.", err=as_json):
            fail(Exit.FAILED, "Nothing was deleted.")
        what = {"rows": [row["id"] for row in rows], "version": body["policyVersion"]}
        body = {**body, **await call_api(api, "POST", "/store/unreadable/delete", body=what)}
        deleted = body["deleted"]
        if not as_json:
            print_text(f"Deleted {count}. Look at what is open now: pegboard tools list")
    if as_json:
        print_json({"rows": rows, "deleted": deleted, "policyVersion": body["policyVersion"]})
    return Exit.FAILED if rows and not deleted else Exit.OK


def _print_rows(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print_text("Every row of the policy can be read.")
    for row in rows:
        print_text(clean(f"{row['row']}\n  {row['reason']}.\n  {row['effect']}\n  {row['fix']}"))
        for also in row["alsoDeleted"]:
            print_text(clean(f"  Deleted with it: {also}"))
