"""`pegboard servers sign-in` and `sign-out`: a person's own rights at a server, lent to the gateway."""

from datetime import datetime
from typing import Any, Final

import anyio
import click

from .link import Api
from .options import asked, asks, path_of, the_server
from .output import Exit, document, fail, say, tell
from .starting import settled, tell_of

WAITS: Final = 1_200.0
"""Seconds: as long as a link and a page together last."""
TAKES_UP: Final = 10.0
_ASK_AGAIN: Final = 0.5


@click.command("sign-in")
@click.argument("server")
@click.option("--open", "opens", is_flag=True, help="Open the link in your browser.")
@asks(the_server, listens=True)
async def sign_in(api: Api, server: str, opens: bool, *, as_json: bool) -> None:
    """Sign in to a server that asks for it: prints a link to open in a browser, and waits until you have.

    Ends with 1 when nobody signs in or the server does not come up then.

    Without a running gateway the link leads to this command itself; a gateway that runs later is signed in.
    """
    path = path_of(server)
    begun = await asked(api, "POST", f"/servers/{path}/sign-in", body={})
    (tell if as_json else say)(f"Open this link in your browser to sign in to {begun['id']}:\n\n  {begun['url']}\n")
    if opens and click.launch(begun["url"]):
        tell("! No browser could be opened. Open the link yourself.")
    tell("  … waiting for you; Ctrl-C gives up")
    state = await _signed_in(api, path, begun)
    done = f"Signed in to {state['id']}."
    if not api.running:
        # Nothing runs here that could be up: a gateway that runs later is signed in.
        document(state) if as_json else say(done)
        return
    shown = await _came_up(api, path, datetime.fromisoformat(state["last"]))
    tell_of(api, shown, done, {**state, "health": shown["health"]}, as_json=as_json)


@click.command("sign-out")
@click.argument("server")
@asks(the_server)
async def sign_out(api: Api, server: str, *, as_json: bool) -> None:
    """Forget the sign-in to a server, and have the server forget it too where it can be told."""
    path = path_of(server)
    before = await asked(api, "GET", f"/servers/{path}/sign-in")
    body = await asked(api, "DELETE", f"/servers/{path}/sign-in")
    document(body) if as_json else say(f"{_signed_out(body, before['last'] is not None)}")


def _signed_out(body: dict[str, Any], known: bool) -> str:
    if body["revoked"]:
        return f"Signed out of {body['id']}. Its authorization server has forgotten the sign-in too."
    if not known:
        return f"Nobody was signed in to {body['id']}."
    there = "Its authorization server could not be told: to end the access there too, revoke it in your account there."
    return f"Signed out of {body['id']}. {there}"


async def _came_up(api: Api, path: str, signed_in: datetime) -> dict[str, Any]:
    """The sign-in is known before the server has taken it up. One that asks for another since did not take it."""
    shown = await settled(api, await asked(api, "GET", f"/servers/{path}"))
    with anyio.move_on_after(TAKES_UP):
        while _waits_since_before(signed_in, shown["health"]):
            await anyio.sleep(_ASK_AGAIN)
            shown = await settled(api, shown)
    return shown


def _waits_since_before(signed_in: datetime, health: dict[str, Any]) -> bool:
    return health["state"] == "needs_sign_in" and datetime.fromisoformat(health["since"]) <= signed_in


async def _signed_in(api: Api, path: str, begun: dict[str, Any]) -> dict[str, Any]:
    with anyio.move_on_after(WAITS):
        while True:
            state = await asked(api, "GET", f"/servers/{path}/sign-in")
            if state["last"] not in (None, begun["last"]):
                return state
            if state["trouble"] not in (None, begun["trouble"]):
                fail(Exit.FAILED, str(state["trouble"]))
            await anyio.sleep(_ASK_AGAIN)
    fail(Exit.FAILED, f"nobody signed in to {begun['id']} in time. Try again: pegboard servers sign-in {begun['id']}")
