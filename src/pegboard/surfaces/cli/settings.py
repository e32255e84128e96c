"""`pegboard settings`: every setting with its value and where that comes from."""

import json
from typing import Any, Final

import click

from .link import ApiClient
from .options import call_api, gateway_command, no_server
from .output import Exit, fail, print_json, print_text
from .text import one_line, table

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
        print_text(f"\n{one['description']}\nDefault: {_value_text(one['default'])}\n{one['why']}")
    else:
        places = body["places"]
        print_text(f"\nconfig    {places['config']['path'] or 'none'} ({places['config']['origin']})")
        print_text(f"data dir  {places['dataDir']['path']} ({places['dataDir']['origin']})")
        print_text(f"store     {body['storage']['url']}: {body['storage']['sentence']}")


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
    return text if len(text) <= _MAX_VALUE_CHARS else text[: _MAX_VALUE_CHARS - 1] + "…"
