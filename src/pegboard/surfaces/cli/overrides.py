"""`pegboard overrides`."""

import json
from typing import Any, Final

import click

from pegboard.core.model.text import truncate
from pegboard.surfaces.cli.api import ApiClient
from pegboard.surfaces.cli.options import (
    call_api,
    every_server,
    gateway_command,
    parse_json_pairs,
    parse_optional_json_object,
    parse_pairs,
)
from pegboard.surfaces.cli.output import Exit, fail, one_line, print_json, print_text, table

_MAX_VALUE_CHARS: Final = 60
_MAX_LISTED: Final = 10
_toolset_option = click.option("--toolset", help="The toolset, when TARGET does not tell it: *:read_* fits any.")


@click.group()
def overrides() -> None:
    """Overrides: how tools look and behave here, by id or pattern."""


@overrides.command("list")
@click.option("--toolset", help="Only those of this toolset.")
@gateway_command(every_server)
async def list_overrides(api: ApiClient, toolset: str | None, *, as_json: bool) -> None:
    """Every override, the declared ones first: what it sets, whose word that is, and what does not fit."""
    params = [] if toolset is None else [("toolset", toolset)]
    body = await call_api(api, "GET", "/overrides", params=params)
    if as_json:
        print_json(body)
        return
    if not body["overrides"]:
        print_text("No overrides. Make one: pegboard overrides set TOOL --name-override TEXT")
        return
    rows = [
        (row["toolset"], row["target"], field["field"], value_text(field["value"]), author_text(field["from"], row))
        for row in body["overrides"]
        for field in row["fields"]
    ]
    print_text(table(("TOOLSET", "TARGET", "FIELD", "VALUE", "FROM"), rows))
    for row in body["overrides"]:
        _print_misfits(row["mismatches"], row["target"])


@overrides.command("show")
@click.argument("tool")
@gateway_command(every_server)
async def show(api: ApiClient, tool: str, *, as_json: bool) -> None:
    """What overrides make of one tool: each field, which override set it, and what callers may send."""
    body = await call_api(api, "GET", "/overrides/show", params=[("tool", tool)])
    if as_json:
        print_json(body)
        return
    print_text(body["id"])
    if not body["fields"]:
        print_text("  No override fits it.")
    else:
        held = [field for field in body["fields"] if field["effective"]]
        rows = [(f["field"], value_text(f["value"]), f["target"], author_text(f["from"], f)) for f in held]
        print_text(table(("FIELD", "VALUE", "BY", "FROM"), rows) if rows else "  No override has an effect on it.")
    for field in body["fields"]:
        if field["effect"]:
            by = "" if field["effective"] else f" ({field['target']})"
            print_text(f"- {field['field']}{by}{effect_text(field)}")
    _print_misfits(body["mismatches"], body["id"])
    if any(field["field"].startswith("arguments.") for field in body["fields"]):
        print_text(f"\ntakes:\n{json.dumps(body['inputSchema'], indent=2, ensure_ascii=False)}")


