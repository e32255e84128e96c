"""`pegboard diff`: what another configuration would change."""

from pathlib import Path
from typing import Any

import click

from pegboard.config.files import decode_text, read_bytes
from pegboard.config.problem import FileProblem
from pegboard.config.settings import MAX_SETTINGS_BYTES, InvalidFile, load_settings_text

from .link import ApiClient
from .options import call_api, every_server, gateway_command
from .output import Exit, fail, print_json, print_progress, print_text


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
async def diff(api: ApiClient, other: tuple[str, str], principal: str, *, as_json: bool) -> None:
    """Which tools would open or lock if the configuration OTHER were loaded, and why."""
    file, text = other
    body = await call_api(api, "POST", "/diff", body={"file": file, "text": text, "as": principal}, misfit=Exit.CONFIG)
    if as_json:
        print_json(body)
        return
    for warning in (*body["clashes"], *body["unknown"], *body["warnings"]):
        print_progress(f"! {warning}")
    lines = [*map(_shift_line, body["shifts"]), *_server_lines(body)]
    print_text("\n".join(lines) if lines else "No tool would open or lock, and no server would start or stop.")


def _shift_line(shift: dict[str, Any]) -> str:
    before, after = shift["before"], shift["after"]
    mark = "+" if after["verdict"] == "open" else "-" if before["verdict"] == "open" else "~"
    told = f"{before.get('status') or before['verdict']} → {after.get('status') or after['verdict']}"
    reason = after.get("sentence") or f"no longer: {before.get('sentence', '')}"
    return f"{mark} {shift['id']}  {told}\n    {reason}"


def _server_lines(body: dict[str, Any]) -> list[str]:
    return [
        *(f"- {key}: the server and its tools would leave the board" for key in body["goneServers"]),
        *(f"+ {key}: a new server; its tools are known once it runs" for key in body["newServers"]),
        *(f"+ {key}: the server would start; its tools are known once it runs" for key in body["startedServers"]),
        *(f"~ {key}: the server would be started anew, and may list other tools" for key in body["changedServers"]),
    ]
