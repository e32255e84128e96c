"""The filters of the wall on a command line: by words, by state, by provider, and by what a tool claims."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from .link import ApiClient
from .options import call_api
from .pairs import parse_names

STATES: Final = ("open", "locked", "wants", "broken", "gone")
HINTS: Final = ("readOnly", "destructive", "idempotent", "openWorld")


def _list_of(known: Sequence[str]) -> Callable[..., list[str] | None]:
    def parse_list(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
        for each in (found := parse_names(context, option, text)) or ():
            if each not in known:
                raise click.BadParameter(f"{each!r} is none of {', '.join(known)}", context, option)
        return found

    return parse_list


_OPTIONS: Final = (
    click.option("--q", "words", default="", help="Only those with each of these words in their names, ids or titles."),
    click.option("--state", callback=_list_of(STATES), help=f"Only in these states, by commas: {', '.join(STATES)}."),
    click.option(
        "--provider", callback=parse_names, help="Only of these kinds of provider, by commas: mcp, builtin, …"
    ),
    click.option("--server", callback=parse_names, help="Only of these servers, by commas."),
    click.option("--hint", callback=_list_of(HINTS), help=f"Only those that claim all of these: {', '.join(HINTS)}."),
)


def with_board_filter(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the filters to a command, which gets them as its keywords `words`, `state`, `provider`, `server`, `hint`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def has_board_filter(given: Mapping[str, Any]) -> bool:
    return any(value not in ("", None) for value in given.values())


async def fetch_cards(
    api: ApiClient, params: list[tuple[str, str]], given: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The pegs of the wall that pass, by their ids. Those that are no longer offered hang there too."""
    pegs: list[dict[str, Any]] = []
    after: list[tuple[str, str]] = []
    while True:
        body = await call_api(api, "GET", "/board", params=[*params, *after])
        pegs += body["pegs"]
        if body["next"] is None:
            break
        after = [("after", body["next"])]
    titles = {toolset["id"]: toolset["title"] for toolset in body["toolsets"]}
    return {peg["id"]: peg for peg in pegs if _matches(peg, titles.get(peg["toolsetId"], ""), given)}


def _matches(peg: Mapping[str, Any], toolset: str, given: Mapping[str, Any]) -> bool:
    text = " ".join((peg["name"], peg["title"] or "", peg["wireName"] or "", peg["id"], toolset)).lower()
    server, source = peg["serverId"], f"{peg['toolsetId']}~{peg['serverId']}"
    return (
        all(word in text for word in given["words"].lower().split())
        and (given["state"] is None or peg["state"] in given["state"])
        and (given["provider"] is None or peg["provider"] in given["provider"])
        and (given["server"] is None or server in given["server"] or source in given["server"])
        and all(peg["hints"][hint] for hint in given["hint"] or ())
    )