@overrides.command("set")
@click.argument("target")
@_toolset_option
@click.option("--renderer", help="How calls are shown; default: as every other call. See: pegboard overrides renderers")
@click.option(
    "--renderer-config",
    metavar="JSON",
    callback=parse_optional_json_object,
    help="What the renderer takes, as an object.",
)
@click.option("--name-override", help="The name people see.")
@click.option("--description-override", help="The description in place of the tool's own.")
@click.option("--requires-confirmation/--no-requires-confirmation", default=None, help="Whether a person is asked.")
@click.option(
    "--confirmation",
    type=click.Choice(["in_client", "ticket"]),
    help="How calls are confirmed, where they must be. ticket: always by an operator.",
)
@click.option("--enabled/--not-enabled", default=None, help="Whether the tool is there.")
@click.option(
    "--pin",
    multiple=True,
    callback=parse_json_pairs,
    help="NAME=VALUE: what the server always gets; callers never see it.",
)
@click.option("--hide", multiple=True, help="NAME: callers neither see it nor can send it.")
@click.option("--unhide", multiple=True, help="NAME: shown although another override hides or pins it.")
@click.option(
    "--default", "defaults", multiple=True, callback=parse_json_pairs, help="NAME=VALUE: when the caller sends none."
)
@click.option("--describe", multiple=True, callback=parse_pairs, help="NAME=TEXT: what callers read of the argument.")
@gateway_command(every_server)
async def set_override(
    api: ApiClient,
    target: str,
    toolset: str | None,
    pin: dict[str, Any],
    hide: tuple[str, ...],
    unhide: tuple[str, ...],
    defaults: dict[str, Any],
    describe: dict[str, str],
    *,
    as_json: bool,
    **fields: Any,
) -> None:
    """Set fields of the override of TARGET, a tool or a pattern such as github:* or *:read_*. The others stay."""
    said = {name: value for name, value in fields.items() if value is not None}
    arguments: dict[str, dict[str, Any]] = {}
    for aspect, values in (
        ("pin", pin),
        ("hide", {**dict.fromkeys(hide, True), **dict.fromkeys(unhide, False)}),
        ("default", defaults),
        ("description", describe),
    ):
        for name, value in values.items():
            arguments.setdefault(name, {})[aspect] = value
    if arguments:
        said["arguments"] = arguments
    if not said:
        fail(Exit.USAGE, "nothing to set. Name a field, for example --name-override TEXT")
    await _send_edit(api, {"target": target, "toolset": toolset, "set": said}, as_json=as_json)


@overrides.command("clear")
@click.argument("target")
@click.argument("fields", nargs=-1)
@_toolset_option
@gateway_command(every_server)
async def clear(api: ApiClient, target: str, fields: tuple[str, ...], toolset: str | None, *, as_json: bool) -> None:
    """Unset FIELDS of the override of TARGET, or all of it. arguments.NAME is one argument."""
    cleared: object = list(fields) or "all"
    await _send_edit(api, {"target": target, "toolset": toolset, "clear": cleared}, as_json=as_json)


@overrides.command("renderers")
@gateway_command()
async def renderers(api: ApiClient, *, as_json: bool) -> None:
    """How calls can be shown, and what each renderer takes."""
    body = await call_api(api, "GET", "/renderers")
    if as_json:
        print_json(body)
        return
    rows = [
        (each["name"], ", ".join(each["configSchema"]["properties"]), each["description"]) for each in body["renderers"]
    ]
    print_text(table(("RENDERER", "TAKES", "SHOWS"), rows))


async def _send_edit(api: ApiClient, edit: dict[str, object], *, as_json: bool) -> None:
    body = await call_api(api, "POST", "/overrides", body=edit)
    if as_json:
        print_json(body)
        return
    left = ", ".join(dict.fromkeys(field["field"] for field in body["fields"]))
    print_text(f"{body['target']} in {body['toolset']}: {f'sets {left}' if left else 'sets nothing any more'}.")
    _print_misfits(body["mismatches"], body["target"])
    _print_idle(body["withoutEffect"])


def effect_text(field: dict[str, Any]) -> str:
    if not field["effect"]:
        return ""
    return f": {'' if field['effective'] else 'without effect, because '}{field['effect']}"


def _print_idle(idle: list[dict[str, Any]]) -> None:
    for each in idle[:_MAX_LISTED]:
        print_text(f"! {each['tool']}: {each['field']} has no effect now: {each['reason']}")
    if len(idle) > _MAX_LISTED:
        print_text(f"! and {len(idle) - _MAX_LISTED} more have none. See them with --json")


def _print_misfits(misfits: list[dict[str, Any]], about: str) -> None:
    for misfit in misfits:
        print_text(f"! {misfit['tool'] or about} does not fit: {misfit['message']}")


def value_text(value: object) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return truncate(text, _MAX_VALUE_CHARS, total=True)


def author_text(origin: dict[str, Any] | None, about: dict[str, Any] | None = None) -> str:
    """`about` is the override, or one field of it."""
    if about is not None and about.get("manifest"):
        return f"toolset.yaml of {about['toolset']}"
    if origin is None:
        return ""
    if origin["kind"] == "declared":
        return f"{origin['file']}:{origin['line']}"
    return f"{origin['by']}, {origin['at'][:19]}"
