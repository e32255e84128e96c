"""`pegboard policy …`: all that people decided as one file: given away, held against what holds, and taken over."""

from pathlib import Path
from typing import Any

import click

from pegboard.config.files import decode_text, read_bytes
from pegboard.config.policy_reading import MAX_POLICY_BYTES
from pegboard.config.problem import FileProblem

from .link import ApiClient
from .options import call_api, every_server, gateway_command
from .output import Exit, fail, print_json, print_progress, print_text


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
        print_progress(f"! Set {secret['name']} where you import it: {', '.join(secret['at'])}")
    for left in body["leftBehind"]:
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
    for left in body["leftOut"]:
        print_progress(f"! {left}")
    lines = [
        f"{mark} {each['kind']}: {name}"
        for each in body["changes"]
        for mark, how in (("+", "added"), ("-", "removed"), ("~", "changed"))
        for name in each[how]
    ]
    for caller in body["callers"]:
        lines += [_shift_line(caller["principal"], shift) for shift in caller["shifts"]]
        lines += [f"… and {caller['more']} more for {caller['principal']}"] if caller["more"] else []
    print_text("\n".join(lines) if lines else "Nothing would change: this is what people decided here already.")


def _shift_line(who: str, shift: dict[str, Any]) -> str:
    before, after = shift["before"], shift["after"]
    mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
    told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
    return f"{mark} {shift['id']} for {who}: {told}"
