"""`pegboard settings`: every setting with its value and where that comes from."""

import json
from typing import Any, Final

import click

from .link import Api
from .options import asked, asks, no_server
from .output import Exit, document, fail, say
from .text import one_line, table

_LONGEST: Final = 48


@click.command("settings")
@click.argument("words", nargs=-1, metavar="[WORD]…")
@click.option(
    "--from",
    "origins",
    multiple=True,
    type=click.Choice(["file", "environment", "default"]),
    help="Only those from here.",
)
@asks(no_server)
async def settings(api: Api, words: tuple[str, ...], origins: tuple[str, ...], *, as_json: bool) -> None:
    """Every setting whose key or description has all WORDs: what holds, and where it comes from. They are changed where
    they are written."""
    body = await asked(api, "GET", "/settings")
    found = [each for each in body["settings"] if _fits(each, words, origins)]
    if as_json:
        document({**body, "settings": found})
        return
    if not found:
        fail(Exit.NOT_FOUND, f"No setting fits. There are {len(body['settings'])}: pegboard settings")
    rows = [(each["key"], _shown(each["value"]), _from(each)) for each in found]
    say(table(("SETTING", "VALUE", "FROM"), rows))
    if len(found) == 1:
        (one,) = found
        say(f"\n{one['description']}\nDefault: {_shown(one['default'])}\n{one['why']}")
    else:
        places = body["places"]
        say(f"\nconfig    {places['config']['path'] or 'none'} ({places['config']['origin']})")
        say(f"data dir  {places['dataDir']['path']} ({places['dataDir']['origin']})")
        say(f"store     {body['storage']['url']}: {body['storage']['sentence']}")


def _fits(each: dict[str, Any], words: tuple[str, ...], origins: tuple[str, ...]) -> bool:
    text = f"{each['key']} {each['description']}".lower()
    return (not origins or each["origin"] in origins) and all(word.lower() in text for word in words)


def _from(each: dict[str, Any]) -> str:
    match each["origin"]:
        case "environment":
            return f"environment {', '.join(variable['name'] for variable in each['variables'])}".rstrip()
        case "file":
            return f"{each['file']}:{each['line']}"
        case _:
            return "default"


def _shown(value: object) -> str:
    text = one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
