"""`pegboard toolset choice`: what people include and exclude of a toolset's tools, and the set that comes of it."""

from typing import Any, Final

import click

from .link import ApiClient
from .options import call_api, every_server, gateway_command, toolset_path
from .output import Exit, fail, print_json, print_text
from .text import table

_MARKS: Final = {"added": "+", "removed": "-", "in": "", "out": ""}


@click.command("choice")
@click.argument("toolset")
@click.option("--include", multiple=True, help="A tool or a pattern such as read_*: in, whatever else takes it out.")
@click.option("--exclude", multiple=True, help="A tool or a pattern such as delete_*: out.")
@click.option("--nothing", is_flag=True, help="Include and exclude nothing any more.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be added and removed.")
@gateway_command(every_server)
async def choice(
    api: ApiClient,
    toolset: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    *,
    nothing: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """What is in TOOLSET: without options as it is; with them, exactly these are included and excluded from now on."""
    if nothing and (include or exclude):
        fail(Exit.USAGE, "--nothing goes with neither --include nor --exclude.")
    path, lists = f"/toolsets/{toolset_path(toolset)}/choice", {"includes": [*include], "excludes": [*exclude]}
    if not (include or exclude or nothing):
        body = await call_api(api, "GET", path)
    elif dry_run:
        body = await call_api(api, "POST", f"{path}/preview", body=lists)
    else:
        body = await call_api(api, "PUT", path, body=lists)
    if as_json:
        print_json(body)
    else:
        print_text("\n".join(_choice_lines(body)))
    if body["problems"]:
        fail(Exit.USAGE, "It would be refused: " + "; ".join(body["problems"]))


def _choice_lines(body: dict[str, Any]) -> list[str]:
    lists = [*body["includes"], *body["excludes"], *body["standing"]]
    rows = [("include" if e["includes"] else "exclude", e["target"], str(e["fits"]), e["whose"]) for e in lists]
    lines = [table(("", "TARGET", "FITS", "WHOSE"), rows), ""] if rows else []
    lines.append(
        table(
            ("", "TOOL", "STATE", "WHY"),
            [
                (
                    _MARKS[each["change"]],
                    each["id"],
                    "in" if each["change"] in ("in", "added") else "out",
                    each["verdict"].get("sentence", ""),
                )
                for each in body["tools"]
            ],
        )
    )
    counts = body["counts"]
    changed = f", {counts['added']} added, {counts['removed']} removed" if counts["added"] or counts["removed"] else ""
    return [*lines, f"{counts['included']} of {counts['all']} tools are in{changed}."]
