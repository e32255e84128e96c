"""`pegboard toolsets …`: switch all servers and tools of a toolset at once."""

from typing import Any

import click

from pegboard.core.ids import ID_RULE, is_id

from .link import Api
from .options import asked, asks
from .output import Exit, document, fail, say


@click.group()
def toolsets() -> None:
    """Toolsets: servers and tools that are switched together."""


@toolsets.command("enable")
@click.argument("toolset")
@asks()
async def enable(api: Api, toolset: str, *, as_json: bool) -> None:
    """Switch a toolset on. Each of its servers and tools keeps its own switch."""
    body = await _switched(api, toolset, True, "")
    document(body) if as_json else say(f"Toolset {body['toolsetId']} is switched on.")


@toolsets.command("disable")
@click.argument("toolset")
@click.option("--note", default="", help="Why, for whoever asks later.")
@asks()
async def disable(api: Api, toolset: str, note: str, *, as_json: bool) -> None:
    """Switch a toolset off, with all its servers. Their tools stay on the board, locked."""
    body = await _switched(api, toolset, False, note)
    document(body) if as_json else say(f"Toolset {body['toolsetId']} is switched off.")


async def _switched(api: Api, toolset: str, on: bool, note: str) -> dict[str, Any]:
    if not is_id(toolset):
        fail(Exit.NOT_FOUND, f"There is no toolset {toolset!r}: an id has {ID_RULE}. See: pegboard servers list")
    return await asked(api, "POST", f"/toolsets/{toolset}/switch", body={"on": on, "note": note})
