"""`pegboard policy …`: all that people decided as one file: given away, held against what holds, and taken over."""

from pathlib import Path
from typing import Any

import click

from pegboard.config.files import decoded, read_bytes
from pegboard.config.policy_reading import MOST_BYTES
from pegboard.config.problem import Problem

from .link import Api
from .options import asked, asks, every_server
from .output import Exit, document, fail, say, tell


@click.group()
def policy() -> None:
    """The whole policy as one file: export, diff, import."""


def _read(context: click.Context, argument: click.Parameter, file: Path) -> str:
    content = read_bytes(file, MOST_BYTES)
    text = content if isinstance(content, Problem) else decoded(content, str(file))
    if isinstance(text, Problem):
        fail(Exit.CONFIG, str(text), {"errors": [str(text)]})
    return text


@policy.command("export")
@click.option("--to", "file", type=click.Path(path_type=Path, dir_okay=False), help="A new file, not standard output.")
@asks()
async def export(api: Api, file: Path | None, *, as_json: bool) -> None:
    """All that people decided, without secrets and tokens, for another board to import."""
    body = await asked(api, "GET", "/policy/export")
    if file is not None:
        try:
            with file.open("x", encoding="utf-8") as out:
                out.write(body["text"])
        except OSError as error:
            fail(Exit.FAILED, f"{file} cannot be written: {error.strerror or error}. Choose another: --to FILE")
    for secret in body["secrets"]:
        tell(f"! Set {secret['name']} where you import it: {', '.join(secret['at'])}")
    for left in body["leftBehind"]:
        tell(f"! {left}")
    if as_json:
        told = {key: value for key, value in body.items() if key != "text"}
        document(body if file is None else {**told, "file": str(file)})
    elif file is None:
        say(body["text"].rstrip("\n"))
    else:
        say(f"The policy, version {body['policyVersion']}, is in {file}.")


@policy.command("diff")
@click.argument("file", type=click.Path(path_type=Path), callback=_read)
@asks(every_server)
async def diff(api: Api, file: str, *, as_json: bool) -> None:
    """What would change if the policy in FILE held: decisions, and the verdicts of tools for each caller."""
    body = await asked(api, "POST", "/policy/what-if", body={"text": file}, misfit=Exit.CONFIG)
    document(body) if as_json else _shown(body)


@policy.command("import")
@click.argument("file", type=click.Path(path_type=Path), callback=_read)
@click.option("--yes", is_flag=True, help="Import it. Without it, the difference is shown and nothing is changed.")
@click.option("--open", "is_open", is_flag=True, help="Even from a board that requires tokens, if this one does not.")
@asks(every_server)
async def import_policy(api: Api, file: str, yes: bool, is_open: bool, *, as_json: bool) -> None:
    """Put the policy in FILE in place of all that people decided here: all of it, or nothing.

    Servers that are declared, toolsets that were imported with their files, and tokens stay as they are.
    """
    body = await asked(api, "POST", "/policy/what-if", body={"text": file, "open": is_open}, misfit=Exit.CONFIG)
    if yes:
        what = {"text": file, "version": body["policyVersion"], "open": is_open}
        body = await asked(api, "POST", "/policy/import", body=what, misfit=Exit.CONFIG)
    if as_json:
        document(body)
        return
    _shown(body)
    say(
        f"\nImported. The policy is at version {body['policyVersion']}."
        if yes
        else "\nNothing was changed. Do it: --yes"
    )


def _shown(body: dict[str, Any]) -> None:
    for left in body["leftOut"]:
        tell(f"! {left}")
    lines = [
        f"{mark} {each['kind']}: {name}"
        for each in body["changes"]
        for mark, how in (("+", "added"), ("-", "removed"), ("~", "changed"))
        for name in each[how]
    ]
    for caller in body["callers"]:
        lines += [_shift(caller["principal"], shift) for shift in caller["shifts"]]
        lines += [f"… and {caller['more']} more for {caller['principal']}"] if caller["more"] else []
    say("\n".join(lines) if lines else "Nothing would change: this is what people decided here already.")


def _shift(who: str, shift: dict[str, Any]) -> str:
    before, after = shift["before"], shift["after"]
    mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
    told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
    return f"{mark} {shift['id']} for {who}: {told}"
